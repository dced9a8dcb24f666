#pragma GCC system_header
#include_next <sys/time.h>
#include "support/windows/posix.h"

#pragma GCC system_header
#include_next <sys/stat.h>
#include "support/windows/posix.h"

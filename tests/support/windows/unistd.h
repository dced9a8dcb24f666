#pragma GCC system_header
#include_next <unistd.h>
#include "support/windows/posix.h"

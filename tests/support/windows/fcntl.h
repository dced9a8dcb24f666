#pragma GCC system_header
#include_next <fcntl.h>
#include "support/windows/posix.h"

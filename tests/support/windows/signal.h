#pragma GCC system_header
#include_next <signal.h>
#include "support/windows/posix.h"

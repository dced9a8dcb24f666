#pragma GCC system_header
#include_next <stdlib.h>
#include "support/windows/posix.h"

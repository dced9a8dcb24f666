#include "support/windows/posix.h"

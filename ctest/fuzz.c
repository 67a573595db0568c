/* The libFuzzer target; `make fuzz` builds and runs it. */
#include "fuzz.h"

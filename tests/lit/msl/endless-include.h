#include "endless-include.h"

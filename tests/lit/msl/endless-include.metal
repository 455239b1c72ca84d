#include <metal_stdlib>
using namespace metal;
#include "endless-include.h"

// SPDX-License-Identifier: Apache-2.0
#include <metal_stdlib>
#include "amount.h"
using namespace metal;

kernel void offset(device float *value [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  value[i] += AMOUNT;
}

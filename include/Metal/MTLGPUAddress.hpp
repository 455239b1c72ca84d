// SPDX-License-Identifier: Apache-2.0
//
// GPUAddress: an address as kernels see it.
#pragma once
#include <cstdint>

namespace MTL {
using GPUAddress = uint64_t;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Metal/MTLFunctionLog.hpp>

namespace pewter::metal {

/// The log of a command buffer whose kernels logged nothing; autoreleased.
MTL::LogContainer *makeEmptyLog();

} // namespace pewter::metal

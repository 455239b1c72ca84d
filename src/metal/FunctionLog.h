// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/LogSink.h"
#include <Metal/MTLFunctionLog.hpp>
#include <Metal/MTLLogState.hpp>
#include <memory>

namespace pewter::metal {

/// The log of a command buffer whose kernels logged nothing; autoreleased.
MTL::LogContainer *makeEmptyLog();

/// What a command stream calls with each message of its kernels.
std::shared_ptr<const device::LogSink> sinkOf(const MTL::LogState *state);

} // namespace pewter::metal

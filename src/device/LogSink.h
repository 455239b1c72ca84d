// SPDX-License-Identifier: Apache-2.0
//
// LogSink: where the messages go that kernels write with os_log. A command stream carries one; devices
// call it from any of their threads, one at a time or at once.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace pewter::device {

struct LogMessage {
  uint32_t level = 0; ///< As in MTL::LogLevel.
  std::string subsystem, category, text;
  std::string kernel;
};

using LogSink = std::function<void(const LogMessage &)>;

} // namespace pewter::device

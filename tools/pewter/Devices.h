// SPDX-License-Identifier: Apache-2.0
//
// Choosing a device by the name a person types: "cpu", "cuda", "cuda:1", "null".
#pragma once
#include "base/Error.h"
#include <Metal/Metal.hpp>
#include <string>

namespace pewter::tools {

/// The text of an NS::Error, or `otherwise` when it is null.
std::string textOf(const NS::Error *error, const char *otherwise);

/// "" is the system default device. The error lists the devices there are.
Result<NS::SharedPtr<MTL::Device>> deviceNamed(const std::string &name);

} // namespace pewter::tools

// SPDX-License-Identifier: Apache-2.0
//
// DynamicLibrary: a library whose functions other libraries declare `extern` and call.
#pragma once
#include "metal/Library.h"
#include <Metal/MTLDynamicLibrary.hpp>

namespace pewter::metal {

class DynamicLibrary final : public MTL::DynamicLibrary {
public:
  const char *className() const override { return "MTLDynamicLibrary"; }
  foundation::Ref<Library> library;
  std::string label;
};

inline DynamicLibrary *implOf(const MTL::DynamicLibrary *library) {
  return static_cast<DynamicLibrary *>(const_cast<MTL::DynamicLibrary *>(library));
}

/// The symbols that libraries export, with those of what they link to, sorted.
std::vector<std::string> symbolsOf(const NS::Array *libraries);

} // namespace pewter::metal

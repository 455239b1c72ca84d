// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "metal/Resource.h"
#include <Metal/MTLBuffer.hpp>

namespace pewter::metal {

class Buffer final : public MTL::Buffer, public ResourceBase {
public:
  using ResourceBase::contents;
  using ResourceBase::device;
  using ResourceBase::heap;
  using ResourceBase::label;
  using ResourceBase::length;
  using ResourceBase::storageMode;

  const char *className() const override { return "MTLBuffer"; }
  void *facet() override { return static_cast<ResourceBase *>(this); }
};

inline Buffer *implOf(const MTL::Buffer *buffer) {
  return static_cast<Buffer *>(const_cast<MTL::Buffer *>(buffer));
}

} // namespace pewter::metal

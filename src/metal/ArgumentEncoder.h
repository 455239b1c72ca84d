// SPDX-License-Identifier: Apache-2.0
//
// ArgumentEncoder: writes argument buffers. A member is found by its [[id(n)]]; a pointer, texture
// or sampler member takes eight bytes: a device address, or the address of a device::TextureView or
// SamplerView.
#pragma once
#include "air/Reflection.h"
#include "foundation/Object.h"
#include "metal/Buffer.h"
#include <Metal/MTLArgumentEncoder.hpp>
#include <map>
#include <memory>
#include <string>

namespace pewter::metal {

class Device;

class ArgumentEncoder final : public MTL::ArgumentEncoder {
public:
  const char *className() const override { return "MTLArgumentEncoder"; }

  struct Slot {
    uint32_t offset = 0;
    uint32_t size = 8;
    bool isConstant = false; ///< Data, reached by constantData().
    /// Of a pointer to an argument buffer: what that holds.
    std::shared_ptr<const air::StructMember> pointer;
  };
  Device *device = nullptr;
  std::string label;
  std::map<NS::UInteger, Slot> slots; ///< By id.
  uint32_t length = 0;                ///< Of one struct, a multiple of `alignment`.
  uint32_t alignment = 8;
  foundation::Ref<Buffer> target;
  uint64_t targetOffset = 0;

  /// Where member `index` is in the target; null, and a message, when there is none.
  std::byte *place(const char *call, NS::UInteger index, bool constant);
  void put(const char *call, NS::UInteger index, uint64_t value);
};

inline ArgumentEncoder *implOf(const MTL::ArgumentEncoder *encoder) {
  return static_cast<ArgumentEncoder *>(const_cast<MTL::ArgumentEncoder *>(encoder));
}

/// An encoder for the struct that a buffer argument points to; null, and a message, when none is
/// known.
MTL::ArgumentEncoder *newEncoderFor(Device *device, const air::Argument &argument);

} // namespace pewter::metal

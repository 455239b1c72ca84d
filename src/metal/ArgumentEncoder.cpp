// SPDX-License-Identifier: Apache-2.0
//
// Tested by tests/api/KernelTextures_test.cpp.
#include "metal/ArgumentEncoder.h"
#include "foundation/Collections.h"
#include "metal/Argument.h"
#include "metal/Device.h"
#include "metal/Property.h"
#include "metal/Sampler.h"
#include "metal/Texture.h"
#include "metal/Validation.h"
#include <Metal/MTLVisibleFunctionTable.hpp>
#include <algorithm>
#include <cstring>

namespace pewter::metal {

class ArgumentDescriptor final : public MTL::ArgumentDescriptor {
public:
  const char *className() const override { return "MTLArgumentDescriptor"; }
  Root *makeCopy() const override {
    auto *copy = new ArgumentDescriptor();
    copy->dataType = dataType;
    copy->index = index;
    copy->arrayLength = arrayLength;
    copy->access = access;
    copy->textureType = textureType;
    copy->constantBlockAlignment = constantBlockAlignment;
    return copy;
  }
  MTL::DataType dataType = MTL::DataTypeNone;
  NS::UInteger index = 0, arrayLength = 0, constantBlockAlignment = 0;
  MTL::BindingAccess access = MTL::BindingAccessReadOnly;
  MTL::TextureType textureType = MTL::TextureType2D;
};

namespace {

ArgumentDescriptor *implOf(const MTL::ArgumentDescriptor *descriptor) {
  return static_cast<ArgumentDescriptor *>(const_cast<MTL::ArgumentDescriptor *>(descriptor));
}

bool isConstant(const std::string &typeName) {
  return typeName.find('*') == std::string::npos && typeName.find('&') == std::string::npos &&
         !typeName.starts_with("texture") && !typeName.starts_with("depth") &&
         !typeName.starts_with("visible_function_table") &&
         typeName != "sampler";
}

uint32_t roundedUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace

std::byte *ArgumentEncoder::place(const char *call, NS::UInteger index, bool constant) {
  auto found = slots.find(index);
  if (found == slots.end() || found->second.isConstant != constant) {
    misuse("ArgumentEncoder::{}: the argument buffer has no {} member with id ({}).", call,
           constant ? "constant" : "resource", index);
    return nullptr;
  }
  if (!target) {
    misuse("ArgumentEncoder::{}: setArgumentBuffer was not called.", call);
    return nullptr;
  }
  if (!target->contents()) {
    misuse("ArgumentEncoder::{}: {} has private storage.", call, target->describe());
    return nullptr;
  }
  return target->contents() + targetOffset + found->second.offset;
}

void ArgumentEncoder::put(const char *call, NS::UInteger index, uint64_t value) {
  if (std::byte *at = place(call, index, /*constant=*/false))
    std::memcpy(at, &value, sizeof(value));
}

/// Gives each id its place; returns where the last member ends.
static uint32_t addSlots(ArgumentEncoder &encoder, const std::vector<air::StructMember> &members,
                         uint32_t offset, uint32_t firstId) {
  uint32_t end = offset;
  for (auto &member : members) {
    const uint32_t count = std::max<uint32_t>(member.arrayLength, 1);
    const uint32_t at = offset + member.offset, id = firstId + member.argumentIndex;
    if (member.pointeeSize == 0 && !member.members.empty()) {
      const uint32_t ids = air::idsOf(member.members);
      for (uint32_t i = 0; i < count; ++i)
        addSlots(encoder, member.members, at + i * member.size, id + i * ids);
      end = std::max(end, at + count * member.size);
      continue;
    }
    const bool constant = isConstant(member.typeName);
    const uint32_t size = constant ? member.size : 8;
    auto pointer =
        member.members.empty() ? nullptr : std::make_shared<const air::StructMember>(member);
    for (uint32_t i = 0; i < count; ++i) {
      encoder.slots[id + i] = {at + i * size, size, constant, pointer};
      if (constant)
        break; // An array of constants is one member.
    }
    end = std::max(end, at + count * size);
  }
  return end;
}

MTL::ArgumentEncoder *newEncoderFor(Device *device, const air::Argument &argument) {
  if (argument.members.empty()) {
    misuse("newArgumentEncoder: argument \"{}\" (type \"{}\") is not a struct whose members are "
           "known.",
           argument.name, argument.typeName);
    return nullptr;
  }
  auto *encoder = new ArgumentEncoder();
  encoder->device = device;
  encoder->alignment = std::max<uint32_t>(argument.dataAlignment, 8);
  const uint32_t end = addSlots(*encoder, argument.members, 0, 0);
  encoder->length = roundedUp(std::max(end, argument.dataSize), encoder->alignment);
  return encoder;
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::share;

PEWTER_LABEL(ArgumentEncoder)
PEWTER_ALLOC(ArgumentDescriptor)
PEWTER_VALUE(ArgumentDescriptor, DataType, dataType, setDataType)
PEWTER_PLAIN(ArgumentDescriptor, NS::UInteger, index, setIndex)
PEWTER_PLAIN(ArgumentDescriptor, NS::UInteger, arrayLength, setArrayLength)
PEWTER_PLAIN(ArgumentDescriptor, NS::UInteger, constantBlockAlignment, setConstantBlockAlignment)
PEWTER_VALUE(ArgumentDescriptor, BindingAccess, access, setAccess)
PEWTER_VALUE(ArgumentDescriptor, TextureType, textureType, setTextureType)

namespace MTL {

ArgumentDescriptor *ArgumentDescriptor::argumentDescriptor() {
  return pewter::foundation::autoreleased(alloc());
}

ArgumentEncoder *Device::newArgumentEncoder(const NS::Array *arguments) {
  auto *encoder = new pewter::metal::ArgumentEncoder();
  encoder->device = implOf(this);
  uint32_t at = 0;
  std::vector<pewter::metal::ArgumentDescriptor *> sorted;
  for (auto &object : pewter::foundation::objectsOf(arguments))
    sorted.push_back(implOf(reinterpret_cast<ArgumentDescriptor *>(object.get())));
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->index < b->index; });
  for (auto *argument : sorted) {
    auto type = static_cast<pewter::air::DataType>(argument->dataType);
    bool constant = pewter::air::sizeOf(type) != 0 && argument->dataType != DataTypePointer;
    uint32_t size = constant ? pewter::air::sizeOf(type) : 8;
    uint32_t alignment = constant ? std::max<uint32_t>(pewter::air::alignmentOf(type), 1) : 8;
    alignment = std::max<uint32_t>(alignment, argument->constantBlockAlignment);
    at = roundedUp(at, alignment);
    encoder->alignment = std::max(encoder->alignment, alignment);
    auto count = std::max<NS::UInteger>(argument->arrayLength, 1);
    for (NS::UInteger i = 0; i < count; ++i)
      encoder->slots[argument->index + i] = {at + static_cast<uint32_t>(i) * size, size, constant,
                                             nullptr};
    at += static_cast<uint32_t>(count) * size;
  }
  encoder->length = roundedUp(std::max(at, 8u), encoder->alignment);
  return encoder;
}
ArgumentEncoder *Device::newArgumentEncoder(const BufferBinding *bufferBinding) {
  return newEncoderFor(implOf(this), argumentOf(bufferBinding));
}

NS::UInteger ArgumentEncoder::alignment() const { return implOf(this)->alignment; }
NS::UInteger ArgumentEncoder::encodedLength() const { return implOf(this)->length; }
Device *ArgumentEncoder::device() const { return implOf(this)->device; }
void *ArgumentEncoder::constantData(NS::UInteger index) {
  return implOf(this)->place("constantData", index, /*constant=*/true);
}
ArgumentEncoder *ArgumentEncoder::newArgumentEncoder(NS::UInteger index) {
  auto *encoder = implOf(this);
  const auto slot = encoder->slots.find(index);
  if (slot == encoder->slots.end() || !slot->second.pointer) {
    misuse("ArgumentEncoder::newArgumentEncoder: the member with id ({}) is not a pointer to an "
           "argument buffer.",
           index);
    return nullptr;
  }
  pewter::air::Argument nested;
  nested.name = slot->second.pointer->name;
  nested.typeName = slot->second.pointer->typeName;
  nested.members = slot->second.pointer->members;
  nested.dataSize = slot->second.pointer->pointeeSize;
  return newEncoderFor(encoder->device, nested);
}
void ArgumentEncoder::setArgumentBuffer(const Buffer *argumentBuffer, NS::UInteger offset) {
  auto *encoder = implOf(this);
  auto *buffer = implOf(argumentBuffer);
  if (buffer && (offset > buffer->length || encoder->length > buffer->length - offset ||
                 offset % encoder->alignment != 0))
    return misuse("ArgumentEncoder::setArgumentBuffer: offset ({}) is not a multiple of {}, or {} "
                  "bytes there end past the {} bytes of {}.",
                  offset, encoder->alignment, encoder->length, buffer->length, buffer->describe());
  encoder->target = share(buffer);
  encoder->targetOffset = offset;
}
void ArgumentEncoder::setArgumentBuffer(const Buffer *argumentBuffer, NS::UInteger startOffset,
                                        NS::UInteger arrayElement) {
  setArgumentBuffer(argumentBuffer, startOffset + arrayElement * encodedLength());
}
void ArgumentEncoder::setBuffer(const Buffer *buffer, NS::UInteger offset, NS::UInteger index) {
  auto *bound = implOf(buffer);
  if (bound && offset > bound->length)
    return misuse("ArgumentEncoder::setBuffer: offset ({}) is past the {} bytes of {}.", offset,
                  bound->length, bound->describe());
  implOf(this)->put("setBuffer", index, bound ? bound->address() + offset : 0);
}
void ArgumentEncoder::setBuffers(const Buffer *const buffers[], const NS::UInteger offsets[],
                                 NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    setBuffer(buffers[i], offsets[i], range.location + i);
}
void ArgumentEncoder::setTexture(const Texture *texture, NS::UInteger index) {
  implOf(this)->put("setTexture", index, texture ? texture->gpuResourceID()._impl : 0);
}
void ArgumentEncoder::setTextures(const Texture *const textures[], NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    setTexture(textures[i], range.location + i);
}
void ArgumentEncoder::setSamplerState(const SamplerState *sampler, NS::UInteger index) {
  implOf(this)->put("setSamplerState", index, sampler ? sampler->gpuResourceID()._impl : 0);
}
void ArgumentEncoder::setSamplerStates(const SamplerState *const samplers[], NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    setSamplerState(samplers[i], range.location + i);
}
void ArgumentEncoder::setComputePipelineState(const ComputePipelineState *, NS::UInteger) {
  unsupported("ArgumentEncoder::setComputePipelineState is not supported.");
}
void ArgumentEncoder::setComputePipelineStates(const ComputePipelineState *const[], NS::Range) {
  unsupported("ArgumentEncoder::setComputePipelineStates is not supported.");
}
void ArgumentEncoder::setIndirectCommandBuffer(const IndirectCommandBuffer *, NS::UInteger) {
  unsupported("ArgumentEncoder::setIndirectCommandBuffer is not supported: kernels cannot record "
              "commands.");
}
void ArgumentEncoder::setIndirectCommandBuffers(const IndirectCommandBuffer *const[], NS::Range) {
  unsupported("ArgumentEncoder::setIndirectCommandBuffers is not supported: kernels cannot record "
              "commands.");
}
void ArgumentEncoder::setVisibleFunctionTable(const VisibleFunctionTable *table,
                                              NS::UInteger index) {
  implOf(this)->put("setVisibleFunctionTable", index, table ? table->gpuResourceID()._impl : 0);
}
void ArgumentEncoder::setVisibleFunctionTables(const VisibleFunctionTable *const tables[],
                                               NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    setVisibleFunctionTable(tables[i], range.location + i);
}

} // namespace MTL

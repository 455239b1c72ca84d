// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of compute and blit passes. They are alike, so one template makes both.
#include "foundation/Object.h"
#include "metal/Counters.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Metal/MTLBlitPass.hpp>
#include <Metal/MTLComputePass.hpp>
#include <array>

namespace pewter::metal {
namespace {

template <class Public> class Attachment final : public Public {
public:
  const char *className() const override { return "MTLPassSampleBufferAttachmentDescriptor"; }
  NS::detail::Root *makeCopy() const override {
    auto *copy = new Attachment();
    copy->sampleBuffer = sampleBuffer;
    copy->startOfEncoderSampleIndex = startOfEncoderSampleIndex;
    copy->endOfEncoderSampleIndex = endOfEncoderSampleIndex;
    return copy;
  }
  foundation::Ref<MTL::CounterSampleBuffer> sampleBuffer;
  NS::UInteger startOfEncoderSampleIndex = 0, endOfEncoderSampleIndex = 1;
};

template <class Public, class PublicAttachment> class AttachmentArray final : public Public {
public:
  const char *className() const override { return "MTLPassSampleBufferAttachmentDescriptorArray"; }
  std::array<foundation::Ref<PublicAttachment>, kPassSampleAttachments> slots;

  PublicAttachment *at(NS::UInteger index) {
    if (index >= slots.size()) {
      misuse("sampleBufferAttachments: index ({}) is not below the limit ({}).", index,
             slots.size());
      return nullptr;
    }
    if (!slots[index])
      slots[index] = NS::TransferPtr<PublicAttachment>(new Attachment<PublicAttachment>());
    return slots[index].get();
  }
  void put(NS::UInteger index, const PublicAttachment *attachment) {
    if (at(index))
      slots[index] = foundation::share(attachment);
  }
};

using ComputeAttachment = Attachment<MTL::ComputePassSampleBufferAttachmentDescriptor>;
using BlitAttachment = Attachment<MTL::BlitPassSampleBufferAttachmentDescriptor>;
using ComputeArray = AttachmentArray<MTL::ComputePassSampleBufferAttachmentDescriptorArray,
                                     MTL::ComputePassSampleBufferAttachmentDescriptor>;
using BlitArray = AttachmentArray<MTL::BlitPassSampleBufferAttachmentDescriptorArray,
                                  MTL::BlitPassSampleBufferAttachmentDescriptor>;

class ComputePass final : public MTL::ComputePassDescriptor {
public:
  const char *className() const override { return "MTLComputePassDescriptor"; }
  NS::detail::Root *makeCopy() const override {
    auto *copy = new ComputePass();
    copy->dispatchType = dispatchType;
    copy->attachments->slots = attachments->slots;
    return copy;
  }
  MTL::DispatchType dispatchType = MTL::DispatchTypeSerial;
  foundation::Ref<ComputeArray> attachments = NS::TransferPtr(new ComputeArray());
};

class BlitPass final : public MTL::BlitPassDescriptor {
public:
  const char *className() const override { return "MTLBlitPassDescriptor"; }
  NS::detail::Root *makeCopy() const override {
    auto *copy = new BlitPass();
    copy->attachments->slots = attachments->slots;
    return copy;
  }
  foundation::Ref<BlitArray> attachments = NS::TransferPtr(new BlitArray());
};

#define PEWTER_IMPL(Public, Impl)                                                                  \
  Impl *implOf(const Public *object) { return static_cast<Impl *>(const_cast<Public *>(object)); }
PEWTER_IMPL(MTL::ComputePassSampleBufferAttachmentDescriptor, ComputeAttachment)
PEWTER_IMPL(MTL::BlitPassSampleBufferAttachmentDescriptor, BlitAttachment)
PEWTER_IMPL(MTL::ComputePassSampleBufferAttachmentDescriptorArray, ComputeArray)
PEWTER_IMPL(MTL::BlitPassSampleBufferAttachmentDescriptorArray, BlitArray)
PEWTER_IMPL(MTL::ComputePassDescriptor, ComputePass)
PEWTER_IMPL(MTL::BlitPassDescriptor, BlitPass)
#undef PEWTER_IMPL

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;

#define PEWTER_ATTACHMENT(Class, Impl)                                                             \
  MTL::Class *MTL::Class::alloc() { return new Impl(); }                                           \
  MTL::Class *MTL::Class::init() { return this; }                                                  \
  PEWTER_OBJECT(Class, MTL::CounterSampleBuffer, sampleBuffer, setSampleBuffer)                    \
  PEWTER_PLAIN(Class, NS::UInteger, startOfEncoderSampleIndex, setStartOfEncoderSampleIndex)       \
  PEWTER_PLAIN(Class, NS::UInteger, endOfEncoderSampleIndex, setEndOfEncoderSampleIndex)
PEWTER_ATTACHMENT(ComputePassSampleBufferAttachmentDescriptor, ComputeAttachment)
PEWTER_ATTACHMENT(BlitPassSampleBufferAttachmentDescriptor, BlitAttachment)
#undef PEWTER_ATTACHMENT

#define PEWTER_ARRAY(Class, Item, Impl)                                                            \
  MTL::Class *MTL::Class::alloc() { return new Impl(); }                                           \
  MTL::Class *MTL::Class::init() { return this; }                                                  \
  MTL::Item *MTL::Class::object(NS::UInteger index) { return implOf(this)->at(index); }            \
  void MTL::Class::setObject(const MTL::Item *attachment, NS::UInteger index) {                    \
    implOf(this)->put(index, attachment);                                                          \
  }
PEWTER_ARRAY(ComputePassSampleBufferAttachmentDescriptorArray,
             ComputePassSampleBufferAttachmentDescriptor, ComputeArray)
PEWTER_ARRAY(BlitPassSampleBufferAttachmentDescriptorArray,
             BlitPassSampleBufferAttachmentDescriptor, BlitArray)
#undef PEWTER_ARRAY

PEWTER_VALUE(ComputePassDescriptor, DispatchType, dispatchType, setDispatchType)

namespace MTL {

ComputePassDescriptor *ComputePassDescriptor::alloc() { return new ComputePass(); }
ComputePassDescriptor *ComputePassDescriptor::init() { return this; }
ComputePassDescriptor *ComputePassDescriptor::computePassDescriptor() {
  return pewter::foundation::autoreleased(alloc());
}
ComputePassSampleBufferAttachmentDescriptorArray *
ComputePassDescriptor::sampleBufferAttachments() const {
  return implOf(this)->attachments.get();
}
BlitPassDescriptor *BlitPassDescriptor::alloc() { return new BlitPass(); }
BlitPassDescriptor *BlitPassDescriptor::init() { return this; }
BlitPassDescriptor *BlitPassDescriptor::blitPassDescriptor() {
  return pewter::foundation::autoreleased(alloc());
}
BlitPassSampleBufferAttachmentDescriptorArray *BlitPassDescriptor::sampleBufferAttachments() const {
  return implOf(this)->attachments.get();
}

} // namespace MTL

// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of a blit pass.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class BlitPassDescriptor;
class BlitPassSampleBufferAttachmentDescriptor;
class BlitPassSampleBufferAttachmentDescriptorArray;
class CounterSampleBuffer;

/// Where a pass writes timestamps at its start and end.
class _MTL_EXPORT BlitPassSampleBufferAttachmentDescriptor
    : public NS::Copying<BlitPassSampleBufferAttachmentDescriptor> {
public:
  static BlitPassSampleBufferAttachmentDescriptor *alloc();
  BlitPassSampleBufferAttachmentDescriptor *init();
  NS::UInteger endOfEncoderSampleIndex() const;
  void setEndOfEncoderSampleIndex(NS::UInteger endOfEncoderSampleIndex);
  CounterSampleBuffer *sampleBuffer() const;
  void setSampleBuffer(const CounterSampleBuffer *sampleBuffer);
  NS::UInteger startOfEncoderSampleIndex() const;
  void setStartOfEncoderSampleIndex(NS::UInteger startOfEncoderSampleIndex);
};

/// Four attachments, made on first use.
class _MTL_EXPORT BlitPassSampleBufferAttachmentDescriptorArray
    : public NS::Referencing<BlitPassSampleBufferAttachmentDescriptorArray> {
public:
  static BlitPassSampleBufferAttachmentDescriptorArray *alloc();
  BlitPassSampleBufferAttachmentDescriptorArray *init();
  BlitPassSampleBufferAttachmentDescriptor *object(NS::UInteger attachmentIndex);
  void setObject(const BlitPassSampleBufferAttachmentDescriptor *attachment,
                 NS::UInteger attachmentIndex);
};

/// How a blit encoder is made.
class _MTL_EXPORT BlitPassDescriptor : public NS::Copying<BlitPassDescriptor> {
public:
  static BlitPassDescriptor *alloc();
  static BlitPassDescriptor *blitPassDescriptor();
  BlitPassDescriptor *init();
  BlitPassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments() const;
};

} // namespace MTL

// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Resources_test.cpp and KernelTextures_test.cpp.
#include "metal/Sampler.h"
#include "metal/Device.h"
#include "metal/Property.h"
#include "metal/Validation.h"

namespace pewter::metal {

NS::detail::Root *SamplerDescriptor::makeCopy() const {
  auto *copy = new SamplerDescriptor();
  copy->values = values;
  return copy;
}

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(SamplerDescriptor)
#define implOf(object) (&implOf(object)->values)
PEWTER_LABEL(SamplerDescriptor)
PEWTER_VALUE(SamplerDescriptor, SamplerMinMagFilter, minFilter, setMinFilter)
PEWTER_VALUE(SamplerDescriptor, SamplerMinMagFilter, magFilter, setMagFilter)
PEWTER_VALUE(SamplerDescriptor, SamplerMipFilter, mipFilter, setMipFilter)
PEWTER_PLAIN(SamplerDescriptor, NS::UInteger, maxAnisotropy, setMaxAnisotropy)
PEWTER_VALUE(SamplerDescriptor, SamplerAddressMode, sAddressMode, setSAddressMode)
PEWTER_VALUE(SamplerDescriptor, SamplerAddressMode, tAddressMode, setTAddressMode)
PEWTER_VALUE(SamplerDescriptor, SamplerAddressMode, rAddressMode, setRAddressMode)
PEWTER_VALUE(SamplerDescriptor, SamplerBorderColor, borderColor, setBorderColor)
PEWTER_VALUE(SamplerDescriptor, SamplerReductionMode, reductionMode, setReductionMode)
PEWTER_VALUE(SamplerDescriptor, CompareFunction, compareFunction, setCompareFunction)
PEWTER_PLAIN(SamplerDescriptor, bool, normalizedCoordinates, setNormalizedCoordinates)
PEWTER_PLAIN(SamplerDescriptor, bool, lodAverage, setLodAverage)
PEWTER_PLAIN(SamplerDescriptor, bool, supportArgumentBuffers, setSupportArgumentBuffers)
PEWTER_PLAIN(SamplerDescriptor, float, lodMinClamp, setLodMinClamp)
PEWTER_PLAIN(SamplerDescriptor, float, lodMaxClamp, setLodMaxClamp)
PEWTER_PLAIN(SamplerDescriptor, float, lodBias, setLodBias)
#undef implOf

namespace MTL {

SamplerState *Device::newSamplerState(const SamplerDescriptor *descriptor) {
  auto &v = implOf(descriptor)->values;
  if (v.reductionMode != SamplerReductionModeWeightedAverage || v.maxAnisotropy > 1) {
    unsupported("Device::newSamplerState: reduction modes and anisotropy ({}) are not supported.",
                v.maxAnisotropy);
    return nullptr;
  }
  auto place = implOf(this)->descriptors.take(sizeof(pewter::device::SamplerView));
  if (!place) {
    reportMisuse(place.error());
    return nullptr;
  }
  std::shared_ptr<pewter::device::SamplerView> view(
      place->owner(), new (place->contents()) pewter::device::SamplerView{});
  view->minFilter = static_cast<uint8_t>(v.minFilter);
  view->magFilter = static_cast<uint8_t>(v.magFilter);
  view->mipFilter = static_cast<uint8_t>(v.mipFilter);
  view->sAddress = static_cast<uint8_t>(v.sAddressMode);
  view->tAddress = static_cast<uint8_t>(v.tAddressMode);
  view->rAddress = static_cast<uint8_t>(v.rAddressMode);
  view->borderColor = static_cast<uint8_t>(v.borderColor);
  view->compareFunction = static_cast<uint8_t>(v.compareFunction);
  view->normalizedCoordinates = v.normalizedCoordinates;
  view->lodMinClamp = v.lodMinClamp;
  view->lodMaxClamp = v.lodMaxClamp;
  view->lodBias = v.lodBias;
  auto *sampler = new pewter::metal::SamplerState();
  sampler->device = implOf(this);
  sampler->label = v.label;
  sampler->values = std::move(view);
  sampler->address = place->deviceAddress();
  return sampler;
}

Device *SamplerState::device() const { return implOf(this)->device; }
NS::String *SamplerState::label() const {
  auto &text = implOf(this)->label;
  return text.empty() ? nullptr : pewter::foundation::makeString(text);
}
ResourceID SamplerState::gpuResourceID() const {
  return {implOf(this)->address};
}

} // namespace MTL

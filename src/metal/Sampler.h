// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/TextureView.h"
#include "foundation/Object.h"
#include <Metal/MTLSampler.hpp>
#include <memory>
#include <string>

namespace pewter::metal {

class Device;

class SamplerDescriptor final : public MTL::SamplerDescriptor {
public:
  const char *className() const override { return "MTLSamplerDescriptor"; }
  Root *makeCopy() const override;
  struct Values {
    MTL::SamplerMinMagFilter minFilter = MTL::SamplerMinMagFilterNearest;
    MTL::SamplerMinMagFilter magFilter = MTL::SamplerMinMagFilterNearest;
    MTL::SamplerMipFilter mipFilter = MTL::SamplerMipFilterNotMipmapped;
    NS::UInteger maxAnisotropy = 1;
    MTL::SamplerAddressMode sAddressMode = MTL::SamplerAddressModeClampToEdge;
    MTL::SamplerAddressMode tAddressMode = MTL::SamplerAddressModeClampToEdge;
    MTL::SamplerAddressMode rAddressMode = MTL::SamplerAddressModeClampToEdge;
    MTL::SamplerBorderColor borderColor = MTL::SamplerBorderColorTransparentBlack;
    MTL::SamplerReductionMode reductionMode = MTL::SamplerReductionModeWeightedAverage;
    MTL::CompareFunction compareFunction = MTL::CompareFunctionNever;
    bool normalizedCoordinates = true, lodAverage = false, supportArgumentBuffers = false;
    float lodMinClamp = 0, lodMaxClamp = 3.402823466e38f, lodBias = 0;
    std::string label;
  } values;
};

class SamplerState final : public MTL::SamplerState {
public:
  const char *className() const override { return "MTLSamplerState"; }
  Device *device = nullptr;
  std::string label;
  std::shared_ptr<const device::SamplerView> values; ///< In the device's descriptor pool.
  uint64_t address = 0;                              ///< Where kernels find them.
};

inline SamplerDescriptor *implOf(const MTL::SamplerDescriptor *descriptor) {
  return static_cast<SamplerDescriptor *>(const_cast<MTL::SamplerDescriptor *>(descriptor));
}
inline SamplerState *implOf(const MTL::SamplerState *sampler) {
  return static_cast<SamplerState *>(const_cast<MTL::SamplerState *>(sampler));
}

} // namespace pewter::metal

// SPDX-License-Identifier: Apache-2.0
//
// Samplers.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Device;
class SamplerDescriptor;
class SamplerState;

enum SamplerMinMagFilter : NS::UInteger {
  SamplerMinMagFilterNearest = 0,
  SamplerMinMagFilterLinear = 1,
};

enum SamplerMipFilter : NS::UInteger {
  SamplerMipFilterNotMipmapped = 0,
  SamplerMipFilterNearest = 1,
  SamplerMipFilterLinear = 2,
};

enum SamplerAddressMode : NS::UInteger {
  SamplerAddressModeClampToEdge = 0,
  SamplerAddressModeMirrorClampToEdge = 1,
  SamplerAddressModeRepeat = 2,
  SamplerAddressModeMirrorRepeat = 3,
  SamplerAddressModeClampToZero = 4,
  SamplerAddressModeClampToBorderColor = 5,
};

enum SamplerBorderColor : NS::UInteger {
  SamplerBorderColorTransparentBlack = 0,
  SamplerBorderColorOpaqueBlack = 1,
  SamplerBorderColorOpaqueWhite = 2,
};

enum SamplerReductionMode : NS::UInteger {
  SamplerReductionModeWeightedAverage = 0,
  SamplerReductionModeMinimum = 1,
  SamplerReductionModeMaximum = 2,
};

enum CompareFunction : NS::UInteger {
  CompareFunctionNever = 0,
  CompareFunctionLess = 1,
  CompareFunctionEqual = 2,
  CompareFunctionLessEqual = 3,
  CompareFunctionGreater = 4,
  CompareFunctionNotEqual = 5,
  CompareFunctionGreaterEqual = 6,
  CompareFunctionAlways = 7,
};

/// How a sampler is made.
class _MTL_EXPORT SamplerDescriptor : public NS::Copying<SamplerDescriptor> {
public:
  static SamplerDescriptor *alloc();
  SamplerDescriptor *init();
  SamplerBorderColor borderColor() const;
  void setBorderColor(SamplerBorderColor borderColor);
  CompareFunction compareFunction() const;
  void setCompareFunction(CompareFunction compareFunction);
  NS::String *label() const;
  void setLabel(const NS::String *label);
  bool lodAverage() const;
  void setLodAverage(bool lodAverage);
  float lodBias() const;
  void setLodBias(float lodBias);
  float lodMaxClamp() const;
  void setLodMaxClamp(float lodMaxClamp);
  float lodMinClamp() const;
  void setLodMinClamp(float lodMinClamp);
  SamplerMinMagFilter magFilter() const;
  void setMagFilter(SamplerMinMagFilter magFilter);
  NS::UInteger maxAnisotropy() const;
  void setMaxAnisotropy(NS::UInteger maxAnisotropy);
  SamplerMinMagFilter minFilter() const;
  void setMinFilter(SamplerMinMagFilter minFilter);
  SamplerMipFilter mipFilter() const;
  void setMipFilter(SamplerMipFilter mipFilter);
  bool normalizedCoordinates() const;
  void setNormalizedCoordinates(bool normalizedCoordinates);
  SamplerAddressMode rAddressMode() const;
  void setRAddressMode(SamplerAddressMode rAddressMode);
  SamplerReductionMode reductionMode() const;
  void setReductionMode(SamplerReductionMode reductionMode);
  SamplerAddressMode sAddressMode() const;
  void setSAddressMode(SamplerAddressMode sAddressMode);
  bool supportArgumentBuffers() const;
  void setSupportArgumentBuffers(bool supportArgumentBuffers);
  SamplerAddressMode tAddressMode() const;
  void setTAddressMode(SamplerAddressMode tAddressMode);
};

/// A sampler for one device.
class _MTL_EXPORT SamplerState : public NS::Referencing<SamplerState> {
public:
  Device *device() const;
  ResourceID gpuResourceID() const;
  NS::String *label() const;
};

} // namespace MTL

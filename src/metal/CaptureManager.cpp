// SPDX-License-Identifier: Apache-2.0
//
// Tested by tests/api/Resources_test.cpp.
#include "metal/CommandQueue.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Foundation/NSURL.hpp>
#include <Metal/MTLCaptureManager.hpp>
#include <Metal/MTLCaptureScope.hpp>

namespace pewter::metal {

class CaptureDescriptor final : public MTL::CaptureDescriptor {
public:
  const char *className() const override { return "MTLCaptureDescriptor"; }
  Root *makeCopy() const override {
    auto *copy = new CaptureDescriptor();
    copy->captureObject = captureObject;
    copy->destination = destination;
    copy->outputURL = outputURL;
    return copy;
  }
  foundation::Ref<NS::Object> captureObject;
  MTL::CaptureDestination destination = MTL::CaptureDestinationDeveloperTools;
  foundation::Ref<NS::URL> outputURL;
};

class CaptureScope final : public MTL::CaptureScope {
public:
  const char *className() const override { return "MTLCaptureScope"; }
  MTL::Device *device = nullptr;
  foundation::Ref<MTL::CommandQueue> queue;
  std::string label;
};

class CaptureManager final : public MTL::CaptureManager {
public:
  const char *className() const override { return "MTLCaptureManager"; }
  foundation::Ref<MTL::CaptureScope> defaultCaptureScope;
};

namespace {

CaptureDescriptor *implOf(const MTL::CaptureDescriptor *descriptor) {
  return static_cast<CaptureDescriptor *>(const_cast<MTL::CaptureDescriptor *>(descriptor));
}
CaptureScope *implOf(const MTL::CaptureScope *scope) {
  return static_cast<CaptureScope *>(const_cast<MTL::CaptureScope *>(scope));
}
CaptureManager *implOf(const MTL::CaptureManager *manager) {
  return static_cast<CaptureManager *>(const_cast<MTL::CaptureManager *>(manager));
}

constexpr const char *kNoCapture =
    "CaptureManager::startCapture is not supported: there is no capture tool here.";

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(CaptureDescriptor)
PEWTER_ALLOC(CaptureManager)
PEWTER_LABEL(CaptureScope)
PEWTER_VALUE(CaptureDescriptor, CaptureDestination, destination, setDestination)
PEWTER_OBJECT(CaptureDescriptor, NS::URL, outputURL, setOutputURL)
PEWTER_OBJECT(CaptureManager, MTL::CaptureScope, defaultCaptureScope, setDefaultCaptureScope)

namespace MTL {

NS::Object *CaptureDescriptor::captureObject() const { return implOf(this)->captureObject.get(); }
void CaptureDescriptor::setCaptureObject(NS::Object *captureObject) {
  implOf(this)->captureObject = pewter::foundation::share(captureObject);
}

Device *CaptureScope::device() const { return implOf(this)->device; }
CommandQueue *CaptureScope::commandQueue() const { return implOf(this)->queue.get(); }
void CaptureScope::beginScope() {}
void CaptureScope::endScope() {}

CaptureManager *CaptureManager::sharedCaptureManager() {
  static auto *manager = alloc()->init();
  return manager;
}
bool CaptureManager::isCapturing() const { return false; }
CaptureScope *CaptureManager::newCaptureScope(const Device *device) {
  auto *scope = new pewter::metal::CaptureScope();
  scope->device = const_cast<Device *>(device);
  return scope;
}
CaptureScope *CaptureManager::newCaptureScope(const CommandQueue *commandQueue) {
  auto *scope = new pewter::metal::CaptureScope();
  scope->device = commandQueue->device();
  scope->queue = pewter::foundation::share(commandQueue);
  return scope;
}
bool CaptureManager::startCapture(const CaptureDescriptor *, NS::Error **error) {
  setError(error, ErrorDomain::Capture, {pewter::ErrorKind::Unsupported, kNoCapture});
  return false;
}
void CaptureManager::startCapture(const Device *) { unsupported("{}", kNoCapture); }
void CaptureManager::startCapture(const CommandQueue *) { unsupported("{}", kNoCapture); }
void CaptureManager::startCapture(const CaptureScope *) { unsupported("{}", kNoCapture); }
void CaptureManager::stopCapture() {}
bool CaptureManager::supportsDestination(CaptureDestination) { return false; }

} // namespace MTL

// SPDX-License-Identifier: Apache-2.0
//
// CaptureManager: the door to a capture tool. There is none here: startCapture fails with
// CaptureErrorNotSupported, and no destination is supported.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CaptureDescriptor;
class CaptureManager;
class CaptureScope;
class CommandQueue;
class Device;

enum CaptureError : NS::Integer {
  CaptureErrorNotSupported = 1,
  CaptureErrorAlreadyCapturing = 2,
  CaptureErrorInvalidDescriptor = 3,
};

enum CaptureDestination : NS::Integer {
  CaptureDestinationDeveloperTools = 1,
  CaptureDestinationGPUTraceDocument = 2,
};

/// What to capture, and where to.
class _MTL_EXPORT CaptureDescriptor : public NS::Copying<CaptureDescriptor> {
public:
  static CaptureDescriptor *alloc();
  CaptureDescriptor *init();
  NS::Object *captureObject() const;
  void setCaptureObject(NS::Object *captureObject);
  CaptureDestination destination() const;
  void setDestination(CaptureDestination destination);
  NS::URL *outputURL() const;
  void setOutputURL(const NS::URL *outputURL);
};

/// The one capture manager of the process.
class _MTL_EXPORT CaptureManager : public NS::Referencing<CaptureManager> {
public:
  static CaptureManager *alloc();
  static CaptureManager *sharedCaptureManager();
  CaptureManager *init();
  bool isCapturing() const;
  CaptureScope *defaultCaptureScope() const;
  void setDefaultCaptureScope(const CaptureScope *defaultCaptureScope);
  CaptureScope *newCaptureScope(const Device *device);
  CaptureScope *newCaptureScope(const CommandQueue *commandQueue);
  void startCapture(const Device *device);
  void startCapture(const CommandQueue *commandQueue);
  void startCapture(const CaptureScope *captureScope);
  bool startCapture(const CaptureDescriptor *descriptor, NS::Error **error);
  void stopCapture();
  bool supportsDestination(CaptureDestination destination);
};

} // namespace MTL

// SPDX-License-Identifier: Apache-2.0
//
// CaptureScope: names a stretch of work for a capture tool.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CommandQueue;
class Device;

/// Pewter has no capture tool: scopes keep their label and do nothing else.
class _MTL_EXPORT CaptureScope : public NS::Referencing<CaptureScope> {
public:
  void beginScope();
  CommandQueue *commandQueue() const;
  Device *device() const;
  void endScope();
  NS::String *label() const;
  void setLabel(const NS::String *pLabel);
};

} // namespace MTL

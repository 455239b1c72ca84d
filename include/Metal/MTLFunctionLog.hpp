// SPDX-License-Identifier: Apache-2.0
//
// Logs of a command buffer.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Function;
class FunctionLog;
class FunctionLogDebugLocation;
class LogContainer;

enum FunctionLogType : NS::UInteger {
  FunctionLogTypeValidation = 0,
};

/// The entries of a command buffer's log.
class _MTL_EXPORT LogContainer : public NS::Referencing<LogContainer, NS::FastEnumeration> {
public:
};

/// A place in MSL source.
class _MTL_EXPORT FunctionLogDebugLocation : public NS::Referencing<FunctionLogDebugLocation> {
public:
  NS::UInteger column() const;
  NS::String *functionName() const;
  NS::UInteger line() const;
  NS::URL *URL() const;
};

/// One entry.
class _MTL_EXPORT FunctionLog : public NS::Referencing<FunctionLog> {
public:
  FunctionLogDebugLocation *debugLocation() const;
  NS::String *encoderLabel() const;
  Function *function() const;
  FunctionLogType type() const;
};

} // namespace MTL

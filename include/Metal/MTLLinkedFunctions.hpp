// SPDX-License-Identifier: Apache-2.0
//
// LinkedFunctions: functions that a pipeline may call.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

/// Functions for tables of the pipeline (binary ones are treated alike), and private ones, which its kernel
/// declares and calls by name. Groups are kept and not needed.
class _MTL_EXPORT LinkedFunctions : public NS::Copying<LinkedFunctions> {
public:
  static LinkedFunctions *alloc();
  static LinkedFunctions *linkedFunctions();
  LinkedFunctions *init();
  NS::Array *binaryFunctions() const;
  void setBinaryFunctions(const NS::Array *binaryFunctions);
  NS::Array *functions() const;
  void setFunctions(const NS::Array *functions);
  NS::Dictionary *groups() const;
  void setGroups(const NS::Dictionary *groups);
  NS::Array *privateFunctions() const;
  void setPrivateFunctions(const NS::Array *privateFunctions);
};

} // namespace MTL

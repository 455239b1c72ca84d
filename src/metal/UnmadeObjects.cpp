// SPDX-License-Identifier: Apache-2.0
//
// Classes that no call makes; their methods report any use.
#include "metal/Validation.h"
#include <Metal/Metal.hpp>

namespace {

/// For a method of a class without objects.
template <class T> T unmade(const char *call) {
  pewter::metal::unsupported("{} is not supported: no call makes such an object.", call);
  return T();
}

} // namespace

namespace MTL {

NS::URL *FunctionLogDebugLocation::URL() const {
  return unmade<NS::URL *>("FunctionLogDebugLocation::URL");
}
NS::UInteger FunctionLogDebugLocation::column() const {
  return unmade<NS::UInteger>("FunctionLogDebugLocation::column");
}
NS::UInteger FunctionLogDebugLocation::line() const {
  return unmade<NS::UInteger>("FunctionLogDebugLocation::line");
}
NS::String *FunctionLogDebugLocation::functionName() const {
  return unmade<NS::String *>("FunctionLogDebugLocation::functionName");
}
FunctionLogDebugLocation *FunctionLog::debugLocation() const {
  return unmade<FunctionLogDebugLocation *>("FunctionLog::debugLocation");
}
NS::String *FunctionLog::encoderLabel() const {
  return unmade<NS::String *>("FunctionLog::encoderLabel");
}
Function *FunctionLog::function() const { return unmade<Function *>("FunctionLog::function"); }
FunctionLogType FunctionLog::type() const { return unmade<FunctionLogType>("FunctionLog::type"); }

Attribute *Attribute::alloc() { return unmade<Attribute *>("Attribute::alloc"); }
Attribute *Attribute::init() { return this; }
bool Attribute::active() const { return unmade<bool>("Attribute::active"); }
bool Attribute::isActive() const { return unmade<bool>("Attribute::isActive"); }
NS::UInteger Attribute::attributeIndex() const {
  return unmade<NS::UInteger>("Attribute::attributeIndex");
}
DataType Attribute::attributeType() const { return unmade<DataType>("Attribute::attributeType"); }
NS::String *Attribute::name() const { return unmade<NS::String *>("Attribute::name"); }

} // namespace MTL

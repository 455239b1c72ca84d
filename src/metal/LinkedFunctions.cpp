// SPDX-License-Identifier: Apache-2.0
//
// What pipelines with function pointers would need. Descriptors keep what is set;
// ComputePipeline.cpp refuses those that name functions. The classes that no call makes report any
// use. Tested by tests/api/Pipeline_test.cpp.
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Metal/Metal.hpp>

namespace pewter::metal {

class LinkedFunctions final : public MTL::LinkedFunctions {
public:
  const char *className() const override { return "MTLLinkedFunctions"; }
  Root *makeCopy() const override {
    auto *copy = new LinkedFunctions();
    copy->functions = functions;
    copy->binaryFunctions = binaryFunctions;
    copy->privateFunctions = privateFunctions;
    copy->groups = groups;
    return copy;
  }
  foundation::Ref<NS::Array> functions, binaryFunctions, privateFunctions;
  foundation::Ref<NS::Dictionary> groups;
};

class VisibleFunctionTableDescriptor final : public MTL::VisibleFunctionTableDescriptor {
public:
  const char *className() const override { return "MTLVisibleFunctionTableDescriptor"; }
  Root *makeCopy() const override {
    auto *copy = new VisibleFunctionTableDescriptor();
    copy->functionCount = functionCount;
    return copy;
  }
  NS::UInteger functionCount = 0;
};

namespace {

LinkedFunctions *implOf(const MTL::LinkedFunctions *linked) {
  return static_cast<LinkedFunctions *>(const_cast<MTL::LinkedFunctions *>(linked));
}
VisibleFunctionTableDescriptor *implOf(const MTL::VisibleFunctionTableDescriptor *descriptor) {
  return static_cast<VisibleFunctionTableDescriptor *>(
      const_cast<MTL::VisibleFunctionTableDescriptor *>(descriptor));
}

/// For a method of a class without objects.
template <class T> T unmade(const char *call) {
  unsupported("{} is not supported: no call makes such an object.", call);
  return T();
}

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(LinkedFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Array, functions, setFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Array, binaryFunctions, setBinaryFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Array, privateFunctions, setPrivateFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Dictionary, groups, setGroups)
PEWTER_ALLOC(VisibleFunctionTableDescriptor)
PEWTER_PLAIN(VisibleFunctionTableDescriptor, NS::UInteger, functionCount, setFunctionCount)

namespace MTL {

LinkedFunctions *LinkedFunctions::linkedFunctions() {
  return pewter::foundation::autoreleased(alloc());
}
VisibleFunctionTableDescriptor *VisibleFunctionTableDescriptor::visibleFunctionTableDescriptor() {
  return pewter::foundation::autoreleased(alloc());
}

ResourceID VisibleFunctionTable::gpuResourceID() const {
  return unmade<ResourceID>("VisibleFunctionTable::gpuResourceID");
}
void VisibleFunctionTable::setFunction(const FunctionHandle *, NS::UInteger) {
  unmade<int>("VisibleFunctionTable::setFunction");
}
void VisibleFunctionTable::setFunctions(const FunctionHandle *const[], NS::Range) {
  unmade<int>("VisibleFunctionTable::setFunctions");
}

Device *FunctionHandle::device() const { return unmade<Device *>("FunctionHandle::device"); }
FunctionType FunctionHandle::functionType() const {
  return unmade<FunctionType>("FunctionHandle::functionType");
}
ResourceID FunctionHandle::gpuResourceID() const {
  return unmade<ResourceID>("FunctionHandle::gpuResourceID");
}
NS::String *FunctionHandle::name() const { return unmade<NS::String *>("FunctionHandle::name"); }

Device *DynamicLibrary::device() const { return unmade<Device *>("DynamicLibrary::device"); }
NS::String *DynamicLibrary::installName() const {
  return unmade<NS::String *>("DynamicLibrary::installName");
}
NS::String *DynamicLibrary::label() const { return unmade<NS::String *>("DynamicLibrary::label"); }
void DynamicLibrary::setLabel(const NS::String *) { unmade<int>("DynamicLibrary::setLabel"); }
bool DynamicLibrary::serializeToURL(const NS::URL *, NS::Error **) {
  return unmade<bool>("DynamicLibrary::serializeToURL");
}

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

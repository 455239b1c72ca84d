// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Library_test.cpp.
#include "metal/Function.h"
#include "device/CompilerLibrary.h"
#include "device/PipelineImage.h"
#include "foundation/Collections.h"
#include "metal/Argument.h"
#include "metal/ArgumentEncoder.h"
#include "metal/Device.h"
#include "metal/FunctionConstantValues.h"
#include "metal/Library.h"
#include "metal/Property.h"
#include "metal/Validation.h"

namespace pewter::metal {
namespace {

class FunctionConstant final : public MTL::FunctionConstant {
public:
  const char *className() const override { return "MTLFunctionConstant"; }
  air::FunctionConstant data;
};

FunctionConstant *implOf(const MTL::FunctionConstant *constant) {
  return static_cast<FunctionConstant *>(const_cast<MTL::FunctionConstant *>(constant));
}

} // namespace

NS::detail::Root *FunctionDescriptor::makeCopy() const {
  auto *copy = new FunctionDescriptor();
  copy->name = name;
  copy->specializedName = specializedName;
  copy->constantValues = constantValues;
  copy->binaryArchives = binaryArchives;
  copy->options = options;
  return copy;
}

Function::Function(Library *library, const LibraryFunction &source,
                   std::vector<compiler::ConstantValue> values)
    : library(foundation::share(library)), source(source), constants(std::move(values)),
      identity(device::functionIdentity(source.moduleHash, source.name, constants)), name(source.name) {}

Result<air::KernelReflection> Function::reflect() const {
  PEWTER_TRY(auto description, device::describeModule(*source.module));
  for (air::KernelReflection &kernel : description.kernels)
    if (kernel.name == source.name)
      return std::move(kernel);
  return fail(ErrorKind::Compile, "The module of function \"{}\" holds no kernel of that name.",
              source.name);
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::makeString;

PEWTER_LABEL(Function)
PEWTER_ALLOC(FunctionDescriptor)
PEWTER_OBJECT(FunctionDescriptor, NS::String, name, setName)
PEWTER_OBJECT(FunctionDescriptor, NS::String, specializedName, setSpecializedName)
PEWTER_OBJECT(FunctionDescriptor, MTL::FunctionConstantValues, constantValues, setConstantValues)
PEWTER_OBJECT(FunctionDescriptor, NS::Array, binaryArchives, setBinaryArchives)
PEWTER_VALUE(FunctionDescriptor, FunctionOptions, options, setOptions)
PEWTER_ALLOC(FunctionConstant)

namespace MTL {

FunctionDescriptor *FunctionDescriptor::functionDescriptor() {
  return pewter::foundation::autoreleased(alloc());
}

NS::UInteger FunctionConstant::index() const { return implOf(this)->data.index; }
NS::String *FunctionConstant::name() const { return makeString(implOf(this)->data.name); }
bool FunctionConstant::required() const { return implOf(this)->data.required; }
DataType FunctionConstant::type() const { return static_cast<DataType>(implOf(this)->data.type); }

Device *Function::device() const { return implOf(this)->library->device; }
NS::String *Function::name() const { return makeString(implOf(this)->name); }
FunctionType Function::functionType() const { return implOf(this)->source.type; }
FunctionOptions Function::options() const { return implOf(this)->options; }
NS::Dictionary *Function::functionConstantsDictionary() const {
  auto *dictionary = new pewter::foundation::Dictionary();
  for (auto &declared : implOf(this)->source.constants) {
    auto *constant = new pewter::metal::FunctionConstant();
    constant->data = declared;
    dictionary->entries.insert_or_assign(
        NS::TransferPtr<NS::Object>(pewter::foundation::newString(declared.name)),
        NS::TransferPtr<NS::Object>(constant));
  }
  return pewter::foundation::autoreleased(dictionary);
}
ArgumentEncoder *Function::newArgumentEncoder(NS::UInteger bufferIndex) {
  return newArgumentEncoder(bufferIndex, nullptr);
}
ArgumentEncoder *Function::newArgumentEncoder(NS::UInteger bufferIndex,
                                              const AutoreleasedArgument *reflection) {
  auto *function = implOf(this);
  auto kernel = function->reflect();
  if (!kernel) {
    reportMisuse(std::move(kernel.error()).whileDoing("Function::newArgumentEncoder"));
    return nullptr;
  }
  for (auto &argument : kernel->arguments) {
    if (argument.kind != pewter::air::ArgumentKind::Buffer || argument.slot != bufferIndex)
      continue;
    if (reflection)
      *const_cast<AutoreleasedArgument *>(reflection) = makeArgument(argument);
    return newEncoderFor(implOf(function->library->device), argument);
  }
  misuse("Function::newArgumentEncoder: function \"{}\" has no buffer argument at index {}.",
         function->name, bufferIndex);
  return nullptr;
}

} // namespace MTL

// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/FunctionPointers_test.cpp and tests/api/DynamicLibrary_test.cpp.
#include "metal/LinkedFunctions.h"
#include "device/KeyBuilder.h"
#include "device/PipelineImage.h"
#include "foundation/Collections.h"
#include "metal/ComputePipeline.h"
#include "metal/DynamicLibrary.h"
#include "metal/Library.h"
#include "metal/Property.h"
#include <set>

namespace pewter::metal {

NS::detail::Root *LinkedFunctions::makeCopy() const {
  auto *copy = new LinkedFunctions();
  copy->functions = functions;
  copy->binaryFunctions = binaryFunctions;
  copy->privateFunctions = privateFunctions;
  copy->groups = groups;
  return copy;
}

bool FunctionSet::contains(const FunctionSet &other) const {
  return other.functions.size() <= functions.size() &&
         std::equal(other.functions.begin(), other.functions.end(), functions.begin(),
                    [](auto &a, auto &b) { return a == b || a->identity == b->identity; });
}

namespace {

class Gatherer {
public:
  Gatherer(device::PipelineRequest &request, const Function &kernel)
      : request_(request), kernel_(kernel), set_(std::make_shared<FunctionSet>()) {
    key_.add(request.identity);
  }

  Result<void> addFunctions(const char *list, const NS::Array *functions, bool isInTables) {
    for (auto &object : foundation::objectsOf(functions)) {
      Function *function = implOf(reinterpret_cast<MTL::Function *>(object.get()));
      if (function->source.type != MTL::FunctionTypeVisible)
        return fail(ErrorKind::Validation,
                    "LinkedFunctions::{} holds function \"{}\", which is not [[visible]].", list,
                    function->name);
      if (function->library->device != kernel_.library->device)
        return fail(ErrorKind::Validation,
                    "LinkedFunctions::{} holds function \"{}\" of another device.", list,
                    function->name);
      if (!names_.insert(function->name).second)
        return fail(ErrorKind::Validation,
                    "LinkedFunctions::{} holds a second function \"{}\"; a specialised one can have "
                    "another name (FunctionDescriptor::specializedName).",
                    list, function->name);
      add(function->source, function->constants, function->identity, isInTables);
      if (isInTables)
        set_->functions.push_back(foundation::share(function));
      libraries_.push_back(function->library.get());
    }
    return {};
  }

  void addLibraries(const NS::Array *libraries) {
    for (auto &object : foundation::objectsOf(libraries))
      libraries_.push_back(implOf(reinterpret_cast<MTL::DynamicLibrary *>(object.get()))->library.get());
  }

  std::shared_ptr<const FunctionSet> finish() {
    libraries_.push_back(kernel_.library.get());
    // A list that grows: libraries link to libraries.
    for (size_t i = 0; i < libraries_.size(); ++i) {
      const Library *library = libraries_[i];
      if (!visited_.insert(library).second)
        continue;
      for (const LibraryFunction &exported : library->exports)
        add(exported, {}, device::functionIdentity(exported.moduleHash, exported.name, {}), false);
      for (auto &linked : library->linked)
        libraries_.push_back(linked->library.get());
    }
    if (!request_.linkedFunctions.empty())
      request_.identity = key_.add(uint64_t(request_.maxCallStackDepth)).hash();
    return set_;
  }

private:
  void add(const LibraryFunction &source, const std::vector<compiler::ConstantValue> &constants,
           const Hash128 &identity, bool isInTables) {
    request_.linkedFunctions.push_back({source.module, source.name, constants, isInTables});
    key_.add(identity).add(uint64_t(isInTables));
  }

  device::PipelineRequest &request_;
  const Function &kernel_;
  std::shared_ptr<FunctionSet> set_;
  device::KeyBuilder key_;
  std::set<std::string> names_;
  std::vector<const Library *> libraries_;
  std::set<const Library *> visited_;
};

} // namespace

Result<std::shared_ptr<const FunctionSet>> linkInto(device::PipelineRequest &request,
                                                    const ComputePipelineDescriptor &descriptor,
                                                    const NS::Array *more) {
  const auto &values = descriptor.values;
  Gatherer gatherer(request, *implOf(values.computeFunction.get()));
  request.maxCallStackDepth = static_cast<uint32_t>(
      std::clamp<NS::UInteger>(values.maxCallStackDepth, 1, UINT32_MAX));
  if (const MTL::LinkedFunctions *linked = values.linkedFunctions.get()) {
    PEWTER_TRY_VOID(gatherer.addFunctions("functions", linked->functions(), true));
    PEWTER_TRY_VOID(gatherer.addFunctions("binaryFunctions", linked->binaryFunctions(), true));
    PEWTER_TRY_VOID(gatherer.addFunctions("privateFunctions", linked->privateFunctions(), false));
  }
  PEWTER_TRY_VOID(gatherer.addFunctions("functions", more, true));
  // Those of the descriptor come first: they replace what the libraries were compiled against.
  gatherer.addLibraries(values.preloadedLibraries.get());
  gatherer.addLibraries(values.insertLibraries.get());
  return gatherer.finish();
}

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(LinkedFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Array, functions, setFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Array, binaryFunctions, setBinaryFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Array, privateFunctions, setPrivateFunctions)
PEWTER_OBJECT(LinkedFunctions, NS::Dictionary, groups, setGroups)

namespace MTL {

LinkedFunctions *LinkedFunctions::linkedFunctions() {
  return pewter::foundation::autoreleased(alloc());
}

} // namespace MTL

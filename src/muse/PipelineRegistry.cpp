// SPDX-License-Identifier: Apache-2.0
// Tested by tests/seed/SeedTable.cpp.
#include "muse/PipelineRegistry.h"
#include <cstdio>
#include <cstdlib>

namespace pewter::muse {

Result<PipelineRegistry> PipelineRegistry::create(Context &context, MathMode mode,
                                                  std::span<const std::string> names) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  PipelineRegistry registry;
  PEWTER_TRY(MTL::Library * library, context.library(mode));
  for (const std::string &name : names) {
    if (registry.has(name))
      continue;
    auto *text = NS::String::string(name.c_str(), NS::UTF8StringEncoding);
    NS::SharedPtr<MTL::Function> function;
    if (context.prebuilt())
      function = NS::TransferPtr(context.prebuilt()->newFunction(text));
    if (!function)
      function = NS::TransferPtr(library->newFunction(text));
    if (!function)
      return fail(ErrorKind::Compile, "The engine's {} library has no kernel \"{}\".", nameOf(mode), name);
    NS::Error *error = nullptr;
    auto pipeline = NS::TransferPtr(context.device()->newComputePipelineState(function.get(), &error));
    if (!pipeline)
      return fail(ErrorKind::Compile, "Kernel \"{}\" cannot be built for device \"{}\": {}", name,
                  context.deviceName(),
                  error && error->localizedDescription() ? error->localizedDescription()->utf8String()
                                                         : "no reason given");
    registry.pipelines_.emplace(name, Kernel{name, std::move(pipeline)});
  }
  return registry;
}

const Kernel &PipelineRegistry::get(std::string_view name) const {
  auto found = pipelines_.find(std::string(name));
  if (found == pipelines_.end()) {
    std::fprintf(stderr, "pewter: kernel \"%.*s\" is not registered.\n", static_cast<int>(name.size()),
                 name.data());
    std::abort();
  }
  return found->second;
}

} // namespace pewter::muse

// SPDX-License-Identifier: Apache-2.0
// Tested by tests/seed/SeedTable.cpp.
#include "muse/PipelineRegistry.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace pewter::muse {

Result<PipelineRegistry> PipelineRegistry::create(Context &context, MathMode mode,
                                                  std::span<const std::string> names,
                                                  const std::function<void(double)> &progress) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  PEWTER_TRY(MTL::Library * library, context.library(mode));
  struct Build {
    const std::string *name;
    NS::SharedPtr<MTL::Function> function;
    NS::SharedPtr<MTL::ComputePipelineState> pipeline = {};
    std::string error = {};
  };
  std::vector<Build> builds;
  for (const std::string &name : names) {
    if (std::ranges::find(builds, name, [](const Build &b) { return *b.name; }) != builds.end())
      continue;
    auto *text = NS::String::string(name.c_str(), NS::UTF8StringEncoding);
    NS::SharedPtr<MTL::Function> function;
    if (context.prebuilt())
      function = NS::TransferPtr(context.prebuilt()->newFunction(text));
    if (!function)
      function = NS::TransferPtr(library->newFunction(text));
    if (!function)
      return fail(ErrorKind::Compile, "The engine's {} library has no kernel \"{}\".", nameOf(mode), name);
    builds.push_back({&name, std::move(function)});
  }

  // Each kernel is compiled by itself, so as many at a time as there are cores.
  std::atomic<size_t> next{0}, done{0};
  auto work = [&](bool reports) {
    auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    for (size_t i; (i = next.fetch_add(1)) < builds.size();) {
      NS::Error *error = nullptr;
      builds[i].pipeline =
          NS::TransferPtr(context.device()->newComputePipelineState(builds[i].function.get(), &error));
      if (!builds[i].pipeline)
        builds[i].error = error && error->localizedDescription() ? error->localizedDescription()->utf8String()
                                                                 : "no reason given";
      auto finished = static_cast<double>(done.fetch_add(1) + 1);
      if (reports && progress)
        progress(finished / static_cast<double>(builds.size()));
    }
  };
  {
    std::vector<std::jthread> helpers;
    size_t cores = std::max(1u, std::thread::hardware_concurrency());
    for (size_t i = 1; i < std::min(cores, builds.size()); ++i)
      helpers.emplace_back(work, false);
    work(true);
  }
  PipelineRegistry registry;
  for (Build &build : builds) {
    if (!build.pipeline)
      return fail(ErrorKind::Compile, "Kernel \"{}\" cannot be built for device \"{}\": {}", *build.name,
                  context.deviceName(), build.error);
    registry.pipelines_.emplace(*build.name, Kernel{*build.name, std::move(build.pipeline)});
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

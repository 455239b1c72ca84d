// SPDX-License-Identifier: Apache-2.0
// Tested by the ctest bench_race.
#include "pewter/MatvecChoice.h"
#include "base/Toggles.h"
#include "device/DiskCache.h"
#include <set>

namespace pewter::tools {
namespace {

Hash128 keyOf(const muse::Context &context, const muse::GgufModel &model) {
  std::set<std::string_view> formats;
  for (const muse::GgufTensor &tensor : model.tensors())
    if (tensor.rank == 2)
      formats.insert(tensor.format->name);
  std::string text = fmt::format("{}, {} threads", context.deviceName(), environment("PEWTER_THREADS").value_or("all"));
  for (std::string_view format : formats)
    text += fmt::format(", {}", format);
  return hashOf(viewOf(text));
}

} // namespace

std::string recordedMatvec(const muse::Context &context, const muse::GgufModel &model) {
  auto cache = device::DiskCache::standard();
  auto bytes = cache ? cache->load(device::CacheKind::Choice, keyOf(context, model)) : std::nullopt;
  return bytes ? std::string(textOf(*bytes)) : "";
}

void recordMatvec(const muse::Context &context, const muse::GgufModel &model, std::string_view geometry) {
  if (auto cache = device::DiskCache::standard())
    cache->store(device::CacheKind::Choice, keyOf(context, model), viewOf(geometry));
}

} // namespace pewter::tools

// SPDX-License-Identifier: Apache-2.0
// Any bytes are read or refused, never more: the header, then what a model needs of it.
#include "muse/ModelConfig.h"
#include <cstddef>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace pewter;
  auto model =
      muse::GgufModel::fromBytes(std::as_bytes(std::span(data, size)), "fuzz");
  if (!model)
    return 0;
  for (const muse::GgufTensor &tensor : (*model)->tensors()) {
    ByteView bytes = (*model)->dataOf(tensor);
    if (!bytes.empty()) { // the view must be readable to its end
      volatile std::byte last = bytes.back();
      static_cast<void>(last);
    }
  }
  auto config = muse::ModelConfig::read(**model);
  if (config)
    static_cast<void>(muse::ModelTensors::find(**model, *config).has_value());
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "pewter/DefaultModel.h"

// On a page boundary, so that the device can map it where it is.
asm(".section .rodata\n"
    ".balign 16384\n"
    ".global pewterDefaultModelBegin\n"
    "pewterDefaultModelBegin:\n"
    ".incbin \"" PEWTER_DEFAULT_MODEL "\"\n"
    ".global pewterDefaultModelEnd\n"
    "pewterDefaultModelEnd:\n"
    ".balign 16384\n"
    ".previous\n");

extern "C" const std::byte pewterDefaultModelBegin[], pewterDefaultModelEnd[];

namespace pewter::tools {

Result<std::shared_ptr<const muse::GgufModel>> openDefaultModel() {
  return muse::GgufModel::fromBytes(
      {pewterDefaultModelBegin, static_cast<size_t>(pewterDefaultModelEnd - pewterDefaultModelBegin)},
      "glimmer-tiny");
}

} // namespace pewter::tools

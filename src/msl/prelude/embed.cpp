// SPDX-License-Identifier: Apache-2.0
#include "msl/EmbeddedPrelude.h"

// The assembler reads the files: far faster than #embed through the front-end.
asm(R"(
  .section .rodata
  .balign 16
pewterPreludePrecompiled:
  .incbin "prelude.pch"
pewterPreludePrecompiledEnd:
  .byte 0
pewterPreludeText:
  .incbin "prelude.metal"
pewterPreludeTextEnd:
  .byte 0
  .text
)");

extern "C" {
extern const char pewterPreludePrecompiled[], pewterPreludePrecompiledEnd[];
extern const char pewterPreludeText[], pewterPreludeTextEnd[];
}

namespace pewter::msl {

Prelude embeddedPrelude() {
  return {{pewterPreludeText, static_cast<size_t>(pewterPreludeTextEnd - pewterPreludeText)},
          {pewterPreludePrecompiled,
           static_cast<size_t>(pewterPreludePrecompiledEnd - pewterPreludePrecompiled)}};
}

} // namespace pewter::msl

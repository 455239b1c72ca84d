// SPDX-License-Identifier: Apache-2.0
//
// Brings texture code into AIR's form: texel functions return {value, resident} instead of writing it
// through a pointer, and constexpr samplers become globals that `air.sampler_states` lists.
#pragma once
#include <llvm/IR/Module.h>

namespace pewter::msl {

/// Before inlining: `void @air.read_texture_2d.v4f32(ptr out, ...)` -> `{<4 x float>, i8} @...(...)`.
void returnTexels(llvm::Module &module);

/// After cleaning, in a kernel's own module: a sampler handle that is a constant state word becomes a
/// global holding it.
void makeSamplerStates(llvm::Module &module);

} // namespace pewter::msl

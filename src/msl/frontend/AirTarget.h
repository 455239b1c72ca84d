// SPDX-License-Identifier: Apache-2.0
//
// The clang target that makes plain C++17 behave like MSL: AIR's data layout and sizes, and address
// spaces that are real type qualifiers. The one hook that matters is isAddressSpaceSupersetOf: the
// default (thread) space contains every other one, so that methods, references, copies and
// assignment work on objects in device, constant and threadgroup memory, while overloads,
// specialisations and conversions between those three stay as strict as in MSL.
//
// Code generation gives an addrspacecast to space 0 wherever the hook was used; inlining and
// InferAddressSpaces (msl/Lower.h) remove every one of them again.
#pragma once
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>

namespace pewter::msl {

/// The data layout of every AIR module.
extern const char kAirDataLayout[];
/// The triple that modules carry; inside clang an unknown one is used, so that no Darwin rule applies.
extern const char kAirTriple[];

/// The target; `options` must outlive it. The caller hands it to CompilerInstance::setTarget.
clang::TargetInfo *makeAirTarget(clang::TargetOptions &options);

} // namespace pewter::msl

// SPDX-License-Identifier: Apache-2.0
//
// Reflection objects, made from air::Argument.
#pragma once
#include "air/Reflection.h"
#include "foundation/Object.h"
#include <Metal/MTLArgument.hpp>
#include <Metal/MTLLibrary.hpp>

namespace pewter::metal {

/// The bindings of a kernel, in the order of its parameters; owned by the caller.
NS::Array *newBindings(const air::KernelReflection &kernel);
/// The same in the older form.
NS::Array *newArguments(const air::KernelReflection &kernel);
/// One argument in the older form, autoreleased.
MTL::Argument *makeArgument(const air::Argument &argument);
MTL::FunctionReflection *makeFunctionReflection(const air::KernelReflection &kernel);
/// What a binding was made from.
const air::Argument &argumentOf(const MTL::Binding *binding);

} // namespace pewter::metal

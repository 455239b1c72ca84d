// SPDX-License-Identifier: Apache-2.0
//
// Results of a case kept in a folder, PEWTER_CARRIED_RESULTS: made where the compiler is, used on a
// machine that has a GPU and no compiler. Without the variable there are none.
#pragma once
#include "runner/Executors.h"

namespace pewter::testing {

std::optional<Buffers> carriedResult(const KernelCase &test);
void carryResult(const KernelCase &test, const Buffers &result);

} // namespace pewter::testing

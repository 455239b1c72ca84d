// SPDX-License-Identifier: Apache-2.0
//
// The families of ggml's kernels: one row each in the table of docs/compatibility.md.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace pewter::testing {

/// In the order of the table.
std::vector<std::string> ggmlFamilies();
/// The family of a kernel by its name ("kernel_mul_mv_id_q4_0_f32": "mul_mv_id"); "" for a name
/// that belongs to none.
std::string familyOf(std::string_view kernel);

} // namespace pewter::testing

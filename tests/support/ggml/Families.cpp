// SPDX-License-Identifier: Apache-2.0
#include "ggml/Families.h"

namespace pewter::testing {
namespace {

struct Rule {
  const char *family;
  std::vector<const char *> beginnings; ///< Of names behind "kernel_"; the longest match counts.
};

const std::vector<Rule> &rules() {
  static const std::vector<Rule> table{
      {"argmax", {"argmax"}},
      {"argsort", {"argsort"}},
      {"binary", {"add_", "sub_", "mul_fuse", "mul_row", "div_"}},
      {"concat", {"concat"}},
      {"conv", {"conv_"}},
      {"cpy", {"cpy_"}},
      {"flash_attn_ext", {"flash_attn_ext_"}},
      {"flash_attn_ext_vec", {"flash_attn_ext_vec_"}},
      {"generators", {"arange", "timestep_embedding"}},
      {"get_rows", {"get_rows_"}},
      {"glu", {"geglu", "reglu", "swiglu"}},
      {"im2col", {"im2col"}},
      {"mul_mm", {"mul_mm_"}},
      {"mul_mm_id", {"mul_mm_id_"}},
      {"mul_mv", {"mul_mv_"}},
      {"mul_mv_ext", {"mul_mv_ext_"}},
      {"mul_mv_id", {"mul_mv_id_"}},
      {"norm", {"norm_", "group_norm", "l2_norm"}},
      {"opt_step", {"opt_step"}},
      {"pad", {"pad_"}},
      {"pool", {"pool_"}},
      {"repeat", {"repeat_"}},
      {"rms_norm", {"rms_norm"}},
      {"rope", {"rope_"}},
      {"rwkv", {"rwkv_"}},
      {"set_rows", {"set_rows_"}},
      {"soft_max", {"soft_max"}},
      {"ssm", {"ssm_"}},
      {"sum_rows", {"sum_rows", "mean", "op_sum"}},
      {"unary", {"abs_",       "clamp_",     "cos_", "elu_", "exp_",  "gelu_",  "hardsigmoid_",
                 "hardswish_", "leaky_relu", "log_", "neg_", "relu_", "scale_", "sgn_",
                 "sigmoid_",   "silu_",      "sin_", "sqr_", "sqrt_", "step_",  "tanh_"}},
      {"upscale", {"upscale"}},
  };
  return table;
}

} // namespace

std::vector<std::string> ggmlFamilies() {
  std::vector<std::string> names;
  for (const Rule &rule : rules())
    names.push_back(rule.family);
  return names;
}

std::string familyOf(std::string_view kernel) {
  constexpr std::string_view prefix = "kernel_";
  if (!kernel.starts_with(prefix))
    return "";
  kernel.remove_prefix(prefix.size());
  std::string family;
  size_t longest = 0;
  for (const Rule &rule : rules())
    for (std::string_view beginning : rule.beginnings)
      if (kernel.starts_with(beginning) && beginning.size() > longest) {
        family = rule.family;
        longest = beginning.size();
      }
  return family;
}

} // namespace pewter::testing

// SPDX-License-Identifier: Apache-2.0
//
// Jinja: templates of the kind that model files carry to lay out a chat. The language is Jinja 2 as such
// templates use it: output, for (with loop, else, filters, break, continue), if, set (also blocks and
// namespaces), macro, call-free functions, filters, tests, slices, string and mapping methods, whitespace
// control, trim_blocks and lstrip_blocks. Not here: includes, inheritance, async, autoescape.
//
//   PEWTER_TRY(auto chat, JinjaTemplate::parse(text));
//   PEWTER_TRY(std::string prompt, chat->render({{"messages", messages}, {"bos_token", ""}}));
//
// A template is immutable after parse; any thread may render it.
#pragma once
#include "base/Error.h"
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace pewter::muse {

/// Mappings keep the order of their keys, as Python's do.
using JinjaData = nlohmann::ordered_json;

struct JinjaBlock;

class JinjaTemplate {
public:
  /// An error names the line.
  static Result<std::shared_ptr<const JinjaTemplate>> parse(std::string_view text);
  /// `variables` is a mapping. Errors: raise_exception, an undefined value used, a loop without end.
  Result<std::string> render(const JinjaData &variables) const;
  ~JinjaTemplate();

private:
  JinjaTemplate() = default;
  std::unique_ptr<JinjaBlock> body_;
};

} // namespace pewter::muse

// SPDX-License-Identifier: Apache-2.0
//
// JSON schemas as grammars: the text that a model makes is then JSON of that shape. What a grammar cannot
// say (patterns, ranges of numbers, uniqueness) is refused by name, not ignored.
//
//   PEWTER_TRY(std::string gbnf, grammarOfSchema(schema, false));
#pragma once
#include "serve/Json.h"

namespace pewter::serve {

/// `lenient`: keywords that a grammar cannot say are ignored.
Result<std::string> grammarOfSchema(const Json &schema, bool lenient);
/// Any JSON object.
std::string grammarOfAnyObject();

} // namespace pewter::serve

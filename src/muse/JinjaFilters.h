// SPDX-License-Identifier: Apache-2.0
//
// What Jinja can do with plain values: operators, filters, tests and methods, with Python's meaning.
// Each throws a JinjaFailure for what it does not know. Private to Jinja*.cpp.
#pragma once
#include "muse/JinjaNodes.h"
#include <map>

namespace pewter::muse {

struct JinjaArguments {
  std::vector<JinjaData> positional;
  std::map<std::string, JinjaData> named;
  /// The argument at `index` or called `name`; null when there is neither.
  const JinjaData *find(size_t index, const char *name) const;
};

bool jinjaTruth(const JinjaData &value);
/// As `str()` prints it.
std::string jinjaText(const JinjaData &value);
bool jinjaEqual(const JinjaData &a, const JinjaData &b);
bool jinjaContains(const JinjaData &container, const JinjaData &value, int line);
JinjaData jinjaArithmetic(const std::string &op, const JinjaData &a, const JinjaData &b, int line);
/// What a loop over the value sees: elements, keys, or characters.
JinjaData jinjaItems(const JinjaData &value, int line);
/// The characters of UTF-8 text, as a list of strings.
JinjaData jinjaCharacters(const std::string &text);

JinjaData jinjaFilter(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line);
bool jinjaTest(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line);
bool jinjaHasMethod(const JinjaData &value, const std::string &name);
JinjaData jinjaMethod(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line);
/// append, pop and update, which change the value.
JinjaData jinjaMutate(JinjaData &value, const std::string &name, const JinjaArguments &arguments, int line);

} // namespace pewter::muse

// SPDX-License-Identifier: Apache-2.0
//
// JSON of requests and answers. parseJson takes text that anybody may have sent; Fields reads one object
// and remembers what was read, so that a field which nobody knows is refused by its name.
//
//   Fields fields(object, "", lenient);
//   bool stream = fields.boolean("stream", false);
//   PEWTER_TRY_VOID(fields.finish());
//
// The first thing that is wrong is kept and given by finish(); readers give their default then.
#pragma once
#include "base/Error.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pewter::serve {

using Json = nlohmann::ordered_json;

/// At most 64 levels deep, valid UTF-8, nothing behind the value.
Result<Json> parseJson(std::string_view text);
/// In one line; bytes that are not UTF-8 become U+FFFD.
std::string dumpJson(const Json &value);

class Fields {
public:
  /// `path` names the object in messages; "" is the request itself.
  Fields(const Json &object, std::string path, bool lenient);
  Fields(Json &&, std::string, bool) = delete; // It would be gone before its fields are read.

  /// Null counts as not given.
  const Json *find(const char *name);
  bool boolean(const char *name, bool otherwise);
  double number(const char *name, double otherwise, double least, double most);
  int64_t integer(const char *name, int64_t otherwise, int64_t least, int64_t most);
  std::string string(const char *name, std::string otherwise);
  /// One of `values`.
  std::string choice(const char *name, std::string otherwise, std::initializer_list<const char *> values);
  bool has(const char *name) { return find(name) != nullptr; }
  /// Known, but without an effect here.
  void ignore(std::initializer_list<const char *> names);
  /// "messages[2].role" for a field of this object.
  std::string nameOf(std::string_view field) const;
  void complain(Error error);
  bool lenient() const { return lenient_; }
  bool good() const { return !error_; }

  /// The first error; or, unless lenient, that a field is unknown.
  Result<void> finish();

private:
  const Json &object_;
  std::string path_;
  bool lenient_;
  std::set<std::string, std::less<>> known_;
  std::optional<Error> error_;
};

} // namespace pewter::serve

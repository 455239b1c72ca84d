// SPDX-License-Identifier: Apache-2.0
// Tested by Json_test.cpp.
#include "serve/Json.h"
#include <cmath>

namespace pewter::serve {
namespace {

constexpr int kMostNesting = 64;

/// How deep brackets nest, outside of strings.
int nestingOf(std::string_view text) {
  int depth = 0, most = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return most;
}

std::string shown(const Json &value) {
  std::string text = dumpJson(value);
  if (text.size() <= 80)
    return text;
  size_t end = 77;
  while (end && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

} // namespace

Result<Json> parseJson(std::string_view text) {
  if (int depth = nestingOf(text); depth > kMostNesting)
    return fail(ErrorKind::Validation, "The JSON nests [{}] levels deep; {} are allowed.", depth, kMostNesting);
  try {
    return Json::parse(text);
  } catch (const Json::exception &error) {
    std::string what = error.what();
    if (size_t end = what.find("] "); end != what.npos)
      what.erase(0, end + 2);
    return fail(ErrorKind::Validation, "The body is no valid JSON: {}.", what);
  }
}

std::string dumpJson(const Json &value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Fields::Fields(const Json &object, std::string path, bool lenient)
    : object_(object), path_(std::move(path)), lenient_(lenient) {
  if (!object.is_object())
    complain(Error(ErrorKind::Validation,
                   fmt::format("{} is [{}]; an object is expected.",
                               path_.empty() ? "The request" : "Field \"" + path_ + "\"", shown(object))));
}

std::string Fields::nameOf(std::string_view field) const {
  return path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field);
}

void Fields::complain(Error error) {
  if (!error_)
    error_ = std::move(error);
}

const Json *Fields::find(const char *name) {
  known_.insert(name);
  if (!object_.is_object())
    return nullptr;
  auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool Fields::boolean(const char *name, bool otherwise) {
  const Json *value = find(name);
  if (!value || value->is_boolean())
    return value ? value->get<bool>() : otherwise;
  complain(Error(ErrorKind::Validation,
                 fmt::format("Field \"{}\" is [{}]; true or false is expected.", nameOf(name), shown(*value))));
  return otherwise;
}

double Fields::number(const char *name, double otherwise, double least, double most) {
  const Json *value = find(name);
  if (!value)
    return otherwise;
  if (value->is_number()) {
    double number = value->get<double>();
    if (std::isfinite(number) && number >= least && number <= most)
      return number;
  }
  complain(Error(ErrorKind::Validation, fmt::format("Field \"{}\" is [{}]; a number from {} to {} is expected.",
                                                    nameOf(name), shown(*value), least, most)));
  return otherwise;
}

int64_t Fields::integer(const char *name, int64_t otherwise, int64_t least, int64_t most) {
  const Json *value = find(name);
  if (!value)
    return otherwise;
  if (value->is_number()) {
    double number = value->get<double>();
    bool fits = number == std::floor(number) && number >= -0x1p63 && number < 0x1p63;
    if (!value->is_number_float()) // As numbers of their own, as a double lacks their last bits.
      fits = !value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
    int64_t whole = !fits ? 0 : value->is_number_float() ? static_cast<int64_t>(number) : value->get<int64_t>();
    if (fits && whole >= least && whole <= most)
      return whole;
  }
  complain(Error(ErrorKind::Validation,
                 fmt::format("Field \"{}\" is [{}]; a whole number from {} to {} is expected.", nameOf(name),
                             shown(*value), least, most)));
  return otherwise;
}

std::string Fields::string(const char *name, std::string otherwise) {
  const Json *value = find(name);
  if (!value || value->is_string())
    return value ? value->get<std::string>() : std::move(otherwise);
  complain(Error(ErrorKind::Validation,
                 fmt::format("Field \"{}\" is [{}]; a string is expected.", nameOf(name), shown(*value))));
  return otherwise;
}

std::string Fields::choice(const char *name, std::string otherwise, std::initializer_list<const char *> values) {
  if (!has(name))
    return otherwise;
  std::string value = string(name, otherwise), all;
  for (const char *each : values) {
    if (value == each)
      return value;
    all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", each);
  }
  complain(Error(ErrorKind::Validation,
                 fmt::format("Field \"{}\" is [{}]; one of {} is expected.", nameOf(name), value, all)));
  return otherwise;
}

void Fields::ignore(std::initializer_list<const char *> names) {
  for (const char *name : names)
    known_.insert(name);
}

Result<void> Fields::finish() {
  if (error_)
    return std::unexpected(*error_);
  if (!lenient_)
    for (const auto &[name, value] : object_.items())
      if (!known_.contains(name))
        return fail(ErrorKind::Validation,
                    "Field \"{}\" is unknown to this route. Start the server with --lenient to ignore such fields.",
                    nameOf(name));
  return {};
}

} // namespace pewter::serve

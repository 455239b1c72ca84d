// SPDX-License-Identifier: Apache-2.0
// Tested by Foundation_test.cpp.
#include "foundation/Files.h"
#include "foundation/String.h"
#include <charconv>

namespace pewter::foundation {
namespace {

std::string percentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 3], value, 16).ptr == &text[i + 3]) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// "file://host/path" -> "/path"; a text without a scheme is a path; other schemes have no file.
std::string fileOf(std::string_view text) {
  constexpr std::string_view kScheme = "file://";
  if (text.starts_with(kScheme)) {
    text.remove_prefix(kScheme.size());
    size_t slash = text.find('/');
    return percentDecoded(slash == std::string_view::npos ? "" : text.substr(slash));
  }
  return text.find("://") == std::string_view::npos ? std::string(text) : std::string();
}

NS::Data *makeData(Result<Bytes> bytes) {
  if (!bytes)
    return nullptr;
  auto *data = new Data();
  data->bytes = std::move(*bytes);
  return autoreleased(data);
}

} // namespace

bool Url::isEqualTo(const Root *other) const {
  auto *url = dynamic_cast<const Url *>(other);
  return url && url->path == path;
}
NS::String *Url::makeDescription() const { return makeString("file://" + path); }

bool Data::isEqualTo(const Root *other) const {
  auto *data = dynamic_cast<const Data *>(other);
  return data && data->bytes == bytes;
}

NS::URL *makeUrl(std::string path) {
  auto *url = new Url();
  url->path = std::move(path);
  return autoreleased(url);
}

} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

URL *URL::fileURLWithPath(const String *pPath) { return makeUrl(copyText(pPath)); }
URL *URL::alloc() { return new Url(); }
URL *URL::init() { return this; }
URL *URL::init(const String *pString) {
  static_cast<Url *>(this)->path = fileOf(textOf(pString));
  return this;
}
URL *URL::initFileURLWithPath(const String *pPath) {
  static_cast<Url *>(this)->path = textOf(pPath);
  return this;
}
const char *URL::fileSystemRepresentation() const {
  return static_cast<const Url *>(this)->path.c_str();
}

Data *Data::data(String *path) { return makeData(pewter::readFile(copyText(path))); }
Data *Data::data(URL *url) { return makeData(pewter::readFile(pathOf(url))); }
Data *Data::data(const void *bytes, UInteger length) {
  auto *first = static_cast<const std::byte *>(bytes);
  return makeData(pewter::Bytes(first, first + length));
}
const void *Data::bytes() const {
  return static_cast<const pewter::foundation::Data *>(this)->bytes.data();
}
void *Data::mutableBytes() const { return const_cast<void *>(bytes()); }
UInteger Data::length() const {
  return static_cast<const pewter::foundation::Data *>(this)->bytes.size();
}

} // namespace NS

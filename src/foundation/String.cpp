// SPDX-License-Identifier: Apache-2.0
//
// Strings are UTF-8 inside. Lengths and indices of the API count UTF-16 units, so they walk the
// text; nothing on a hot path uses them.
// Tested by Foundation_test.cpp.
#include "foundation/String.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

namespace pewter::foundation {
namespace {

const String *implOf(const NS::String *string) { return static_cast<const String *>(string); }
String *implOf(NS::String *string) { return static_cast<String *>(string); }

void appendUtf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xc0 | c >> 6);
    out += char(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += char(0xe0 | c >> 12);
    out += char(0x80 | (c >> 6 & 63));
    out += char(0x80 | (c & 63));
  } else {
    out += char(0xf0 | c >> 18);
    out += char(0x80 | (c >> 12 & 63));
    out += char(0x80 | (c >> 6 & 63));
    out += char(0x80 | (c & 63));
  }
}

/// Reads one code point at `i` and moves past it; nothing when the bytes are not UTF-8.
std::optional<uint32_t> nextCodePoint(std::string_view text, size_t &i) {
  auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
  uint8_t first = byte(i);
  if (first < 0x80) {
    ++i;
    return first;
  }
  int extra = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
  if (extra == 0 || first >= 0xf8 || i + extra >= text.size())
    return std::nullopt;
  uint32_t c = first & (0x3f >> extra);
  for (int k = 1; k <= extra; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80)
      return std::nullopt;
    c = c << 6 | (byte(i + k) & 63);
  }
  static constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (c < kLeast[extra] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
    return std::nullopt;
  i += extra + 1;
  return c;
}

bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();)
    if (!nextCodePoint(text, i))
      return false;
  return true;
}

std::u16string utf16Of(std::string_view text) {
  std::u16string out;
  for (size_t i = 0; i < text.size();) {
    uint32_t c = nextCodePoint(text, i).value_or(0xfffd);
    if (c < 0x10000) {
      out += char16_t(c);
    } else {
      out += char16_t(0xd800 + ((c - 0x10000) >> 10));
      out += char16_t(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  return out;
}

/// Bytes of one unit, and whether the most significant comes first; 0 for byte encodings.
struct Units {
  int size;
  bool big;
};
Units unitsOf(NS::StringEncoding encoding) {
  switch (encoding) {
  case NS::UTF16StringEncoding:
  case NS::UTF16LittleEndianStringEncoding:
    return {2, false};
  case NS::UTF16BigEndianStringEncoding:
    return {2, true};
  case NS::UTF32StringEncoding:
  case NS::UTF32LittleEndianStringEncoding:
    return {4, false};
  case NS::UTF32BigEndianStringEncoding:
    return {4, true};
  default:
    return {0, false};
  }
}

std::optional<std::string> decode(std::string_view bytes, NS::StringEncoding encoding) {
  std::string out;
  if (Units units = unitsOf(encoding); units.size != 0) {
    if (bytes.size() % units.size != 0)
      return std::nullopt;
    uint32_t high = 0;
    for (size_t i = 0; i < bytes.size(); i += units.size) {
      uint32_t c = 0;
      for (int k = 0; k < units.size; ++k)
        c = c << 8 | uint8_t(bytes[i + (units.big ? k : units.size - 1 - k)]);
      if (units.size == 2 && c >= 0xd800 && c < 0xdc00 && !high) {
        high = c;
        continue;
      }
      if (units.size == 2 && high) {
        if (c < 0xdc00 || c >= 0xe000)
          return std::nullopt;
        c = 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00);
        high = 0;
      }
      if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return std::nullopt;
      appendUtf8(out, c);
    }
    return high ? std::nullopt : std::optional(out);
  }
  switch (encoding) {
  case NS::ASCIIStringEncoding: // Apple's accepts any UTF-8 here too.
  case NS::UTF8StringEncoding:
  case NS::NonLossyASCIIStringEncoding:
    if (!isUtf8(bytes))
      return std::nullopt;
    return std::string(bytes);
  case NS::ISOLatin1StringEncoding:
    for (char c : bytes)
      appendUtf8(out, uint8_t(c));
    return out;
  default:
    return std::nullopt;
  }
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

} // namespace

bool String::isEqualTo(const Root *other) const {
  auto *string = dynamic_cast<const String *>(other);
  return string && string->text == text;
}
NS::UInteger String::hashValue() const { return std::hash<std::string>()(text); }
NS::String *String::makeDescription() const {
  NS::detail::retain(this);
  return autoreleased(const_cast<String *>(this));
}

NS::String *newString(std::string_view text) { return new String(std::string(text)); }
NS::String *makeString(std::string_view text) { return autoreleased(newString(text)); }

} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

String *detail::constantString(const char *text) {
  static std::mutex mutex;
  static auto &table = *new std::map<std::string, String *, std::less<>>();
  std::lock_guard lock(mutex);
  auto &entry = table[text];
  if (!entry) {
    entry = newString(text);
    entry->references.store(kImmortal | 1, std::memory_order_relaxed);
  }
  return entry;
}

String *String::string() { return makeString({}); }
String *String::string(const String *pString) { return makeString(textOf(pString)); }
String *String::string(const char *pString, StringEncoding encoding) {
  String *made = alloc()->init(pString, encoding);
  return made ? autoreleased(made) : nullptr;
}
String *String::alloc() { return new pewter::foundation::String(); }
String *String::init() { return this; }
String *String::init(const String *pString) {
  implOf(this)->text = textOf(pString);
  return this;
}
String *String::init(const char *pString, StringEncoding encoding) {
  size_t length = 0;
  if (pString) {
    size_t unit = static_cast<size_t>(std::max(1, unitsOf(encoding).size));
    static constexpr char kZero[4] = {};
    while (std::memcmp(pString + length, kZero, unit) != 0)
      length += unit;
  }
  return init(const_cast<char *>(pString), length, encoding, false);
}
String *String::init(void *pBytes, UInteger len, StringEncoding encoding, bool freeBuffer) {
  std::optional<std::string> text;
  if (pBytes)
    text = decode({static_cast<const char *>(pBytes), len}, encoding);
  if (freeBuffer)
    std::free(pBytes);
  if (!text) {
    release();
    return nullptr;
  }
  implOf(this)->text = std::move(*text);
  return this;
}

unichar String::character(UInteger index) const {
  std::u16string units = utf16Of(textOf(this));
  return index < units.size() ? units[index] : 0;
}
UInteger String::length() const { return utf16Of(textOf(this)).size(); }
const char *String::cString(StringEncoding encoding) const {
  return encoding == UTF8StringEncoding || encoding == ASCIIStringEncoding ? utf8String() : nullptr;
}
const char *String::utf8String() const { return implOf(this)->text.c_str(); }
UInteger String::maximumLengthOfBytes(StringEncoding encoding) const {
  int unit = unitsOf(encoding).size;
  return length() * (unit == 0 ? 3 : 4);
}
UInteger String::lengthOfBytes(StringEncoding encoding) const {
  if (unitsOf(encoding).size == 2)
    return 2 * length();
  if (unitsOf(encoding).size == 4) {
    std::string_view text = textOf(this);
    return 4 * static_cast<UInteger>(std::count_if(text.begin(), text.end(),
                                                   [](char c) { return (c & 0xc0) != 0x80; }));
  }
  return implOf(this)->text.size();
}
bool String::isEqualToString(const String *pString) const {
  return pString && textOf(pString) == textOf(this);
}
Range String::rangeOfString(const String *pString, StringCompareOptions options) const {
  std::string text = copyText(this), part = copyText(pString);
  if (options & CaseInsensitiveSearch) {
    text = lowered(text);
    part = lowered(part);
  }
  size_t at = options & BackwardsSearch ? text.rfind(part) : text.find(part);
  if (options & AnchoredSearch) {
    size_t wanted = options & BackwardsSearch ? text.size() - part.size() : 0;
    at = part.size() <= text.size() && text.compare(wanted, part.size(), part) == 0
             ? wanted
             : std::string::npos;
  }
  if (part.empty() || at == std::string::npos)
    return Range(static_cast<UInteger>(NotFound), 0);
  return Range(utf16Of(std::string_view(text).substr(0, at)).size(), utf16Of(part).size());
}
const char *String::fileSystemRepresentation() const { return utf8String(); }
String *String::stringByAppendingString(const String *pString) const {
  return makeString(copyText(this) + copyText(pString));
}
ComparisonResult String::caseInsensitiveCompare(const String *pString) const {
  int order = lowered(textOf(this)).compare(lowered(textOf(pString)));
  return order < 0 ? OrderedAscending : order > 0 ? OrderedDescending : OrderedSame;
}

} // namespace NS

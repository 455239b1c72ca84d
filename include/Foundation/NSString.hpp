// SPDX-License-Identifier: Apache-2.0
//
// NS::String: an immutable text, kept as UTF-8. Pointers from utf8String() and cString() live as
// long as the string.
#pragma once
#include "NSObjCRuntime.hpp"
#include "NSObject.hpp"
#include "NSRange.hpp"
#include "NSTypes.hpp"
#include <cstddef>

namespace NS {

enum StringEncoding : UInteger {
  ASCIIStringEncoding = 1,
  NEXTSTEPStringEncoding = 2,
  JapaneseEUCStringEncoding = 3,
  UTF8StringEncoding = 4,
  ISOLatin1StringEncoding = 5,
  SymbolStringEncoding = 6,
  NonLossyASCIIStringEncoding = 7,
  ShiftJISStringEncoding = 8,
  ISOLatin2StringEncoding = 9,
  UnicodeStringEncoding = 10,
  WindowsCP1251StringEncoding = 11,
  WindowsCP1252StringEncoding = 12,
  WindowsCP1253StringEncoding = 13,
  WindowsCP1254StringEncoding = 14,
  WindowsCP1250StringEncoding = 15,
  ISO2022JPStringEncoding = 21,
  MacOSRomanStringEncoding = 30,
  UTF16StringEncoding = UnicodeStringEncoding,
  UTF16BigEndianStringEncoding = 0x90000100,
  UTF16LittleEndianStringEncoding = 0x94000100,
  UTF32StringEncoding = 0x8c000100,
  UTF32BigEndianStringEncoding = 0x98000100,
  UTF32LittleEndianStringEncoding = 0x9c000100,
};

using StringCompareOptions = UInteger;
enum : StringCompareOptions {
  CaseInsensitiveSearch = 1,
  LiteralSearch = 2,
  BackwardsSearch = 4,
  AnchoredSearch = 8,
  NumericSearch = 64,
  DiacriticInsensitiveSearch = 128,
  WidthInsensitiveSearch = 256,
  ForcedOrderingSearch = 512,
  RegularExpressionSearch = 1024,
};

using unichar = unsigned short;

/// Encodings that are converted: ASCII, UTF-8, ISO Latin 1, UTF-16 and UTF-32 in each byte order.
/// Another encoding, or bytes that are not valid in theirs, give null.
class _NS_EXPORT String : public Copying<String> {
public:
  static String *string();
  static String *string(const String *pString);
  static String *string(const char *pString, StringEncoding encoding);
  static String *alloc();
  String *init();
  String *init(const String *pString);
  String *init(const char *pString, StringEncoding encoding);
  String *init(void *pBytes, UInteger len, StringEncoding encoding, bool freeBuffer);

  unichar character(UInteger index) const; ///< Counted in UTF-16 units, as length() is.
  UInteger length() const;
  const char *cString(StringEncoding encoding) const;
  const char *utf8String() const;
  UInteger maximumLengthOfBytes(StringEncoding encoding) const;
  UInteger lengthOfBytes(StringEncoding encoding) const;
  bool isEqualToString(const String *pString) const;
  Range rangeOfString(const String *pString, StringCompareOptions options) const;
  const char *fileSystemRepresentation() const;
  String *stringByAppendingString(const String *pString) const;
  ComparisonResult caseInsensitiveCompare(const String *pString) const;
};

namespace detail {
/// One immortal string for each text.
_NS_EXPORT String *constantString(const char *text);
} // namespace detail

/// A constant string: made once, never freed.
#define MTLSTR(literal)                                                                            \
  ([]() -> NS::String * {                                                                          \
    static NS::String *const pewterConstant = NS::detail::constantString("" literal "");           \
    return pewterConstant;                                                                         \
  }())

template <std::size_t _StringLen>
[[deprecated("please use MTLSTR(str)")]] const String *
MakeConstantString(const char (&str)[_StringLen]) {
  return detail::constantString(str);
}

} // namespace NS

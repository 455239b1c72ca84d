// SPDX-License-Identifier: Apache-2.0
//
// A Value holds the bytes of its C type; a Number is a Value of an arithmetic type, told apart by
// its type encoding.
// Tested by Foundation_test.cpp.
#include "foundation/Number.h"
#include "foundation/String.h"
#include <cstring>
#include <fmt/format.h>

namespace pewter::foundation {
namespace {

size_t sizeOfEncoding(char type) {
  switch (type) {
  case 'c':
  case 'C':
  case 'B':
    return 1;
  case 's':
  case 'S':
    return 2;
  case 'i':
  case 'I':
  case 'f':
    return 4;
  default:
    return 8;
  }
}

/// The number as the widest type of its kind.
struct Wide {
  enum Kind { Signed, Unsigned, Floating } kind;
  long long s = 0;
  unsigned long long u = 0;
  double d = 0;
};

template <class T> T load(const NumberData &data) {
  T value;
  std::memcpy(&value, data.bytes, sizeof(T));
  return value;
}

Wide wideOf(const NumberData &data) {
  auto of = [](auto value) {
    Wide w{};
    using T = decltype(value);
    w.kind = std::is_floating_point_v<T> ? Wide::Floating
             : std::is_signed_v<T>       ? Wide::Signed
                                         : Wide::Unsigned;
    w.d = static_cast<double>(value);
    if constexpr (std::is_floating_point_v<T>) {
      // Out-of-range conversions are undefined in C++; saturate.
      w.s = value >= 0x1p63    ? INT64_MAX
            : value >= -0x1p63 ? static_cast<long long>(value)
                               : INT64_MIN;
      w.u = value >= 0x1p64 ? UINT64_MAX
            : value >= 0    ? static_cast<unsigned long long>(value)
                            : static_cast<unsigned long long>(w.s);
    } else {
      w.s = static_cast<long long>(value);
      w.u = static_cast<unsigned long long>(value);
    }
    return w;
  };
  switch (data.type[0]) {
  case 'c':
    return of(load<signed char>(data));
  case 'C':
    return of(load<unsigned char>(data));
  case 's':
    return of(load<short>(data));
  case 'S':
    return of(load<unsigned short>(data));
  case 'i':
    return of(load<int>(data));
  case 'I':
    return of(load<unsigned>(data));
  case 'q':
    return of(load<long long>(data));
  case 'Q':
    return of(load<unsigned long long>(data));
  case 'f':
    return of(load<float>(data));
  case 'd':
    return of(load<double>(data));
  case 'B':
    return of(load<unsigned char>(data));
  default:
    return of(0);
  }
}

int order(const NumberData &a, const NumberData &b) {
  Wide x = wideOf(a), y = wideOf(b);
  if (x.kind == Wide::Floating || y.kind == Wide::Floating)
    return x.d < y.d ? -1 : x.d > y.d ? 1 : 0;
  if (x.kind == Wide::Signed && x.s < 0)
    return y.kind == Wide::Signed && y.s <= x.s ? (y.s == x.s ? 0 : 1) : -1;
  if (y.kind == Wide::Signed && y.s < 0)
    return 1;
  return x.u < y.u ? -1 : x.u > y.u ? 1 : 0;
}

std::string textOf(const NumberData &data) {
  Wide w = wideOf(data);
  if (w.kind == Wide::Floating)
    return data.type[0] == 'f' ? fmt::format("{}", load<float>(data)) : fmt::format("{}", w.d);
  return w.kind == Wide::Signed ? fmt::format("{}", w.s) : fmt::format("{}", w.u);
}

NumberData &dataOf(NS::Value *value) {
  if (auto *number = dynamic_cast<Number *>(value))
    return number->data;
  return static_cast<Value *>(value)->data;
}
const NumberData &dataOf(const NS::Value *value) { return dataOf(const_cast<NS::Value *>(value)); }

template <class T> void store(NumberData &data, T value, const char *type) {
  std::memcpy(data.bytes, &value, sizeof(T));
  data.type = type;
}

} // namespace

bool Value::isEqualTo(const Root *other) const {
  auto *value = dynamic_cast<const Value *>(other);
  return value && value->data.type == data.type &&
         std::memcmp(value->data.bytes, data.bytes, sizeOfEncoding(data.type[0])) == 0;
}
NS::UInteger Value::hashValue() const { return wideOf(data).u; }

bool Number::isEqualTo(const Root *other) const {
  auto *number = dynamic_cast<const Number *>(other);
  return number && order(data, number->data) == 0;
}
NS::UInteger Number::hashValue() const { return static_cast<NS::UInteger>(wideOf(data).s); }
NS::String *Number::makeDescription() const { return makeString(textOf(data)); }

} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

Value *Value::value(const void *pValue, const char *pType) {
  return autoreleased(alloc()->init(pValue, pType));
}
Value *Value::value(const void *pPointer) { return value(&pPointer, "^v"); }
Value *Value::alloc() { return new pewter::foundation::Value(); }
Value *Value::init(const void *pValue, const char *pType) {
  NumberData &data = dataOf(this);
  data.type = pType && *pType ? pType : "^v";
  std::memcpy(data.bytes, pValue, sizeOfEncoding(data.type[0]));
  return this;
}
void Value::getValue(void *pValue, UInteger size) const {
  const NumberData &data = dataOf(this);
  std::memcpy(pValue, data.bytes, size < sizeof(data.bytes) ? size : sizeof(data.bytes));
}
const char *Value::objCType() const { return dataOf(this).type.c_str(); }
bool Value::isEqualToValue(Value *pValue) const { return isEqual(pValue); }
void *Value::pointerValue() const {
  return reinterpret_cast<void *>(load<uintptr_t>(dataOf(this)));
}

Number *Number::alloc() { return new pewter::foundation::Number(); }
#define PEWTER_NUMBER(Type, encoding, name)                                                        \
  Number *Number::number(Type value) { return autoreleased(alloc()->init(value)); }                \
  Number *Number::init(Type value) {                                                               \
    store(dataOf(this), value, encoding);                                                          \
    return this;                                                                                   \
  }
PEWTER_NUMBER(char, "c", char)
PEWTER_NUMBER(unsigned char, "C", unsignedChar)
PEWTER_NUMBER(short, "s", short)
PEWTER_NUMBER(unsigned short, "S", unsignedShort)
PEWTER_NUMBER(int, "i", int)
PEWTER_NUMBER(unsigned int, "I", unsignedInt)
PEWTER_NUMBER(long, "q", long)
PEWTER_NUMBER(unsigned long, "Q", unsignedLong)
PEWTER_NUMBER(long long, "q", longLong)
PEWTER_NUMBER(unsigned long long, "Q", unsignedLongLong)
PEWTER_NUMBER(float, "f", float)
PEWTER_NUMBER(double, "d", double)
PEWTER_NUMBER(bool, "B", bool)
#undef PEWTER_NUMBER

char Number::charValue() const { return static_cast<char>(wideOf(dataOf(this)).s); }
unsigned char Number::unsignedCharValue() const {
  return static_cast<unsigned char>(wideOf(dataOf(this)).u);
}
short Number::shortValue() const { return static_cast<short>(wideOf(dataOf(this)).s); }
unsigned short Number::unsignedShortValue() const {
  return static_cast<unsigned short>(wideOf(dataOf(this)).u);
}
int Number::intValue() const { return static_cast<int>(wideOf(dataOf(this)).s); }
unsigned int Number::unsignedIntValue() const {
  return static_cast<unsigned int>(wideOf(dataOf(this)).u);
}
long Number::longValue() const { return wideOf(dataOf(this)).s; }
unsigned long Number::unsignedLongValue() const { return wideOf(dataOf(this)).u; }
long long Number::longLongValue() const { return wideOf(dataOf(this)).s; }
unsigned long long Number::unsignedLongLongValue() const { return wideOf(dataOf(this)).u; }
float Number::floatValue() const {
  const NumberData &data = dataOf(this);
  return data.type[0] == 'f' ? load<float>(data) : static_cast<float>(wideOf(data).d);
}
double Number::doubleValue() const { return wideOf(dataOf(this)).d; }
bool Number::boolValue() const { return wideOf(dataOf(this)).d != 0; }
Integer Number::integerValue() const { return wideOf(dataOf(this)).s; }
UInteger Number::unsignedIntegerValue() const { return wideOf(dataOf(this)).u; }
String *Number::stringValue() const { return makeDescription(); }
ComparisonResult Number::compare(const Number *pOtherNumber) const {
  return static_cast<ComparisonResult>(order(dataOf(this), dataOf(pOtherNumber)));
}
bool Number::isEqualToNumber(const Number *pNumber) const { return isEqual(pNumber); }
String *Number::descriptionWithLocale(const Object *) const { return makeDescription(); }

} // namespace NS

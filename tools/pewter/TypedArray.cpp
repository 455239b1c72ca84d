// SPDX-License-Identifier: Apache-2.0
// The .npy format: magic, version, header length, a Python dictionary literal, data (NumPy
// enhancement proposal 1). Tested by tests/tools/TypedArray_test.cpp.
#include "pewter/TypedArray.h"
#include "base/Half.h"
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <unistd.h>

namespace pewter::tools {
namespace {

struct TypeInfo {
  ElementType type;
  std::string_view name;
  uint32_t size;
  std::string_view descriptor; ///< NumPy's.
};
constexpr TypeInfo kTypes[] = {
    {ElementType::F32, "f32", 4, "<f4"}, {ElementType::F16, "f16", 2, "<f2"},
    {ElementType::BF16, "bf16", 2, "|V2"}, {ElementType::I8, "i8", 1, "|i1"},
    {ElementType::U8, "u8", 1, "|u1"},   {ElementType::I16, "i16", 2, "<i2"},
    {ElementType::U16, "u16", 2, "<u2"}, {ElementType::I32, "i32", 4, "<i4"},
    {ElementType::U32, "u32", 4, "<u4"}, {ElementType::I64, "i64", 8, "<i8"},
    {ElementType::U64, "u64", 8, "<u8"}, {ElementType::Bool, "bool", 1, "|b1"},
};

const TypeInfo &infoOf(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

/// Largest array that the command line makes or reads, so that a typing error is an error.
constexpr uint64_t kMaxBytes = uint64_t(1) << 40;

Result<uint64_t> byteCount(ElementType type, const std::vector<uint64_t> &shape) {
  uint64_t bytes = sizeOf(type);
  for (uint64_t extent : shape) {
    if (extent != 0 && bytes > kMaxBytes / extent)
      return fail(ErrorKind::Validation, "Array of {} elements by {} dimensions is over 1 TiB.",
                  nameOf(type), shape.size());
    bytes *= extent;
  }
  return bytes;
}

template <class T> T load(const TypedArray &array, uint64_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}
template <class T> void store(TypedArray &array, uint64_t index, T value) {
  std::memcpy(array.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

void storeFloat(TypedArray &array, uint64_t index, float value) {
  switch (array.type) {
  case ElementType::F32:
    return store(array, index, value);
  case ElementType::F16:
    return store(array, index, halfFromFloat(value));
  default:
    return store(array, index, bfloatFromFloat(value));
  }
}

bool isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F16 || type == ElementType::BF16;
}

void fillRandom(TypedArray &array, uint64_t seed) {
  // std distributions differ between libraries, so only the engine's raw bits are used.
  std::mt19937_64 engine(seed);
  uint64_t count = array.count();
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = engine();
    if (isFloat(array.type))
      storeFloat(array, i, float(double(bits >> 11) * 0x1p-52 - 1.0));
    else if (array.type == ElementType::Bool)
      array.bytes[i] = std::byte(bits & 1);
    else
      std::memcpy(array.bytes.data() + i * sizeOf(array.type), &bits, sizeOf(array.type));
  }
}

/// "f32[4,6656]" -> type and shape; a missing shape is one element.
Result<TypedArray> emptyFrom(std::string_view text, std::string_view spec) {
  size_t bracket = text.find('[');
  PEWTER_TRY(ElementType type, elementTypeNamed(text.substr(0, bracket)));
  TypedArray array{.type = type, .shape = {1}, .bytes = {}};
  if (bracket != std::string_view::npos) {
    if (!text.ends_with(']'))
      return fail(ErrorKind::Validation, "Array \"{}\" lacks the \"]\" that ends its shape.", spec);
    PEWTER_TRY(array.shape,
               numbersFrom(text.substr(bracket + 1, text.size() - bracket - 2), "array shape"));
  }
  PEWTER_TRY(uint64_t bytes, byteCount(type, array.shape));
  // Held here and in a buffer of the device.
  const auto memory = uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
  if (bytes > memory / 2)
    return fail(ErrorKind::OutOfMemory, "Array \"{}\" has {} bytes; this machine has memory for {}.", spec, bytes,
                memory / 2);
  array.bytes.resize(bytes);
  return array;
}

/// The text between `key':` and the end of its value in the header's dictionary.
Result<std::string_view> headerField(std::string_view header, std::string_view key,
                                     const std::string &path) {
  size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos)
    return fail(ErrorKind::Validation, "\"{}\": its .npy header has no \"{}\".", path, key);
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

template <class T> Result<T> numberFrom(std::string_view text, std::string_view what) {
  T value{};
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size())
    return fail(ErrorKind::Validation, "\"{}\" is not a value for {}.", text, what);
  return value;
}

template <class T> Result<void> storeNumber(TypedArray &array, uint64_t i, std::string_view text) {
  PEWTER_TRY(T value, numberFrom<T>(text, nameOf(array.type)));
  store(array, i, value);
  return {};
}

} // namespace

std::string_view nameOf(ElementType type) { return infoOf(type).name; }
uint32_t sizeOf(ElementType type) { return infoOf(type).size; }

Result<ElementType> elementTypeNamed(std::string_view name) {
  std::string known;
  for (const TypeInfo &info : kTypes) {
    if (info.name == name)
      return info.type;
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  return fail(ErrorKind::Validation, "Element type \"{}\" is not one of {}.", name, known);
}

uint64_t TypedArray::count() const { return bytes.size() / sizeOf(type); }

Result<std::vector<uint64_t>> numbersFrom(std::string_view text, std::string_view what) {
  std::vector<uint64_t> numbers;
  while (true) {
    size_t comma = text.find(',');
    PEWTER_TRY(uint64_t number, numberFrom<uint64_t>(text.substr(0, comma), what));
    numbers.push_back(number);
    if (comma == std::string_view::npos)
      return numbers;
    text.remove_prefix(comma + 1);
  }
}

Result<TypedArray> arrayFromSpec(std::string_view spec) {
  if (spec.starts_with("zeros:"))
    return emptyFrom(spec.substr(6), spec);
  if (spec.starts_with("random:")) {
    std::string_view rest = spec.substr(7);
    uint64_t seed = 0;
    if (size_t colon = rest.find(':'); colon != std::string_view::npos) {
      PEWTER_TRY(seed, numberFrom<uint64_t>(rest.substr(colon + 1), "the random seed"));
      rest = rest.substr(0, colon);
    }
    PEWTER_TRY(TypedArray array, emptyFrom(rest, spec));
    fillRandom(array, seed);
    return array;
  }
  if (spec.ends_with(".npy"))
    return readNpy(std::string(spec));
  return fail(ErrorKind::Validation,
              "Buffer \"{}\" is none of FILE.npy, zeros:TYPE[SHAPE], random:TYPE[SHAPE]:SEED.", spec);
}

Result<TypedArray> valueFromSpec(std::string_view spec) {
  size_t colon = spec.find(':');
  if (colon == std::string_view::npos)
    return fail(ErrorKind::Validation, "Value \"{}\" lacks its type; write TYPE:VALUE, as in u32:6.",
                spec);
  PEWTER_TRY(ElementType type, elementTypeNamed(spec.substr(0, colon)));
  std::vector<std::string_view> parts;
  for (std::string_view rest = spec.substr(colon + 1);;) {
    size_t comma = rest.find(',');
    parts.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  TypedArray array{.type = type, .shape = {parts.size()}, .bytes = {}};
  array.bytes.resize(parts.size() * sizeOf(type));
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string_view text = parts[i];
    switch (type) {
    case ElementType::F32:
    case ElementType::F16:
    case ElementType::BF16: {
      PEWTER_TRY(float value, numberFrom<float>(text, nameOf(type)));
      storeFloat(array, i, value);
      break;
    }
    case ElementType::Bool:
      if (text != "true" && text != "false" && text != "0" && text != "1")
        return fail(ErrorKind::Validation, "\"{}\" is not a value for bool.", text);
      array.bytes[i] = std::byte(text == "true" || text == "1");
      break;
    case ElementType::I8:
      PEWTER_TRY_VOID(storeNumber<int8_t>(array, i, text));
      break;
    case ElementType::U8:
      PEWTER_TRY_VOID(storeNumber<uint8_t>(array, i, text));
      break;
    case ElementType::I16:
      PEWTER_TRY_VOID(storeNumber<int16_t>(array, i, text));
      break;
    case ElementType::U16:
      PEWTER_TRY_VOID(storeNumber<uint16_t>(array, i, text));
      break;
    case ElementType::I32:
      PEWTER_TRY_VOID(storeNumber<int32_t>(array, i, text));
      break;
    case ElementType::U32:
      PEWTER_TRY_VOID(storeNumber<uint32_t>(array, i, text));
      break;
    case ElementType::I64:
      PEWTER_TRY_VOID(storeNumber<int64_t>(array, i, text));
      break;
    case ElementType::U64:
      PEWTER_TRY_VOID(storeNumber<uint64_t>(array, i, text));
      break;
    }
  }
  return array;
}

Result<TypedArray> readNpy(const std::string &path) {
  PEWTER_TRY(Bytes file, readFile(path));
  std::string_view text = textOf(file);
  if (!text.starts_with("\x93NUMPY") || text.size() < 10)
    return fail(ErrorKind::Validation, "\"{}\" is not a .npy file: its first bytes are not the magic.",
                path);
  uint8_t major = uint8_t(text[6]);
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (major < 1 || major > 3 || text.size() < 8 + lengthBytes)
    return fail(ErrorKind::Validation, "\"{}\": .npy version ({}) is not 1, 2 or 3.", path, major);
  size_t headerLength = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    headerLength |= size_t(uint8_t(text[8 + i])) << (8 * i);
  size_t dataStart = 8 + lengthBytes + headerLength;
  if (dataStart > text.size())
    return fail(ErrorKind::Validation, "\"{}\": header length ({}) is past the end of the file.", path,
                headerLength);
  std::string_view header = text.substr(8 + lengthBytes, headerLength);

  PEWTER_TRY(std::string_view descriptor, headerField(header, "descr", path));
  PEWTER_TRY(std::string_view order, headerField(header, "fortran_order", path));
  PEWTER_TRY(std::string_view shape, headerField(header, "shape", path));
  if (!order.starts_with("False"))
    return fail(ErrorKind::Validation, "\"{}\" is in Fortran order; only C order is read.", path);
  if (descriptor.size() < 2 || descriptor[0] != '\'')
    return fail(ErrorKind::Validation, "\"{}\": structured element types are not read.", path);
  descriptor = descriptor.substr(1, descriptor.find('\'', 1) - 1);

  TypedArray array;
  bool known = false;
  for (const TypeInfo &info : kTypes) {
    if (info.descriptor == descriptor) {
      array.type = info.type;
      known = true;
    }
  }
  if (!known)
    return fail(ErrorKind::Validation, "\"{}\": element type \"{}\" is not read.", path, descriptor);
  size_t close = shape.find(')');
  if (!shape.starts_with('(') || close == std::string_view::npos)
    return fail(ErrorKind::Validation, "\"{}\": its shape is not a tuple.", path);
  std::string digits;
  for (char c : shape.substr(1, close - 1))
    if (c != ' ')
      digits += c;
  if (digits.ends_with(','))
    digits.pop_back();
  if (!digits.empty()) {
    PEWTER_TRY(array.shape, numbersFrom(digits, "the shape in the .npy header"));
  }
  PEWTER_TRY(uint64_t bytes, byteCount(array.type, array.shape));
  if (text.size() - dataStart != bytes)
    return fail(ErrorKind::Validation, "\"{}\" holds {} bytes of data; its shape needs {}.", path,
                text.size() - dataStart, bytes);
  array.bytes.assign(file.begin() + ptrdiff_t(dataStart), file.end());
  return array;
}

Result<void> writeNpy(const std::string &path, const TypedArray &array) {
  std::string shape;
  for (uint64_t extent : array.shape)
    shape += fmt::format("{}, ", extent);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   infoOf(array.type).descriptor, shape);
  // The data starts at a multiple of 64; the header ends with a newline.
  size_t total = 10 + header.size() + 1;
  header.append((64 - total % 64) % 64, ' ');
  header += '\n';
  std::string head = "\x93NUMPY";
  head += '\x01';
  head += '\0';
  head += char(header.size() & 0xff);
  head += char(header.size() >> 8);
  head += header;
  Bytes file(head.size() + array.bytes.size());
  std::memcpy(file.data(), head.data(), head.size());
  if (!array.bytes.empty())
    std::memcpy(file.data() + head.size(), array.bytes.data(), array.bytes.size());
  return writeFileAtomically(path, file);
}

std::string elementText(const TypedArray &array, uint64_t index) {
  switch (array.type) {
  case ElementType::F32:
    return fmt::format("{}", load<float>(array, index));
  case ElementType::F16:
    return fmt::format("{}", floatFromHalf(load<uint16_t>(array, index)));
  case ElementType::BF16:
    return fmt::format("{}", floatFromBfloat(load<uint16_t>(array, index)));
  case ElementType::I8:
    return fmt::format("{}", int(load<int8_t>(array, index)));
  case ElementType::U8:
    return fmt::format("{}", unsigned(load<uint8_t>(array, index)));
  case ElementType::I16:
    return fmt::format("{}", load<int16_t>(array, index));
  case ElementType::U16:
    return fmt::format("{}", load<uint16_t>(array, index));
  case ElementType::I32:
    return fmt::format("{}", load<int32_t>(array, index));
  case ElementType::U32:
    return fmt::format("{}", load<uint32_t>(array, index));
  case ElementType::I64:
    return fmt::format("{}", load<int64_t>(array, index));
  case ElementType::U64:
    return fmt::format("{}", load<uint64_t>(array, index));
  case ElementType::Bool:
    return load<uint8_t>(array, index) ? "true" : "false";
  }
  return "?";
}

} // namespace pewter::tools

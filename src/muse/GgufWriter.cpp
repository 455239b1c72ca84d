// SPDX-License-Identifier: Apache-2.0
// Tested by GgufFile_test.cpp (what it writes is read back) and Quantize_test.cpp.
#include "muse/GgufWriter.h"
#include "base/Check.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace pewter::muse {
namespace {

constexpr uint64_t kAlignment = 32;

template <class T> void put(Bytes &out, T value) {
  auto view = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), view.begin(), view.end());
}
void putString(Bytes &out, std::string_view text) {
  put(out, uint64_t(text.size()));
  ByteView view = viewOf(text);
  out.insert(out.end(), view.begin(), view.end());
}

/// One number in the width that its type has in a file.
template <class T> void putNumber(Bytes &out, GgufValueType type, T value) {
  switch (type) {
  case GgufValueType::U8: return put(out, static_cast<uint8_t>(value));
  case GgufValueType::I8: return put(out, static_cast<int8_t>(value));
  case GgufValueType::U16: return put(out, static_cast<uint16_t>(value));
  case GgufValueType::I16: return put(out, static_cast<int16_t>(value));
  case GgufValueType::U32: return put(out, static_cast<uint32_t>(value));
  case GgufValueType::I32: return put(out, static_cast<int32_t>(value));
  case GgufValueType::U64: return put(out, static_cast<uint64_t>(value));
  case GgufValueType::I64: return put(out, static_cast<int64_t>(value));
  case GgufValueType::F32: return put(out, static_cast<float>(value));
  case GgufValueType::F64: return put(out, static_cast<double>(value));
  case GgufValueType::Bool: return put(out, static_cast<uint8_t>(value != 0));
  case GgufValueType::String:
  case GgufValueType::Array: break;
  }
  PEWTER_UNREACHABLE();
}

void putArray(Bytes &out, const GgufArray &array) {
  put(out, static_cast<uint32_t>(array.elementType));
  put(out, uint64_t(array.size()));
  std::visit(
      [&](const auto &elements) {
        using T = typename std::decay_t<decltype(elements)>::value_type;
        for (const T &element : elements)
          if constexpr (std::is_same_v<T, std::string_view>)
            putString(out, element);
          else if constexpr (std::is_same_v<T, GgufArray>)
            putArray(out, element);
          else
            putNumber(out, array.elementType, element);
      },
      array.elements);
}

void padTo(Bytes &out, uint64_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

} // namespace

void GgufWriter::addU32(std::string_view key, uint32_t value) {
  addValue(key, {GgufValueType::U32, uint64_t(value)});
}
void GgufWriter::addF32(std::string_view key, float value) {
  addValue(key, {GgufValueType::F32, double(value)});
}
void GgufWriter::addBool(std::string_view key, bool value) {
  addValue(key, {GgufValueType::Bool, value});
}
void GgufWriter::addString(std::string_view key, std::string_view value) {
  addValue(key, {GgufValueType::String, value});
}
void GgufWriter::addStrings(std::string_view key, std::span<const std::string> values) {
  auto array = std::make_shared<GgufArray>();
  array->elementType = GgufValueType::String;
  array->elements = std::vector<std::string_view>(values.begin(), values.end());
  addValue(key, {GgufValueType::Array, std::move(array)});
}
void GgufWriter::addIntegers(std::string_view key, GgufValueType elementType,
                             std::span<const int64_t> values) {
  auto array = std::make_shared<GgufArray>();
  array->elementType = elementType;
  array->elements = std::vector<int64_t>(values.begin(), values.end());
  addValue(key, {GgufValueType::Array, std::move(array)});
}

void GgufWriter::addValue(std::string_view key, const GgufValue &value) {
  putString(metadata_, key);
  put(metadata_, static_cast<uint32_t>(value.type));
  std::visit(
      [&](const auto &held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string_view>)
          putString(metadata_, held);
        else if constexpr (std::is_same_v<T, std::shared_ptr<GgufArray>>)
          putArray(metadata_, *held);
        else
          putNumber(metadata_, value.type, held);
      },
      value.value);
  ++metadataCount_;
}

void GgufWriter::addTensor(std::string name, TensorType type, std::vector<uint64_t> dims,
                           std::function<Result<Bytes>()> bytesOf) {
  uint64_t bytes = rowBytes(formatOf(type), dims.empty() ? 0 : dims[0]).value_or(0);
  for (size_t i = 1; i < dims.size(); ++i)
    bytes *= dims[i];
  tensors_.push_back({std::move(name), type, std::move(dims), bytes, std::move(bytesOf)});
}
void GgufWriter::addTensor(std::string name, TensorType type, std::vector<uint64_t> dims, Bytes bytes) {
  addTensor(std::move(name), type, std::move(dims),
            [bytes = std::move(bytes)]() -> Result<Bytes> { return bytes; });
}

Bytes GgufWriter::header() const {
  Bytes out;
  put(out, uint32_t(0x46554747));
  put(out, uint32_t(3));
  put(out, uint64_t(tensors_.size()));
  put(out, metadataCount_);
  out.insert(out.end(), metadata_.begin(), metadata_.end());
  uint64_t offset = 0;
  for (const Tensor &tensor : tensors_) {
    putString(out, tensor.name);
    put(out, static_cast<uint32_t>(tensor.dims.size()));
    for (uint64_t dim : tensor.dims)
      put(out, dim);
    put(out, static_cast<uint32_t>(tensor.type));
    put(out, offset);
    offset += (tensor.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  padTo(out, kAlignment);
  return out;
}

Result<void> GgufWriter::writeTo(const std::function<Result<void>(ByteView)> &sink) const {
  PEWTER_TRY_VOID(sink(header()));
  for (const Tensor &tensor : tensors_) {
    PEWTER_TRY(Bytes bytes, tensor.bytesOf());
    if (bytes.size() != tensor.bytes)
      return fail(ErrorKind::Internal, "Tensor \"{}\" was to have {} bytes and has [{}].", tensor.name,
                  tensor.bytes, bytes.size());
    padTo(bytes, kAlignment);
    PEWTER_TRY_VOID(sink(bytes));
  }
  return {};
}

Result<Bytes> GgufWriter::toBytes() const {
  Bytes out;
  PEWTER_TRY_VOID(writeTo([&](ByteView part) -> Result<void> {
    out.insert(out.end(), part.begin(), part.end());
    return {};
  }));
  return out;
}

Result<void> GgufWriter::write(const std::filesystem::path &path) const {
  std::error_code code;
  const auto behindLinks = std::filesystem::canonical(path, code);
  const std::filesystem::path &target = code ? path : behindLinks;
  if (!code && !std::filesystem::is_regular_file(target))
    return fail(ErrorKind::Io, "\"{}\" is not a regular file.", path.string());
  std::string temporary = target.string() + ".XXXXXX";
  int descriptor = ::mkstemp(temporary.data());
  std::FILE *file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
  if (!file)
    return fail(ErrorKind::Io, "Cannot create a file beside \"{}\": {}.", path.string(),
                std::strerror(errno));
  auto result = writeTo([&](ByteView part) -> Result<void> {
    if (std::fwrite(part.data(), 1, part.size(), file) != part.size())
      return fail(ErrorKind::Io, "Cannot write \"{}\": {}.", path.string(), std::strerror(errno));
    return {};
  });
  ::fchmod(descriptor, 0644);
  bool closed = std::fclose(file) == 0;
  if (result && (!closed || ::rename(temporary.c_str(), target.c_str()) != 0))
    result = fail(ErrorKind::Io, "Cannot write \"{}\": {}.", path.string(), std::strerror(errno));
  if (!result)
    ::unlink(temporary.c_str());
  return result;
}

} // namespace pewter::muse

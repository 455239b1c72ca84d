// SPDX-License-Identifier: Apache-2.0
//
// The reader walks the header once with a cursor that refuses to leave the bytes. Counts are
// bounded twice: by a fixed limit, and by what the remaining bytes could hold, so that a hostile
// count never allocates. Nothing is trusted for having come first: offsets, sizes and overlaps are
// checked when the whole table is known.
//
// Tested by GgufFile_test.cpp, GgufFile_fuzz.cpp and tests/engine/DamagedGguf.cpp.
#include "muse/GgufFile.h"
#include <algorithm>
#include <cstring>

namespace pewter::muse {
namespace {

constexpr uint64_t kMaxMetadata = 100'000, kMaxTensors = 1'000'000, kMaxArray = 1'000'000;
constexpr uint32_t kMaxNesting = 32, kMaxRank = 4;
constexpr uint64_t kMaxKeyLength = 65'535, kMaxNameLength = 1'024;
constexpr uint64_t kMinMetadataBytes = 12, kMinTensorBytes = 24;

constexpr std::string_view kTypeNames[] = {"u8",     "i8",    "u16", "i16", "u32", "i32", "f32",
                                           "bool",   "string", "array", "u64", "i64", "f64"};
constexpr uint32_t kScalarBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

/// Text from a file, cut and cleaned for a message.
std::string shown(std::string_view text) {
  std::string out;
  for (unsigned char c : text.substr(0, 64))
    out += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
  if (text.size() > 64)
    out += "...";
  return out;
}

/// Reads forward and never past the end. `what` names the thing being read.
class Cursor {
public:
  Cursor(ByteView bytes, const std::string &label) : bytes_(bytes), label_(label) {}
  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string &label() const { return label_; }

  template <class T> Result<T> read(std::string_view what) {
    if (remaining() < sizeof(T))
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\" ends at byte {} inside {}, which needs {} bytes at offset {}.",
                  label_, bytes_.size(), what, sizeof(T), offset_);
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  Result<std::string_view> readString(std::string_view what, uint64_t limit) {
    uint64_t at = offset_;
    PEWTER_TRY(uint64_t length, read<uint64_t>(what));
    if (length > remaining())
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": {} at offset {} has a length of [{}] bytes, but only {} remain.",
                  label_, what, at, length, remaining());
    if (length > limit)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": {} at offset {} has a length of [{}] bytes; the limit is {}.",
                  label_, what, at, length, limit);
    std::string_view text = textOf(bytes_.subspan(offset_, length));
    offset_ += length;
    return text;
  }

private:
  ByteView bytes_;
  const std::string &label_;
  uint64_t offset_ = 0;
};

Result<GgufValueType> readType(Cursor &in, std::string_view key) {
  PEWTER_TRY(uint32_t tag, in.read<uint32_t>("the type of a metadata value"));
  if (tag > 12)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": metadata key \"{}\" has the unknown value type [{}]; types are 0 to 12.",
                in.label(), shown(key), tag);
  return static_cast<GgufValueType>(tag);
}

bool isUnsigned(GgufValueType t) {
  return t == GgufValueType::U8 || t == GgufValueType::U16 || t == GgufValueType::U32 ||
         t == GgufValueType::U64;
}
bool isSigned(GgufValueType t) {
  return t == GgufValueType::I8 || t == GgufValueType::I16 || t == GgufValueType::I32 ||
         t == GgufValueType::I64;
}

template <class Wide> Result<Wide> readNumber(Cursor &in, GgufValueType type) {
  auto as = [&]<class T>(T) -> Result<Wide> {
    PEWTER_TRY(T value, in.read<T>("a metadata value"));
    return static_cast<Wide>(value);
  };
  switch (type) {
  case GgufValueType::U8: return as(uint8_t{});
  case GgufValueType::I8: return as(int8_t{});
  case GgufValueType::U16: return as(uint16_t{});
  case GgufValueType::I16: return as(int16_t{});
  case GgufValueType::U32: return as(uint32_t{});
  case GgufValueType::I32: return as(int32_t{});
  case GgufValueType::U64: return as(uint64_t{});
  case GgufValueType::I64: return as(int64_t{});
  case GgufValueType::F32: return as(float{});
  case GgufValueType::F64: return as(double{});
  default: break;
  }
  return fail(ErrorKind::Internal, "A metadata value is not a number.");
}

Result<bool> readBool(Cursor &in, std::string_view key) {
  PEWTER_TRY(uint8_t value, in.read<uint8_t>("a boolean metadata value"));
  if (value > 1)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": metadata key \"{}\" holds a boolean of [{}]; 0 or 1 is expected.",
                in.label(), shown(key), value);
  return value == 1;
}

Result<GgufArray> readArray(Cursor &in, std::string_view key, uint32_t depth) {
  if (depth > kMaxNesting)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": metadata key \"{}\" nests arrays deeper than the limit of {}.",
                in.label(), shown(key), kMaxNesting);
  GgufArray array;
  PEWTER_TRY(array.elementType, readType(in, key));
  PEWTER_TRY(uint64_t count, in.read<uint64_t>("the length of an array"));
  uint32_t least = kScalarBytes[static_cast<uint32_t>(array.elementType)];
  if (count > kMaxArray || count > in.remaining() / least)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": metadata key \"{}\" is an array of [{}] elements of type {}; the "
                "limit is {} and {} bytes remain.",
                in.label(), shown(key), count, nameOf(array.elementType), kMaxArray, in.remaining());
  auto fill = [&]<class T>(T, auto &&readOne) -> Result<void> {
    std::vector<T> values;
    values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      PEWTER_TRY(T value, readOne());
      values.push_back(std::move(value));
    }
    array.elements = std::move(values);
    return {};
  };
  GgufValueType type = array.elementType;
  if (type == GgufValueType::String)
    PEWTER_TRY_VOID(fill(std::string_view{}, [&] {
      return in.readString(key.size() <= 64 ? key : std::string_view("an array"), in.remaining());
    }));
  else if (type == GgufValueType::Array)
    PEWTER_TRY_VOID(fill(GgufArray{}, [&] { return readArray(in, key, depth + 1); }));
  else if (type == GgufValueType::Bool)
    PEWTER_TRY_VOID(fill(uint64_t{}, [&]() -> Result<uint64_t> {
      PEWTER_TRY(bool value, readBool(in, key));
      return uint64_t(value);
    }));
  else if (isUnsigned(type))
    PEWTER_TRY_VOID(fill(uint64_t{}, [&] { return readNumber<uint64_t>(in, type); }));
  else if (isSigned(type))
    PEWTER_TRY_VOID(fill(int64_t{}, [&] { return readNumber<int64_t>(in, type); }));
  else
    PEWTER_TRY_VOID(fill(double{}, [&] { return readNumber<double>(in, type); }));
  return array;
}

Result<GgufValue> readValue(Cursor &in, std::string_view key) {
  GgufValue value;
  PEWTER_TRY(value.type, readType(in, key));
  if (value.type == GgufValueType::String) {
    PEWTER_TRY(value.value, in.readString("a string metadata value", in.remaining()));
  } else if (value.type == GgufValueType::Array) {
    PEWTER_TRY(GgufArray array, readArray(in, key, 1));
    value.value = std::make_shared<GgufArray>(std::move(array));
  } else if (value.type == GgufValueType::Bool) {
    PEWTER_TRY(value.value, readBool(in, key));
  } else if (isUnsigned(value.type)) {
    PEWTER_TRY(value.value, readNumber<uint64_t>(in, value.type));
  } else if (isSigned(value.type)) {
    PEWTER_TRY(value.value, readNumber<int64_t>(in, value.type));
  } else {
    PEWTER_TRY(value.value, readNumber<double>(in, value.type));
  }
  return value;
}

Result<GgufTensor> readTensor(Cursor &in) {
  GgufTensor tensor;
  PEWTER_TRY(tensor.name, in.readString("the name of a tensor", kMaxNameLength));
  PEWTER_TRY(tensor.rank, in.read<uint32_t>("the rank of a tensor"));
  if (tensor.name.empty())
    return fail(ErrorKind::Validation, "GGUF file \"{}\": a tensor before offset {} has no name.",
                in.label(), in.offset());
  if (tensor.rank == 0 || tensor.rank > kMaxRank)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": tensor \"{}\" has [{}] dimensions; 1 to {} are expected.", in.label(),
                shown(tensor.name), tensor.rank, kMaxRank);
  uint64_t elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    PEWTER_TRY(tensor.dims[i], in.read<uint64_t>("a dimension of a tensor"));
    if (tensor.dims[i] == 0)
      return fail(ErrorKind::Validation, "GGUF file \"{}\": dimension {} of tensor \"{}\" is [0].",
                  in.label(), i, shown(tensor.name));
    if (__builtin_mul_overflow(elements, tensor.dims[i], &elements))
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": the number of elements of tensor \"{}\" {} overflows 64 bits.",
                  in.label(), shown(tensor.name), tensor.shape());
  }
  PEWTER_TRY(uint32_t type, in.read<uint32_t>("the type of a tensor"));
  tensor.format = findTensorFormat(type);
  if (!tensor.format)
    return fail(ErrorKind::Validation, "GGUF file \"{}\": tensor \"{}\" has the unknown type [{}].",
                in.label(), shown(tensor.name), type);
  auto row = rowBytes(*tensor.format, tensor.dims[0]);
  if (!row)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": rows of tensor \"{}\" have [{}] elements, which is not a multiple of "
                "the {} elements of a {} block.",
                in.label(), shown(tensor.name), tensor.dims[0], tensor.format->blockElements,
                tensor.format->name);
  if (__builtin_mul_overflow(*row, elements / tensor.dims[0], &tensor.bytes))
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": the size in bytes of tensor \"{}\" {} overflows 64 bits.", in.label(),
                shown(tensor.name), tensor.shape());
  PEWTER_TRY(tensor.offset, in.read<uint64_t>("the offset of a tensor"));
  return tensor;
}

} // namespace

std::string_view nameOf(GgufValueType type) { return kTypeNames[static_cast<uint32_t>(type)]; }

std::optional<uint32_t> GgufValue::asU32() const {
  if (type != GgufValueType::U32 && type != GgufValueType::U64)
    return std::nullopt;
  const uint64_t number = std::get<uint64_t>(value);
  return number <= UINT32_MAX ? std::optional(static_cast<uint32_t>(number)) : std::nullopt;
}
std::optional<float> GgufValue::asF32() const {
  if (type != GgufValueType::F32)
    return std::nullopt;
  return static_cast<float>(std::get<double>(value));
}
std::optional<bool> GgufValue::asBool() const {
  if (type != GgufValueType::Bool)
    return std::nullopt;
  return std::get<bool>(value);
}
std::optional<std::string_view> GgufValue::asString() const {
  if (type != GgufValueType::String)
    return std::nullopt;
  return std::get<std::string_view>(value);
}
const GgufArray *GgufValue::asArray() const {
  return type == GgufValueType::Array ? std::get<std::shared_ptr<GgufArray>>(value).get() : nullptr;
}

size_t GgufArray::size() const {
  return std::visit([](const auto &values) { return values.size(); }, elements);
}
std::optional<std::vector<int64_t>> GgufArray::asIntegers() const {
  if (const auto *values = std::get_if<std::vector<int64_t>>(&elements))
    return *values;
  if (const auto *values = std::get_if<std::vector<uint64_t>>(&elements))
    return std::vector<int64_t>(values->begin(), values->end());
  return std::nullopt;
}
const std::vector<std::string_view> *GgufArray::asStrings() const {
  return std::get_if<std::vector<std::string_view>>(&elements);
}

std::string GgufTensor::shape() const {
  std::string text = "[";
  for (uint32_t i = 0; i < rank; ++i)
    text += fmt::format("{}{}", i ? ", " : "", dims[i]);
  return text + "]";
}

Result<GgufFile> GgufFile::parse(ByteView bytes, std::string label) {
  GgufFile file;
  file.bytes_ = bytes;
  file.label_ = std::move(label);
  Cursor in(bytes, file.label_);

  PEWTER_TRY(uint32_t magic, in.read<uint32_t>("the magic number"));
  if (magic != 0x46554747)
    return fail(ErrorKind::Validation,
                "File \"{}\" begins with the bytes [{:02x} {:02x} {:02x} {:02x}]; a GGUF file begins "
                "with \"GGUF\".",
                file.label_, magic & 255, magic >> 8 & 255, magic >> 16 & 255, magic >> 24);
  PEWTER_TRY(file.version_, in.read<uint32_t>("the version"));
  if (file.version_ != 2 && file.version_ != 3)
    return fail(ErrorKind::Validation, "GGUF file \"{}\" has version [{}]; 2 and 3 are supported{}.",
                file.label_, file.version_,
                (file.version_ & 0xffff) == 0 ? " (the file may be big-endian)" : "");
  PEWTER_TRY(uint64_t tensorCount, in.read<uint64_t>("the number of tensors"));
  PEWTER_TRY(uint64_t metadataCount, in.read<uint64_t>("the number of metadata entries"));
  if (metadataCount > kMaxMetadata || metadataCount > in.remaining() / kMinMetadataBytes)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\" announces [{}] metadata entries; the limit is {} and {} bytes remain.",
                file.label_, metadataCount, kMaxMetadata, in.remaining());
  if (tensorCount > kMaxTensors || tensorCount > in.remaining() / kMinTensorBytes)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\" announces [{}] tensors; the limit is {} and {} bytes remain.",
                file.label_, tensorCount, kMaxTensors, in.remaining());

  file.metadata_.reserve(metadataCount);
  for (uint64_t i = 0; i < metadataCount; ++i) {
    PEWTER_TRY(std::string_view key, in.readString("a metadata key", kMaxKeyLength));
    if (key.empty())
      return fail(ErrorKind::Validation, "GGUF file \"{}\": metadata entry {} has an empty key.",
                  file.label_, i);
    PEWTER_TRY(GgufValue value, readValue(in, key));
    if (!file.keyIndex_.emplace(key, file.metadata_.size()).second)
      return fail(ErrorKind::Validation, "GGUF file \"{}\" holds the metadata key \"{}\" twice.",
                  file.label_, shown(key));
    file.metadata_.emplace_back(key, std::move(value));
  }

  file.tensors_.reserve(tensorCount);
  for (uint64_t i = 0; i < tensorCount; ++i) {
    PEWTER_TRY(GgufTensor tensor, readTensor(in));
    if (!file.tensorIndex_.emplace(tensor.name, file.tensors_.size()).second)
      return fail(ErrorKind::Validation, "GGUF file \"{}\" holds the tensor \"{}\" twice.", file.label_,
                  shown(tensor.name));
    file.tensors_.push_back(tensor);
  }

  if (const GgufValue *alignment = file.find("general.alignment")) {
    if (alignment->type != GgufValueType::U32)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": \"general.alignment\" has the type {}; u32 is expected.",
                  file.label_, nameOf(alignment->type));
    file.alignment_ = *alignment->asU32();
    if (file.alignment_ == 0 || (file.alignment_ & (file.alignment_ - 1)))
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": \"general.alignment\" is [{}]; a power of two is expected.",
                  file.label_, file.alignment_);
  }
  file.dataOffset_ = (in.offset() + file.alignment_ - 1) / file.alignment_ * file.alignment_;
  for (GgufTensor &tensor : file.tensors_) {
    if (tensor.offset % file.alignment_)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": tensor \"{}\" begins at offset [{}], which is not a multiple of the "
                  "alignment {}.",
                  file.label_, shown(tensor.name), tensor.offset, file.alignment_);
    uint64_t relative = tensor.offset, end = 0;
    if (__builtin_add_overflow(file.dataOffset_, relative, &tensor.offset) ||
        __builtin_add_overflow(tensor.offset, tensor.bytes, &end) || end > bytes.size())
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": tensor \"{}\" {} {} of {} bytes at data offset [{}] ends past the end "
                  "of the file ({} bytes).",
                  file.label_, shown(tensor.name), tensor.format->name, tensor.shape(), tensor.bytes,
                  relative, bytes.size());
  }
  PEWTER_TRY_VOID(file.checkExtents());
  return file;
}

Result<void> GgufFile::checkExtents() const {
  std::vector<const GgufTensor *> byOffset;
  byOffset.reserve(tensors_.size());
  for (const GgufTensor &tensor : tensors_)
    byOffset.push_back(&tensor);
  std::ranges::sort(byOffset, {}, &GgufTensor::offset);
  for (size_t i = 1; i < byOffset.size(); ++i) {
    const GgufTensor &before = *byOffset[i - 1], &after = *byOffset[i];
    if (before.offset + before.bytes > after.offset)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": tensors \"{}\" (bytes {} to {}) and \"{}\" (from byte [{}]) overlap.",
                  label_, shown(before.name), before.offset, before.offset + before.bytes,
                  shown(after.name), after.offset);
  }
  return {};
}

const GgufValue *GgufFile::find(std::string_view key) const {
  auto found = keyIndex_.find(key);
  return found == keyIndex_.end() ? nullptr : &metadata_[found->second].second;
}

const GgufTensor *GgufFile::findTensor(std::string_view name) const {
  auto found = tensorIndex_.find(name);
  return found == tensorIndex_.end() ? nullptr : &tensors_[found->second];
}

} // namespace pewter::muse

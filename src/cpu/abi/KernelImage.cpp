// SPDX-License-Identifier: Apache-2.0
//
// The image as bytes: a header of kHeaderSize bytes, the encoded reflection, zeros up to a multiple
// of 64, the code. The checksum covers everything after itself; what stands before it (magic, ABI
// version, the checksum) cannot change without a failed comparison either. The layout is the only
// one that encode makes: parse accepts no gaps, no trailing bytes, no set padding.
//
// Tested by KernelImage_test.cpp.
#include "cpu/abi/KernelImage.h"
#include "base/Check.h"
#include "cpu/abi/KernelAbi.h"
#include <cstring>

namespace pewter::cpu {
namespace {

constexpr uint32_t kMagic = 0x494b5750; // "PWKI"
constexpr size_t kChecksumEnd = 24;     // magic, ABI version, checksum
constexpr size_t kHeaderSize = 128;
constexpr uint32_t kLastTarget = 5; // compiler::TargetKind::CpuOracle
constexpr uint32_t kOracleTarget = 5;
constexpr uint32_t kExactShape = 2; // compiler::ThreadgroupShape::Kind::Exact
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxStackBytes = 64u << 20;
constexpr size_t kCodeStart = 64; // The code section starts at a multiple of this in the file.

size_t roundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

class Writer {
public:
  explicit Writer(Bytes &out) : out_(out) {}
  template <class T> void put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      out_.push_back(std::byte(uint8_t(uint64_t(value) >> (8 * i))));
  }

private:
  Bytes &out_;
};

class Reader {
public:
  explicit Reader(ByteView in) : in_(in) {}
  template <class T> T get() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      value |= uint64_t(in_[at_ + i]) << (8 * i);
    at_ += sizeof(T);
    return T(value);
  }
  size_t at() const { return at_; }

private:
  ByteView in_;
  size_t at_ = 0;
};

bool allZero(ByteView bytes) {
  for (std::byte b : bytes)
    if (b != std::byte(0))
      return false;
  return true;
}

Result<void> checkFields(const KernelImage &image, uint32_t flags, uint64_t codeSize) {
  if (image.target > kLastTarget)
    return fail(ErrorKind::Validation,
                "The kernel image names target [{}]; the last CPU target is {}.", image.target,
                kLastTarget);
  bool isOracle = image.target == kOracleTarget;
  bool lanesAreRight = isOracle ? image.lanesPerCall == 1
                                : image.lanesPerCall != 0 && image.lanesPerCall <= kMaxThreads &&
                                      image.lanesPerCall % air::kSimdWidth == 0;
  if (!lanesAreRight)
    return fail(ErrorKind::Validation,
                "The kernel image runs [{}] lanes per call; expected {} for target {}.",
                image.lanesPerCall, isOracle ? "1" : "a multiple of 32 up to 1024", image.target);
  if (image.shapeKind > kExactShape)
    return fail(ErrorKind::Validation,
                "The kernel image has threadgroup shape kind [{}]; the last is {}.",
                image.shapeKind, kExactShape);
  if (image.shapeKind == kExactShape) {
    uint64_t threads = 1;
    for (uint32_t side : image.shapeSize)
      threads = side == 0 || side > kMaxThreads ? 0 : threads * side;
    if (threads == 0 || threads > kMaxThreads)
      return fail(
          ErrorKind::Validation,
          "The kernel image is made for threadgroups of [{} x {} x {}] threads; expected 1 to {}.",
          image.shapeSize[0], image.shapeSize[1], image.shapeSize[2], kMaxThreads);
  }
  if (flags > 1)
    return fail(ErrorKind::Validation, "The kernel image has unknown flags [{:#x}].", flags);
  if (image.stackBytes > kMaxStackBytes)
    return fail(ErrorKind::Validation,
                "The kernel image asks for [{}] bytes of stack; the limit is {}.", image.stackBytes,
                kMaxStackBytes);
  uint32_t alignment = image.codeAlignment;
  if (alignment < 64 || alignment > 4096 || (alignment & (alignment - 1)) != 0)
    return fail(
        ErrorKind::Validation,
        "The kernel image asks for code aligned to [{}] bytes; expected a power of two from "
        "64 to 4096.",
        alignment);
  if (image.rangeEntry == KernelImage::kNoEntry && image.simdgroupEntry == KernelImage::kNoEntry)
    return fail(ErrorKind::Validation, "The kernel image has no entry point.");
  for (uint64_t entry : {image.rangeEntry, image.simdgroupEntry})
    if (entry != KernelImage::kNoEntry && entry >= codeSize)
      return fail(ErrorKind::Validation,
                  "The kernel image has an entry at [{}], past the end of its code ({} bytes).",
                  entry, codeSize);
  return {};
}

} // namespace

Bytes encode(const KernelImage &image) {
  Bytes reflection = encode(image.reflection);
  size_t codeOffset = roundUp(kHeaderSize + reflection.size(), kCodeStart);
  size_t fileSize = codeOffset + image.code.size();

  Bytes out;
  out.reserve(fileSize);
  Writer writer(out);
  writer.put(kMagic);
  writer.put(kAbiVersion);
  writer.put(uint64_t(0)); // checksum, filled in below
  writer.put(uint64_t(0));
  writer.put(image.target);
  writer.put(image.lanesPerCall);
  writer.put(image.shapeKind);
  for (uint32_t side : image.shapeSize)
    writer.put(side);
  writer.put(uint32_t(image.prefersExactShape));
  writer.put(image.stackBytes);
  writer.put(image.codeAlignment);
  writer.put(uint32_t(0));
  writer.put(image.rangeEntry);
  writer.put(image.simdgroupEntry);
  writer.put(uint64_t(reflection.size()));
  writer.put(uint64_t(codeOffset));
  writer.put(uint64_t(image.code.size()));
  writer.put(uint64_t(fileSize));
  out.resize(kHeaderSize);
  out.insert(out.end(), reflection.begin(), reflection.end());
  out.resize(codeOffset);
  out.insert(out.end(), image.code.begin(), image.code.end());

  Hash128 hash = hashOf(ByteView(out).subspan(kChecksumEnd));
  for (size_t i = 0; i < 8; ++i) {
    out[8 + i] = std::byte(uint8_t(hash.low >> (8 * i)));
    out[16 + i] = std::byte(uint8_t(hash.high >> (8 * i)));
  }
  return out;
}

Result<KernelImage> parseKernelImage(ByteView bytes) {
  if (bytes.size() < kHeaderSize)
    return fail(ErrorKind::Validation, "The kernel image has [{}] bytes; its header alone has {}.",
                bytes.size(), kHeaderSize);
  Reader reader(bytes);
  if (uint32_t magic = reader.get<uint32_t>(); magic != kMagic)
    return fail(ErrorKind::Validation,
                "The bytes are not a kernel image: they start with [{:#010x}].", magic);
  if (uint32_t version = reader.get<uint32_t>(); version != kAbiVersion)
    return fail(ErrorKind::Validation,
                "The kernel image is of ABI version [{}]; this build runs {}.", version,
                kAbiVersion);
  Hash128 stored;
  stored.low = reader.get<uint64_t>();
  stored.high = reader.get<uint64_t>();
  if (stored != hashOf(bytes.subspan(kChecksumEnd)))
    return fail(ErrorKind::Validation, "The kernel image is damaged: its checksum does not match.");

  KernelImage image;
  image.target = reader.get<uint32_t>();
  image.lanesPerCall = reader.get<uint32_t>();
  image.shapeKind = reader.get<uint32_t>();
  for (uint32_t &side : image.shapeSize)
    side = reader.get<uint32_t>();
  uint32_t flags = reader.get<uint32_t>();
  image.prefersExactShape = (flags & 1) != 0;
  image.stackBytes = reader.get<uint32_t>();
  image.codeAlignment = reader.get<uint32_t>();
  uint32_t reserved = reader.get<uint32_t>();
  image.rangeEntry = reader.get<uint64_t>();
  image.simdgroupEntry = reader.get<uint64_t>();
  auto reflectionSize = reader.get<uint64_t>();
  auto codeOffset = reader.get<uint64_t>();
  auto codeSize = reader.get<uint64_t>();
  auto fileSize = reader.get<uint64_t>();

  if (fileSize != bytes.size())
    return fail(ErrorKind::Validation, "The kernel image says it has [{}] bytes; it has {}.",
                fileSize, bytes.size());
  if (reflectionSize > bytes.size() - kHeaderSize ||
      codeOffset != roundUp(kHeaderSize + reflectionSize, kCodeStart) ||
      codeOffset > bytes.size() || codeSize != bytes.size() - codeOffset)
    return fail(
        ErrorKind::Validation,
        "The sections of the kernel image do not fit: reflection [{} bytes], code [{} bytes at "
        "{}], image {} bytes.",
        reflectionSize, codeSize, codeOffset, bytes.size());
  size_t reflectionEnd = kHeaderSize + reflectionSize;
  if (reserved != 0 || !allZero(bytes.subspan(reader.at(), kHeaderSize - reader.at())) ||
      !allZero(bytes.subspan(reflectionEnd, codeOffset - reflectionEnd)))
    return fail(ErrorKind::Validation, "The kernel image has set bytes where zeros are expected.");
  PEWTER_TRY_VOID(checkFields(image, flags, codeSize));

  auto reflection = air::decodeReflection(bytes.subspan(kHeaderSize, reflectionSize));
  if (!reflection)
    return std::unexpected(
        std::move(reflection).error().whileDoing("reading the reflection of a kernel image"));
  image.reflection = std::move(*reflection);
  ByteView code = bytes.subspan(codeOffset);
  image.code.assign(code.begin(), code.end());
  return image;
}

} // namespace pewter::cpu

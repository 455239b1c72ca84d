// SPDX-License-Identifier: Apache-2.0
// Layout: magic, version, hash of the rest, then the fields in order, byte strings with their length
// in front. Tested by KernelImage_test.cpp.
#include "cuda/abi/KernelImage.h"
#include <cstring>

namespace pewter::cuda {
namespace {

constexpr char kMagic[8] = {'P', 'W', 'T', 'R', 'C', 'U', 'D', 'A'};
constexpr size_t kHeaderBytes = sizeof kMagic + sizeof(uint32_t) + sizeof(Hash128);

void put(Bytes &out, const void *data, size_t size) {
  const auto *bytes = static_cast<const std::byte *>(data);
  out.insert(out.end(), bytes, bytes + size);
}
void put32(Bytes &out, uint32_t value) { put(out, &value, sizeof value); }
void putBytes(Bytes &out, ByteView bytes) {
  uint64_t size = bytes.size();
  put(out, &size, sizeof size);
  put(out, bytes.data(), bytes.size());
}

class Reader {
public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}
  Result<uint32_t> number() {
    uint32_t value;
    PEWTER_TRY_VOID(take(&value, sizeof value));
    return value;
  }
  Result<ByteView> bytes() {
    uint64_t size;
    PEWTER_TRY_VOID(take(&size, sizeof size));
    if (size > rest_.size())
      return fail(ErrorKind::Validation, "CUDA kernel image: a field of {} bytes does not fit the {} "
                  "that are left.", size, rest_.size());
    ByteView field = rest_.first(size);
    rest_ = rest_.subspan(size);
    return field;
  }

private:
  Result<void> take(void *out, size_t size) {
    if (rest_.size() < size)
      return fail(ErrorKind::Validation, "CUDA kernel image ends inside a field.");
    std::memcpy(out, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return {};
  }
  ByteView rest_;
};

} // namespace

Bytes encode(const KernelImage &image) {
  Bytes body;
  put32(body, image.architecture);
  putBytes(body, viewOf(image.entry));
  putBytes(body, air::encode(image.reflection));
  putBytes(body, viewOf(image.ptx));
  Bytes out;
  put(out, kMagic, sizeof kMagic);
  put32(out, kImageVersion);
  Hash128 hash = hashOf(body);
  put(out, &hash, sizeof hash);
  put(out, body.data(), body.size());
  return out;
}

Result<KernelImage> parseKernelImage(ByteView bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return fail(ErrorKind::Validation, "These {} bytes are not a CUDA kernel image.", bytes.size());
  uint32_t version;
  std::memcpy(&version, bytes.data() + sizeof kMagic, sizeof version);
  if (version != kImageVersion)
    return fail(ErrorKind::Validation, "CUDA kernel image has version ({}); this build reads {}.",
                version, kImageVersion);
  Hash128 hash;
  std::memcpy(&hash, bytes.data() + sizeof kMagic + sizeof version, sizeof hash);
  ByteView body = bytes.subspan(kHeaderBytes);
  if (!(hash == hashOf(body)))
    return fail(ErrorKind::Validation, "CUDA kernel image is damaged: its checksum does not match.");
  Reader reader(body);
  KernelImage image;
  PEWTER_TRY(image.architecture, reader.number());
  PEWTER_TRY(ByteView entry, reader.bytes());
  image.entry = textOf(entry);
  PEWTER_TRY(ByteView reflection, reader.bytes());
  PEWTER_TRY(image.reflection, air::decodeReflection(reflection));
  PEWTER_TRY(ByteView ptx, reader.bytes());
  image.ptx = textOf(ptx);
  return image;
}

} // namespace pewter::cuda

// SPDX-License-Identifier: Apache-2.0
//
// The file, little-endian: a header; an index of 48-byte records, sorted by key; the images, each at
// a multiple of 64. The header carries the checksum of the index, the index those of the images.
//
// Tested by PipelineArchive_test.cpp.
#include "device/PipelineArchive.h"
#include <cstring>

namespace pewter::device {
namespace {

struct ArchiveHeader {
  char magic[8];
  uint32_t version;
  uint32_t count;
  Hash128 indexChecksum;
};
struct IndexRecord {
  Hash128 key;
  uint64_t offset;
  uint64_t length;
  Hash128 checksum;
};
static_assert(sizeof(ArchiveHeader) == 32 && sizeof(IndexRecord) == 48);
constexpr char kMagic[8] = {'P', 'E', 'W', 'T', 'E', 'R', 'P', 'A'};
constexpr uint32_t kVersion = 1;
constexpr size_t kAlignment = 64;

size_t alignUp(size_t value) { return (value + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

Result<std::shared_ptr<PipelineArchive>> PipelineArchive::load(const std::filesystem::path &path) {
  PEWTER_TRY(auto file, MappedFile::open(path));
  ByteView bytes = file->bytes();
  ArchiveHeader header;
  if (bytes.size() < sizeof(header))
    return fail(ErrorKind::Validation,
                "\"{}\" is not a pipeline archive: it has [{}] bytes, fewer than a header's {}.",
                path.string(), bytes.size(), sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return fail(ErrorKind::Validation,
                "\"{}\" is not a pipeline archive: it does not begin with \"PEWTERPA\".",
                path.string());
  if (header.version != kVersion)
    return fail(ErrorKind::Validation, "Pipeline archive \"{}\" has format version [{}]; expected {}.",
                path.string(), header.version, kVersion);
  ByteView rest = bytes.subspan(sizeof(header));
  if (header.count > rest.size() / sizeof(IndexRecord))
    return fail(ErrorKind::Validation,
                "Pipeline archive \"{}\" is cut short: its index of [{}] entries does not fit {} "
                "bytes.",
                path.string(), header.count, bytes.size());
  ByteView index = rest.first(header.count * sizeof(IndexRecord));
  if (hashOf(index) != header.indexChecksum)
    return fail(ErrorKind::Validation,
                "Pipeline archive \"{}\" is damaged: the checksum of its index does not match.",
                path.string());
  auto archive = std::make_shared<PipelineArchive>();
  for (uint32_t i = 0; i < header.count; ++i) {
    IndexRecord record;
    std::memcpy(&record, index.data() + i * sizeof(record), sizeof(record));
    if (record.offset > bytes.size() || record.length > bytes.size() - record.offset)
      return fail(ErrorKind::Validation,
                  "Pipeline archive \"{}\" is cut short: entry {} ends at [{}] of {} bytes.",
                  path.string(), record.key.hex(), record.offset + record.length, bytes.size());
    Entry &entry = archive->entries_[record.key];
    entry.mapped = bytes.subspan(record.offset, record.length);
    entry.checksum = record.checksum;
  }
  archive->file_ = std::move(file);
  return archive;
}

std::optional<Bytes> PipelineArchive::find(const Hash128 &key) const {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(key);
  if (found == entries_.end())
    return std::nullopt;
  ByteView bytes = found->second.bytes();
  if (hashOf(bytes) != found->second.checksum)
    return std::nullopt;
  return Bytes(bytes.begin(), bytes.end());
}

void PipelineArchive::add(const Hash128 &key, ByteView image) {
  std::lock_guard lock(mutex_);
  entries_[key] = Entry{Bytes(image.begin(), image.end()), {}, hashOf(image)};
}

size_t PipelineArchive::count() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

Result<void> PipelineArchive::save(const std::filesystem::path &path) const {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<IndexRecord, ByteView>> records;
  for (auto &[key, entry] : entries_)
    if (hashOf(entry.bytes()) == entry.checksum)
      records.push_back({{key, 0, entry.bytes().size(), entry.checksum}, entry.bytes()});
  size_t at = sizeof(ArchiveHeader) + records.size() * sizeof(IndexRecord);
  for (auto &[record, image] : records) {
    record.offset = alignUp(at);
    at = record.offset + image.size();
  }
  Bytes bytes(at);
  for (size_t i = 0; i < records.size(); ++i) {
    auto &[record, image] = records[i];
    std::memcpy(bytes.data() + sizeof(ArchiveHeader) + i * sizeof(IndexRecord), &record,
                sizeof(record));
    if (!image.empty())
      std::memcpy(bytes.data() + record.offset, image.data(), image.size());
  }
  ArchiveHeader header{{}, kVersion, static_cast<uint32_t>(records.size()), {}};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.indexChecksum = hashOf(
      ByteView(bytes).subspan(sizeof(ArchiveHeader), records.size() * sizeof(IndexRecord)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return writeFileAtomically(path, bytes);
}

} // namespace pewter::device

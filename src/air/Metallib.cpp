// SPDX-License-Identifier: Apache-2.0
// The reader. Group lengths of the metadata sections come in two conventions (with and without
// their own four bytes), so metadata is walked tag by tag to ENDT; only the function list, where
// all tools agree, is stepped by its lengths. Tested by Metallib_test.cpp and Metallib_fuzz.cpp.
#include "air/Metallib.h"
#include "air/ByteStream.h"
#include "air/MetallibFormat.h"
#include <algorithm>
#include <unordered_set>

namespace pewter::air {
using namespace metallib;

namespace {

struct Section {
  uint64_t offset = 0, size = 0;
};

struct Tag {
  uint32_t name = kEnd;
  ByteView payload;
};

std::string textOfTag(uint32_t name) {
  std::string text(4, ' ');
  for (int i = 0; i < 4; ++i) {
    const char c = static_cast<char>(name >> (8 * i));
    text[i] = c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

/// The next tag of a list; a list without ENDT is an error.
Result<Tag> nextTag(ByteReader &in, std::string_view where) {
  Tag tag;
  tag.name = in.get<uint32_t>();
  if (!in.failed() && tag.name != kEnd) {
    const uint32_t length =
        hasWideLength(tag.name) ? in.get<uint32_t>() : uint32_t(in.get<uint16_t>());
    tag.payload = in.getBytes(length);
  }
  if (in.failed())
    return fail(ErrorKind::Validation, "The {} of the .metallib file ends inside tag \"{}\".",
                where, textOfTag(tag.name));
  return tag;
}

class Reader {
public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}

  Result<Metallib> run() {
    PEWTER_TRY_VOID(readHeader());
    PEWTER_TRY_VOID(readFunctions());
    PEWTER_TRY_VOID(readExtension());
    return std::move(library_);
  }

private:
  Result<void> readHeader() {
    if (!isMetallib(bytes_))
      return fail(ErrorKind::Validation, "The file does not begin with \"MTLB\" ({} bytes given).",
                  bytes_.size());
    if (bytes_.size() < kHeaderSize)
      return fail(ErrorKind::Validation,
                  "The .metallib file has [{}] bytes; its header alone has {}.", bytes_.size(),
                  kHeaderSize);
    ByteReader in(bytes_.subspan(4));
    const auto major = in.get<uint16_t>();
    library_.version.isMac = major & 0x8000;
    library_.version.major = major & 0x7fff;
    library_.version.minor = in.get<uint16_t>();
    library_.version.patch = in.get<uint16_t>();
    const auto type = in.get<uint8_t>();
    library_.isStub = type & 0x80;
    library_.fileType = static_cast<MetallibFileType>(type & 0x7f);
    library_.platform = in.get<uint8_t>();
    library_.system[0] = in.get<uint16_t>();
    library_.system[1] = in.get<uint8_t>();
    library_.system[2] = in.get<uint8_t>();
    if (library_.version.major != 1)
      return fail(ErrorKind::Unsupported,
                  "The .metallib file has container version [{}.{}.{}]; 1.x is expected.",
                  library_.version.major, library_.version.minor, library_.version.patch);
    const auto fileSize = in.get<uint64_t>();
    if (fileSize > bytes_.size() || fileSize < kHeaderSize)
      return fail(ErrorKind::Validation,
                  "The .metallib file says that it has [{}] bytes; {} are there.", fileSize,
                  bytes_.size());
    bytes_ = bytes_.first(fileSize);
    static constexpr std::string_view kNames[] = {"function list", "public metadata",
                                                  "private metadata", "bitcode section"};
    for (size_t i = 0; i < 4; ++i) {
      Section &section = sections_[i];
      section.offset = in.get<uint64_t>();
      section.size = in.get<uint64_t>();
      // The function list's size leaves out its leading count.
      const uint64_t extra = i == 0 ? 4 : 0;
      if (section.offset > fileSize || section.size > fileSize - section.offset ||
          extra > fileSize - section.offset - section.size)
        return fail(ErrorKind::Validation,
                    "The {} of the .metallib file has offset [{}] and size [{}]; the file has {} "
                    "bytes.",
                    kNames[i], section.offset, section.size, fileSize);
    }
    if (sections_[0].offset < kHeaderSize)
      return fail(ErrorKind::Validation,
                  "The function list of the .metallib file has offset [{}], inside the header.",
                  sections_[0].offset);
    return {};
  }

  Result<void> readFunctions() {
    const Section &list = sections_[0];
    ByteReader in(bytes_.subspan(list.offset, list.size + 4));
    const auto count = in.get<uint32_t>();
    // A group has a length and at least one tag.
    if (count > list.size / 8)
      return fail(ErrorKind::Validation,
                  "The function list of the .metallib file claims [{}] functions in {} bytes.",
                  count, list.size);
    library_.functions.reserve(count);
    std::unordered_set<std::string> names;
    for (uint32_t i = 0; i < count; ++i) {
      const size_t start = in.at();
      const auto length = in.get<uint32_t>();
      const ByteView group = in.getBytes(length < 4 ? UINT64_MAX : length - 4);
      if (in.failed())
        return fail(ErrorKind::Validation,
                    "Function {} of the .metallib file has a group of [{}] bytes at offset {} of a "
                    "list of {} bytes.",
                    i, length, start, list.size);
      auto function = readFunction(group, i);
      if (!function)
        return std::unexpected(std::move(function).error());
      if (!names.insert(function->name).second)
        return fail(ErrorKind::Validation, "The .metallib file has two functions named \"{}\".",
                    function->name);
      library_.functions.push_back(std::move(*function));
    }
    return {};
  }

  Result<MetallibFunction> readFunction(ByteView group, uint32_t number) {
    const std::string where = fmt::format("function {}", number);
    MetallibFunction function;
    bool hasName = false, hasType = false, hasOffsets = false, hasSize = false;
    uint64_t offsets[3] = {}, size = 0;
    ByteReader in(group);
    while (true) {
      PEWTER_TRY(const Tag tag, nextTag(in, where));
      if (tag.name == kEnd)
        break;
      ByteReader payload(tag.payload);
      switch (tag.name) {
      case kName:
        function.name = payload.getTerminated();
        hasName = true;
        break;
      case kType:
        function.kind = static_cast<MetallibFunctionKind>(payload.get<uint8_t>());
        hasType = true;
        break;
      case kHash:
        if (const ByteView hash = payload.getBytes(function.hash.size()); !payload.failed())
          std::ranges::copy(hash, function.hash.begin());
        break;
      case kModuleSize:
        size = payload.get<uint64_t>();
        hasSize = true;
        break;
      case kOffsets:
        for (uint64_t &offset : offsets)
          offset = payload.get<uint64_t>();
        hasOffsets = true;
        break;
      case kVersions:
        for (uint16_t *part : {&function.airVersion[0], &function.airVersion[1],
                               &function.languageVersion[0], &function.languageVersion[1]})
          *part = payload.get<uint16_t>();
        break;
      default:
        continue; // Unknown tags are skipped.
      }
      if (payload.failed())
        return fail(ErrorKind::Validation,
                    "Tag \"{}\" of {} in the .metallib file has [{}] bytes, too few for it.",
                    textOfTag(tag.name), where, tag.payload.size());
    }
    for (const auto &[there, name] : {std::pair{hasName, "NAME"}, std::pair{hasType, "TYPE"},
                                      std::pair{hasOffsets, "OFFT"}, std::pair{hasSize, "MDSZ"}})
      if (!there)
        return fail(ErrorKind::Validation, "{} of the .metallib file has no tag \"{}\".",
                    "Function " + std::to_string(number), name);
    if (function.name.empty())
      return fail(ErrorKind::Validation, "Function {} of the .metallib file has an empty name.",
                  number);
    const Section &modules = sections_[3];
    if (offsets[2] > modules.size || size > modules.size - offsets[2])
      return fail(
          ErrorKind::Validation,
          "The module of function \"{}\" has offset [{}] and size [{}]; the bitcode section "
          "has {} bytes.",
          function.name, offsets[2], size, modules.size);
    function.module = bytes_.subspan(modules.offset + offsets[2], size);
    PEWTER_TRY_VOID(readPublic(function, offsets[0]));
    return function;
  }

  Result<void> readPublic(MetallibFunction &function, uint64_t offset) {
    const Section &section = sections_[1];
    if (offset == section.size && section.size == 0)
      return {};
    if (offset > section.size || section.size - offset < 4)
      return fail(
          ErrorKind::Validation,
          "The public metadata of function \"{}\" has offset [{}]; the section has {} bytes.",
          function.name, offset, section.size);
    const std::string where = "public metadata of function \"" + function.name + "\"";
    ByteReader in(bytes_.subspan(section.offset + offset, section.size - offset));
    in.get<uint32_t>(); // The group's length, whose meaning varies.
    while (true) {
      PEWTER_TRY(const Tag tag, nextTag(in, where));
      if (tag.name == kEnd)
        return {};
      if (tag.name == kConstants)
        PEWTER_TRY_VOID(readConstants(function, tag.payload));
    }
  }

  Result<void> readConstants(MetallibFunction &function, ByteView bytes) {
    ByteReader in(bytes);
    const auto count = in.get<uint16_t>();
    for (uint32_t i = 0; i < count && !in.failed(); ++i) {
      MetallibConstant constant;
      constant.name = in.getTerminated();
      constant.type = static_cast<DataType>(in.get<uint8_t>());
      constant.index = in.get<uint16_t>();
      constant.active = in.get<uint8_t>() != 0;
      if (!in.failed())
        function.constants.push_back(std::move(constant));
    }
    if (in.failed())
      return fail(
          ErrorKind::Validation,
          "Function \"{}\" of the .metallib file claims [{}] function constants in {} bytes.",
          function.name, count, bytes.size());
    return {};
  }

  Result<void> readExtension() {
    // Between the function list and the public metadata; tools that have nothing to say write ENDT.
    const uint64_t begin = sections_[0].offset + 4 + sections_[0].size;
    const uint64_t end = std::max<uint64_t>(begin, sections_[1].offset);
    ByteReader in(bytes_.subspan(begin, end - begin));
    while (in.left() >= 4) {
      PEWTER_TRY(const Tag tag, nextTag(in, "header extension"));
      if (tag.name == kEnd)
        break;
      if (tag.name == kUuid && tag.payload.size() == library_.uuid.size())
        std::ranges::copy(tag.payload, library_.uuid.begin());
      if (tag.name == kPewter) {
        library_.madeByPewter = true;
        constexpr size_t kMark = sizeof(uint16_t);
        if (tag.payload.size() > kMark)
          library_.installName = std::string(textOf(tag.payload.subspan(kMark)));
      }
    }
    return {};
  }

  ByteView bytes_;
  Section sections_[4];
  Metallib library_;
};

} // namespace

bool isMetallib(ByteView bytes) {
  return bytes.size() >= sizeof(kMagic) && std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) == 0;
}

Result<Metallib> readMetallib(ByteView bytes) { return Reader(bytes).run(); }

Result<void> checkContent(std::string_view function, ByteView module,
                          const std::array<std::byte, 32> &stated) {
  if (stated == std::array<std::byte, 32>{} || sha256(module) == stated)
    return {};
  return fail(ErrorKind::Compile,
              "Function \"{}\" is damaged: its module ({} bytes) does not have the hash that the "
              "library states.",
              function, module.size());
}

bool hashMatches(const MetallibFunction &function) {
  return sha256(function.module) == function.hash;
}

Result<ByteView> unwrapBitcode(ByteView bytes) {
  ByteReader in(bytes);
  const auto magic = in.get<uint32_t>();
  if (magic != kWrapperMagic || in.failed())
    return bytes;
  in.get<uint32_t>(); // Version.
  const auto offset = in.get<uint32_t>(), size = in.get<uint32_t>();
  if (in.failed() || offset > bytes.size() || size > bytes.size() - offset)
    return fail(ErrorKind::Validation,
                "A bitcode wrapper of {} bytes has offset [{}] and size [{}].", bytes.size(),
                offset, size);
  return bytes.subspan(offset, size);
}

} // namespace pewter::air

// SPDX-License-Identifier: Apache-2.0
// The writer, in two passes: sections are built first, then the header that points at them. Order
// of tags and the length convention of groups are those of Apple's current tools. Tested by
// Metallib_test.cpp.
#include "air/ByteStream.h"
#include "air/Metallib.h"
#include "air/MetallibFormat.h"
#include <algorithm>
#include <unordered_set>

namespace pewter::air {
using namespace metallib;

namespace {

/// One group: a length that counts itself, tags, ENDT.
class GroupWriter {
public:
  GroupWriter() { out_.put<uint32_t>(0); }
  void tag(uint32_t name, ByteView payload) {
    out_.put(name);
    out_.put(static_cast<uint16_t>(payload.size()));
    out_.putBytes(payload);
  }
  template <class T> void tagValue(uint32_t name, const T &value) {
    tag(name, std::as_bytes(std::span(&value, 1)));
  }
  Bytes take() {
    out_.put(kEnd);
    out_.patch(0, static_cast<uint32_t>(out_.size()));
    return out_.take();
  }

private:
  ByteWriter out_;
};

ByteView withTerminator(const std::string &text) {
  return std::as_bytes(std::span(text.c_str(), text.size() + 1));
}

Bytes publicGroup(const MetallibFunction &function) {
  GroupWriter group;
  if (!function.constants.empty()) {
    ByteWriter list;
    list.put(static_cast<uint16_t>(function.constants.size()));
    for (const MetallibConstant &constant : function.constants) {
      list.putBytes(withTerminator(constant.name));
      list.put(static_cast<uint8_t>(constant.type));
      list.put(constant.index);
      list.put<uint8_t>(constant.active);
    }
    group.tag(kConstants, list.view());
  }
  return group.take();
}

Bytes functionGroup(const MetallibFunction &function, ByteView module,
                    const std::array<uint64_t, 3> &offsets) {
  GroupWriter group;
  group.tag(kName, withTerminator(function.name));
  group.tagValue(kType, static_cast<uint8_t>(function.kind));
  group.tagValue(kHash, sha256(module));
  group.tagValue(kOffsets, offsets);
  group.tagValue(kVersions, std::array{function.airVersion, function.languageVersion});
  group.tagValue(kModuleSize, static_cast<uint64_t>(module.size()));
  return group.take();
}

Result<void> checkFunctions(const Metallib &library) {
  constexpr size_t kLongestPayload = UINT16_MAX;
  if (library.installName.size() + sizeof(uint16_t) > kLongestPayload)
    return fail(ErrorKind::Validation,
                "An install name of [{}] bytes cannot be stored in a .metallib file.",
                library.installName.size());
  std::unordered_set<std::string> names;
  for (const MetallibFunction &function : library.functions) {
    if (function.name.empty() || function.name.size() >= kLongestPayload ||
        function.name.find('\0') != std::string::npos)
      return fail(ErrorKind::Validation,
                  "Function name \"{}\" cannot be stored in a .metallib file.", function.name);
    if (!names.insert(function.name).second)
      return fail(ErrorKind::Validation, "Two functions of the library are named \"{}\".",
                  function.name);
    size_t room = 2;
    for (const MetallibConstant &constant : function.constants)
      room += constant.name.size() + 5;
    if (room > kLongestPayload)
      return fail(ErrorKind::Validation,
                  "Function \"{}\" has {} function constants, more than a .metallib file can list.",
                  function.name, function.constants.size());
  }
  return {};
}

} // namespace

Bytes wrapBitcode(ByteView bitcode) {
  ByteWriter out;
  ByteReader in(bitcode);
  if (in.get<uint32_t>() == kWrapperMagic && !in.failed()) {
    out.putBytes(bitcode);
  } else {
    out.put(kWrapperMagic);
    out.put<uint32_t>(0);
    out.put(kWrapperSize);
    out.put(static_cast<uint32_t>(bitcode.size()));
    out.put<uint32_t>(UINT32_MAX); // CPU type: none.
    out.putBytes(bitcode);
  }
  while (out.size() % 16)
    out.put<uint8_t>(0);
  return out.take();
}

Result<Bytes> writeMetallib(const Metallib &library) {
  PEWTER_TRY_VOID(checkFunctions(library));
  ByteWriter functions, publics, privates, modules;
  functions.put(static_cast<uint32_t>(library.functions.size()));
  for (const MetallibFunction &function : library.functions) {
    const Bytes module = wrapBitcode(function.module);
    const std::array<uint64_t, 3> offsets{publics.size(), privates.size(), modules.size()};
    functions.putBytes(functionGroup(function, module, offsets));
    publics.putBytes(publicGroup(function));
    privates.putBytes(GroupWriter().take());
    modules.putBytes(module);
  }

  // A name-based identity of the content; the version nibble says "hash of a name" (5).
  ByteWriter content;
  content.putBytes(functions.view());
  content.putBytes(publics.view());
  const auto digest = sha256(content.view());
  std::array<std::byte, 16> uuid;
  std::copy_n(digest.begin(), uuid.size(), uuid.begin());
  uuid[6] = (uuid[6] & std::byte(0x0f)) | std::byte(0x50);
  uuid[8] = (uuid[8] & std::byte(0x3f)) | std::byte(0x80);

  ByteWriter extension;
  auto extend = [&](uint32_t name, ByteView payload) {
    extension.put(name);
    extension.put(static_cast<uint16_t>(payload.size()));
    extension.putBytes(payload);
  };
  extend(kUuid, uuid);
  if (library.madeByPewter) {
    ByteWriter mark;
    mark.put<uint16_t>(1);
    mark.putBytes(viewOf(library.installName));
    extend(kPewter, mark.view());
  }
  extension.put(kEnd);

  ByteWriter out;
  out.putBytes(std::as_bytes(std::span(kMagic)));
  out.put(static_cast<uint16_t>(library.version.major | (library.version.isMac ? 0x8000 : 0)));
  out.put(library.version.minor);
  out.put(library.version.patch);
  out.put(static_cast<uint8_t>(uint8_t(library.fileType) | (library.isStub ? 0x80 : 0)));
  out.put(library.platform);
  out.put(library.system[0]);
  out.put(static_cast<uint8_t>(library.system[1]));
  out.put(static_cast<uint8_t>(library.system[2]));
  out.put<uint64_t>(0); // File size, below.
  uint64_t at = kHeaderSize;
  out.put(at);
  out.put<uint64_t>(functions.size() - 4);
  at += functions.size() + extension.size();
  for (const ByteWriter *section : {&publics, &privates, &modules}) {
    out.put(at);
    out.put<uint64_t>(section->size());
    at += section->size();
  }
  for (const ByteWriter *section : {&functions, &extension, &publics, &privates, &modules})
    out.putBytes(section->view());
  out.patch<uint64_t>(kFileSizeAt, out.size());
  return out.take();
}

} // namespace pewter::air

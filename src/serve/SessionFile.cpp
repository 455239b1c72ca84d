// SPDX-License-Identifier: Apache-2.0
//
// Layout, little endian: "PWTRSESS", u32 version, u32 exact rows, u64 length and text of the identity, u64
// length and bytes of the snapshot, 32 bytes SHA-256 of all before.
//
// Tested by SessionFile_test.cpp and tests/serve/Sessions.cpp.
#include "serve/SessionFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace pewter::serve {
namespace {

constexpr char kMagic[8] = {'P', 'W', 'T', 'R', 'S', 'E', 'S', 'S'};
constexpr uint32_t kVersion = 1;
constexpr std::string_view kUnfinished = ".saving-";
constexpr size_t kDigest = 32;

std::string hexOf(std::span<const std::byte> bytes) {
  std::string out;
  for (std::byte b : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned>(b));
  return out;
}

/// Closes, and removes the file unless it was kept.
struct Unfinished {
  int file;
  std::string path;
  ~Unfinished() {
    if (file >= 0)
      ::close(file);
    if (!path.empty())
      ::unlink(path.c_str());
  }
};

bool writeAll(int file, ByteView bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(file, bytes.data(), std::min<size_t>(bytes.size(), 1 << 26));
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return true;
}

} // namespace

Json sessionIdentity(const muse::Engine &engine) {
  Bytes sampled;
  auto add = [&](ByteView bytes) { sampled.insert(sampled.end(), bytes.begin(), bytes.end()); };
  const muse::GgufModel &model = engine.model();
  for (const muse::GgufTensor &tensor : model.tensors()) {
    add(viewOf(tensor.name));
    add(std::as_bytes(std::span(tensor.dims)));
    ByteView data = model.dataOf(tensor);
    size_t part = std::min<size_t>(data.size(), 256);
    add(data.first(part));
    add(data.subspan((data.size() - part) / 2, part));
    add(data.last(part));
  }
  Bytes words;
  const muse::Tokenizer &tokenizer = engine.tokenizer();
  for (uint32_t id = 0; id < tokenizer.size(); ++id) {
    ByteView bytes = viewOf(tokenizer.bytesOf(id));
    words.insert(words.end(), bytes.begin(), bytes.end());
    words.push_back(std::byte{0xff});
  }
  const muse::ModelConfig &c = engine.config();
  return {{"model", c.name},
          {"model_bytes", model.fileBytes()},
          {"weights", hexOf(sha256(sampled))},
          {"vocabulary", hexOf(sha256(words))},
          {"shape", fmt::format("{} layers, {} wide, {} of {} heads, window {}", c.layers, c.hidden, c.kvHeads, c.heads,
                                c.window)},
          {"device", engine.context().deviceName()},
          {"math", std::string(muse::nameOf(engine.context().options().math))},
          {"cache", engine.options().kv == muse::KvType::F16 ? "f16" : "f32"},
          {"matvec", engine.options().matvec},
          {"prefill_rows", muse::kPrefillRows}};
}

Result<void> checkSessionName(std::string_view name) {
  bool good = !name.empty() && name.size() <= 100 && name[0] != '.';
  for (char c : name)
    good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.');
  if (good)
    return {};
  return fail(ErrorKind::Validation,
              "The session's file name is [{}]; 1 to 100 letters, digits, \"-\", \"_\" and \".\" are expected, the first of "
              "them no dot.",
              name.substr(0, 120));
}

Result<void> writeSession(const std::filesystem::path &path, const SessionFile &session) {
  Bytes out;
  auto put = [&](const void *data, size_t size) {
    const auto *bytes = static_cast<const std::byte *>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  auto putSized = [&](ByteView bytes) {
    uint64_t size = bytes.size();
    put(&size, 8);
    put(bytes.data(), bytes.size());
  };
  out.reserve(session.snapshot.size() + 4096);
  put(kMagic, sizeof kMagic);
  put(&kVersion, 4);
  put(&session.exactRows, 4);
  putSized(viewOf(dumpJson(session.identity)));
  putSized(session.snapshot);
  auto digest = sha256(out);
  put(digest.data(), digest.size());

  auto failed = [&](const char *what) {
    return fail(ErrorKind::Io, "Session \"{}\" cannot be {}: {}.", path.string(), what, std::strerror(errno));
  };
  std::string name = (path.parent_path() / std::string(kUnfinished)).string() + "XXXXXX"; // mode 600
  Unfinished beside{::mkstemp(name.data()), {}};
  if (beside.file < 0)
    return failed("created");
  beside.path = name;
  if (!writeAll(beside.file, out) || ::fsync(beside.file) != 0)
    return failed("written");
  if (::rename(name.c_str(), path.c_str()) != 0)
    return failed("renamed");
  beside.path.clear();
  return {};
}

Result<SessionFile> readSession(const std::filesystem::path &path, const Json &identity) {
  PEWTER_TRY(Bytes bytes, readFile(path));
  auto damaged = [&](std::string_view what) {
    return fail(ErrorKind::Validation, "Session \"{}\" is damaged: {}.", path.filename().string(), what);
  };
  if (bytes.size() < sizeof kMagic + 8 + kDigest || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return damaged("it does not begin as a session");
  uint32_t version = 0;
  std::memcpy(&version, bytes.data() + sizeof kMagic, 4);
  if (version != kVersion)
    return fail(ErrorKind::Validation, "Session \"{}\" has version [{}]; {} is expected.", path.filename().string(),
                version, kVersion);
  ByteView content = ByteView(bytes).first(bytes.size() - kDigest);
  if (auto digest = sha256(content); std::memcmp(digest.data(), content.data() + content.size(), kDigest) != 0)
    return damaged("its checksum is of other bytes");
  SessionFile session;
  size_t at = sizeof kMagic + 4;
  std::memcpy(&session.exactRows, content.data() + at, 4);
  at += 4;
  auto takeSized = [&](ByteView &out) {
    uint64_t size = 0;
    if (content.size() - at < 8)
      return false;
    std::memcpy(&size, content.data() + at, 8);
    at += 8;
    if (content.size() - at < size)
      return false;
    out = content.subspan(at, size);
    at += size;
    return true;
  };
  ByteView text, snapshot;
  if (!takeSized(text) || !takeSized(snapshot) || at != content.size())
    return damaged("its parts do not fit");
  PEWTER_TRY(session.identity, parseJson(textOf(text)));
  for (const auto &[name, value] : identity.items())
    if (!session.identity.is_object() || !session.identity.contains(name) || session.identity[name] != value)
      return fail(ErrorKind::Validation, "Session \"{}\" is of another {}: [{}]; {} is expected.",
                  path.filename().string(), name,
                  session.identity.is_object() && session.identity.contains(name) ? dumpJson(session.identity[name])
                                                                                  : "nothing",
                  dumpJson(value));
  session.snapshot.assign(snapshot.begin(), snapshot.end());
  return session;
}

void removeUnfinishedSessions(const std::filesystem::path &folder) {
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(kUnfinished))
      std::filesystem::remove(entry.path(), ignored);
}

} // namespace pewter::serve

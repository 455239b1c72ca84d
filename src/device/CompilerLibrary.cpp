// SPDX-License-Identifier: Apache-2.0
//
// Tested by CompilerLibrary_test.cpp.
#include "device/CompilerLibrary.h"
#include "PewterBuildId.h"
#include "base/Toggles.h"
#include "device/DiskCache.h"
#include "device/KeyBuilder.h"
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>

namespace pewter::device {
namespace {

constexpr const char *kFileName = "libpewter-compiler.so";
std::atomic<const compiler::EntryPoints *> loaded{nullptr};

/// Where this very function was loaded from.
std::filesystem::path folderOfThisLibrary() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<void *>(&compilerBuildId), &info) == 0 || !info.dli_fname)
    return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

} // namespace

Result<const compiler::EntryPoints *> openCompilerLibrary(const std::string &path) {
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = ::dlerror();
    return fail(ErrorKind::Unsupported,
                "The compiler library \"{}\" cannot be loaded: {}. It is needed for every pipeline "
                "and library that is neither in an archive nor in the disk cache.",
                path, why ? why : "no reason given");
  }
  auto entry = reinterpret_cast<const compiler::EntryPoints *(*)()>(
      ::dlsym(handle, "pewterCompilerEntryPoints"));
  if (!entry) {
    ::dlclose(handle);
    return fail(ErrorKind::Unsupported,
                "\"{}\" is not a Pewter compiler library: it has no symbol "
                "pewterCompilerEntryPoints.",
                path);
  }
  const compiler::EntryPoints *points = entry();
  if (!points || !points->buildId || compilerBuildId() != points->buildId) {
    std::string found = points && points->buildId ? points->buildId : "none";
    ::dlclose(handle);
    return fail(ErrorKind::Unsupported,
                "The compiler library \"{}\" is of another build ({}) than libpewter ({}); both "
                "must come from one build.",
                path, found, compilerBuildId());
  }
  return points;
}

namespace {

// The parts of a cache payload: 8-byte length, bytes.
void put(Bytes &out, ByteView part) {
  uint64_t size = part.size();
  auto head = std::as_bytes(std::span(&size, 1));
  out.insert(out.end(), head.begin(), head.end());
  out.insert(out.end(), part.begin(), part.end());
}
std::optional<ByteView> take(ByteView &in) {
  uint64_t size;
  if (in.size() < sizeof(size))
    return std::nullopt;
  std::memcpy(&size, in.data(), sizeof(size));
  in = in.subspan(sizeof(size));
  if (size > in.size())
    return std::nullopt;
  ByteView part = in.first(size);
  in = in.subspan(size);
  return part;
}

} // namespace

std::string_view compilerBuildId() { return PEWTER_BUILD_ID; }

bool compilerLibraryIsLoaded() { return loaded.load(std::memory_order_acquire) != nullptr; }

Result<const compiler::EntryPoints *> compilerLibrary() {
  if (const compiler::EntryPoints *points = loaded.load(std::memory_order_acquire))
    return points;
  static std::mutex &mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  if (const compiler::EntryPoints *points = loaded.load(std::memory_order_acquire))
    return points;
  std::string path = kFileName;
  if (auto named = environment("PEWTER_COMPILER"); named && !named->empty()) {
    path = *named;
  } else {
    std::error_code ignored;
    std::filesystem::path beside = folderOfThisLibrary() / kFileName;
    if (std::filesystem::exists(beside, ignored))
      path = beside.string();
  }
  auto points = openCompilerLibrary(path);
  if (points)
    loaded.store(*points, std::memory_order_release);
  return points;
}

const compiler::EntryPoints *replaceCompiler(const compiler::EntryPoints *points) {
  return loaded.exchange(points, std::memory_order_acq_rel);
}

Result<compiler::LibraryImage> compileSource(const compiler::SourceRequest &request) {
  KeyBuilder key;
  key.add(compilerBuildId()).add(request.source).add(request.fileName);
  key.add(uint64_t(request.mathMode)).add(uint64_t(request.languageVersion));
  key.add(uint64_t(request.warningsAsErrors)).add(uint64_t(request.preciseFunctions));
  key.add(uint64_t(request.enableLogging)).add(uint64_t(request.macros.size()));
  for (auto &[name, value] : request.macros)
    key.add(name).add(value);
  for (auto &[name, text] : request.includeFiles)
    key.add(name).add(text);
  key.add(uint64_t(request.isDynamic)).add(request.installName);
  key.add(uint64_t(request.allowUndefined)).add(uint64_t(request.linkedSymbols.size()));
  for (const std::string &symbol : request.linkedSymbols)
    key.add(symbol);
  bool cacheable = request.includeDirectories.empty();
  auto cache = DiskCache::standard();
  if (cacheable) {
    if (auto payload = cache->load(CacheKind::Library, key.hash())) {
      ByteView rest = *payload;
      auto metallib = take(rest);
      auto diagnostics = take(rest);
      if (metallib && diagnostics && rest.empty())
        return compiler::LibraryImage{Bytes(metallib->begin(), metallib->end()),
                                      std::string(textOf(*diagnostics)), {}};
    }
  }
  PEWTER_TRY(auto *points, compilerLibrary());
  PEWTER_TRY(compiler::LibraryImage image, points->compileSource(request));
  // What files on disk said may change.
  if (cacheable && image.dependencies.empty()) {
    Bytes payload;
    put(payload, image.metallib);
    put(payload, viewOf(image.diagnostics));
    cache->store(CacheKind::Library, key.hash(), payload);
  }
  return image;
}

Result<compiler::ModuleDescription> describeModule(ByteView module) {
  Hash128 key = KeyBuilder().add(compilerBuildId()).add(module).hash();
  auto cache = DiskCache::standard();
  if (auto payload = cache->load(CacheKind::Description, key)) {
    compiler::ModuleDescription description;
    ByteView rest = *payload;
    bool whole = true;
    while (whole && !rest.empty()) {
      auto part = take(rest);
      if (part && part->empty()) { // Behind the kernels: three texts for each callee.
        while (whole && !rest.empty()) {
          auto name = take(rest), symbol = take(rest), signature = take(rest);
          whole = name && symbol && signature;
          if (whole)
            description.callees.push_back({std::string(textOf(*name)), std::string(textOf(*symbol)),
                                           std::string(textOf(*signature))});
        }
        break;
      }
      auto kernel = part ? air::decodeReflection(*part)
                         : Result<air::KernelReflection>(fail(ErrorKind::Internal, "Cut short."));
      whole = kernel.has_value();
      if (whole)
        description.kernels.push_back(std::move(*kernel));
    }
    if (whole)
      return description;
  }
  PEWTER_TRY(auto *points, compilerLibrary());
  PEWTER_TRY(compiler::ModuleDescription description, points->describeModule(module));
  Bytes payload;
  for (const air::KernelReflection &kernel : description.kernels)
    put(payload, air::encode(kernel));
  put(payload, {});
  for (const compiler::CalleeDescription &callee : description.callees)
    for (const std::string *part : {&callee.name, &callee.symbol, &callee.signature})
      put(payload, viewOf(*part));
  cache->store(CacheKind::Description, key, payload);
  return description;
}

} // namespace pewter::device

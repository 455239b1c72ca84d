// SPDX-License-Identifier: Apache-2.0
// Tested by tests/seed/SeedTable.cpp.
#include "muse/Context.h"
#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <cstring>
#include <thread>

namespace pewter::muse {
namespace {

struct KernelFile {
  const char *name;
  const char *text;
};
constexpr KernelFile kKernelFiles[] = {
#include "EngineKernels.inc"
};

std::string textOf(const NS::String *text) { return text && text->utf8String() ? text->utf8String() : ""; }
std::string textOf(const NS::Error *error) {
  return error ? textOf(error->localizedDescription()) : "no reason given";
}
NS::SharedPtr<NS::String> nsString(const std::string &text) {
  return NS::RetainPtr(NS::String::string(text.c_str(), NS::UTF8StringEncoding));
}
std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string_view nameOf(MTL::CommandBufferStatus status) {
  switch (status) {
  case MTL::CommandBufferStatusNotEnqueued: return "not enqueued";
  case MTL::CommandBufferStatusEnqueued: return "enqueued";
  case MTL::CommandBufferStatusCommitted: return "committed";
  case MTL::CommandBufferStatusScheduled: return "scheduled";
  case MTL::CommandBufferStatusCompleted: return "completed";
  case MTL::CommandBufferStatusError: return "error";
  }
  return "unknown";
}

Result<void> resultOf(MTL::CommandBuffer *buffer) {
  if (buffer->status() == MTL::CommandBufferStatusCompleted)
    return {};
  return fail(ErrorKind::DeviceLost, "Command buffer \"{}\" ended with the status \"{}\": {}",
              textOf(buffer->label()), nameOf(buffer->status()), textOf(buffer->error()));
}

Result<NS::SharedPtr<MTL::Device>> findDevice(const std::string &wanted) {
  if (wanted.empty()) {
    auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!device)
      return fail(ErrorKind::Unsupported, "This machine has no Metal device.");
    return device;
  }
  auto all = NS::TransferPtr(MTL::CopyAllDevices());
  std::string names;
  for (NS::UInteger i = 0; all && i < all->count(); ++i) {
    auto *device = all->object<MTL::Device>(i);
    std::string name = textOf(device->name());
    if (lower(name).find(lower(wanted)) != std::string::npos)
      return NS::RetainPtr(device);
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  return fail(ErrorKind::Validation, "No Metal device has a name with [{}] in it; there are {}.", wanted,
              names.empty() ? "none" : names);
}

} // namespace

std::string_view nameOf(MathMode mode) { return mode == MathMode::Fast ? "fast" : "strict"; }

std::string kernelSource() {
  std::string source;
  for (const KernelFile &file : kKernelFiles)
    source += fmt::format("#line 1 \"{}\"\n{}\n", file.name, file.text);
  return source;
}

Result<std::shared_ptr<Context>> Context::create(ContextOptions options) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto context = std::shared_ptr<Context>(new Context(std::move(options)));
  PEWTER_TRY(context->device_, findDevice(context->options_.device));
  context->queue_ = NS::TransferPtr(context->device_->newCommandQueue());
  if (!context->queue_)
    return fail(ErrorKind::OutOfMemory, "Device \"{}\" gives no command queue.", context->deviceName());
  bool onHost = lower(context->deviceName()).find("cpu") != std::string::npos;
  context->geometry_ = context->options_.geometry != Geometry::Automatic ? context->options_.geometry
                       : onHost                                         ? Geometry::Cpu
                                                                        : Geometry::Gpu;
  context->lendThread_ = context->options_.lendThread.value_or(onHost);
  if (const auto &path = context->options_.prebuiltLibrary) {
    NS::Error *error = nullptr;
    context->prebuilt_ =
        NS::TransferPtr(context->device_->newLibrary(nsString(path->string()).get(), &error));
    if (!context->prebuilt_)
      return fail(ErrorKind::Validation, "The kernel library \"{}\" cannot be loaded: {}", path->string(),
                  textOf(error));
  }
  return context;
}

std::string Context::deviceName() const { return textOf(device_->name()); }

Result<MTL::Library *> Context::library(MathMode mode) {
  std::lock_guard lock(mutex_);
  auto &library = libraries_[static_cast<int>(mode)];
  if (library)
    return library.get();
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  options->setLanguageVersion(MTL::LanguageVersion3_1);
  options->setFastMathEnabled(mode == MathMode::Fast);
  NS::Error *error = nullptr;
  library =
      NS::TransferPtr(device_->newLibrary(nsString(kernelSource()).get(), options.get(), &error));
  if (!library)
    return fail(ErrorKind::Compile, "The engine's {} kernels do not compile: {}", muse::nameOf(mode),
                textOf(error));
  return library.get();
}

Result<NS::SharedPtr<MTL::Buffer>> Context::allocate(uint64_t bytes, std::string_view label) const {
  auto buffer = NS::TransferPtr(
      device_->newBuffer(std::max<uint64_t>(bytes, 16), MTL::ResourceStorageModeShared));
  if (!buffer)
    return fail(ErrorKind::OutOfMemory, "Buffer \"{}\" of {} bytes cannot be had.", label, bytes);
  buffer->setLabel(nsString(std::string(label)).get());
  return buffer;
}

Result<NS::SharedPtr<MTL::Buffer>> Context::allocateForDevice(uint64_t bytes, std::string_view label) const {
  if (unifiedMemory())
    return allocate(bytes, label);
  auto buffer = NS::TransferPtr(
      device_->newBuffer(std::max<uint64_t>(bytes, 16), MTL::ResourceStorageModePrivate));
  if (!buffer)
    return fail(ErrorKind::OutOfMemory, "The device has no room for buffer \"{}\" of {} bytes.", label, bytes);
  buffer->setLabel(nsString(std::string(label)).get());
  return buffer;
}

Result<NS::SharedPtr<MTL::Buffer>> Context::settled(NS::SharedPtr<MTL::Buffer> buffer) const {
  if (unifiedMemory())
    return buffer;
  PEWTER_TRY(auto own, allocateForDevice(buffer->length(), textOf(buffer->label())));
  PEWTER_TRY_VOID(copy({{buffer.get(), 0, own.get(), 0, buffer->length()}}));
  return own;
}

Result<void> Context::copy(std::span<const Copy> copies) const {
  if (unifiedMemory()) {
    for (const Copy &c : copies)
      std::memcpy(static_cast<std::byte *>(c.to->contents()) + c.toOffset,
                  static_cast<const std::byte *>(c.from->contents()) + c.fromOffset, c.bytes);
    return {};
  }
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto *buffer = queue_->commandBuffer();
  auto *blit = buffer->blitCommandEncoder();
  for (const Copy &c : copies)
    blit->copyFromBuffer(c.from, c.fromOffset, c.to, c.toOffset, c.bytes);
  blit->endEncoding();
  buffer->commit();
  return wait(buffer);
}

Result<void> Context::wait(MTL::CommandBuffer *buffer) const {
  if (buffer->status() >= MTL::CommandBufferStatusCompleted)
    return resultOf(buffer);
  if (lendThread_) {
    buffer->waitUntilCompleted();
    return resultOf(buffer);
  }
  struct Watch {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
  };
  auto watch = std::make_shared<Watch>();
  std::thread([watch, kept = NS::RetainPtr(buffer)] {
    kept->waitUntilCompleted();
    std::lock_guard lock(watch->mutex);
    watch->done = true;
    watch->ended.notify_all();
  }).detach();
  std::unique_lock lock(watch->mutex);
  auto limit = std::chrono::duration<double>(options_.waitSeconds);
  if (!watch->ended.wait_for(lock, limit, [&] { return watch->done; }))
    return fail(ErrorKind::Timeout,
                "Command buffer \"{}\" did not end within {} seconds; its status is \"{}\".",
                textOf(buffer->label()), options_.waitSeconds, nameOf(buffer->status()));
  return resultOf(buffer);
}

} // namespace pewter::muse

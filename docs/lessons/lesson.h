// SPDX-License-Identifier: Apache-2.0
//
// What the lessons share: the device, kernels of kernels/*.metal as pipeline states, a check that says
// what failed, and the bounded wait. Everything else stands in the lessons, spelled out.
#pragma once
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace lesson {

inline void check(bool holds, const std::string &what) {
  if (holds)
    return;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  std::exit(1);
}

inline NS::String *text(const std::string &value) {
  return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
}

inline void checkNoError(NS::Error *error, const std::string &what) {
  check(!error, what + ": " + (error ? error->localizedDescription()->utf8String() : ""));
}

/// The handles that are made once and kept.
struct Context {
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::SharedPtr<MTL::CommandQueue> queue;

  Context() {
    check(device.get(), "There is no Metal device.");
    queue = NS::TransferPtr(device->newCommandQueue());
  }

  NS::SharedPtr<MTL::ComputePipelineState> pipelineFromSource(const std::string &source,
                                                              const char *kernel) {
    NS::Error *error = nullptr;
    auto library = NS::TransferPtr(device->newLibrary(text(source), nullptr, &error));
    checkNoError(library ? nullptr : error, std::string("The library of ") + kernel);
    auto function = NS::TransferPtr(library->newFunction(text(kernel)));
    check(function.get(), std::string("The library has no function ") + kernel);
    auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    checkNoError(pipeline ? nullptr : error, std::string("The pipeline of ") + kernel);
    return pipeline;
  }

  /// A kernel of the file `file` in kernels/.
  NS::SharedPtr<MTL::ComputePipelineState> pipeline(const std::string &file, const char *kernel) {
    std::ifstream stream(std::string(LESSON_KERNELS) + "/" + file);
    check(stream.good(), "Cannot read " + file);
    std::stringstream source;
    source << stream.rdbuf();
    return pipelineFromSource(source.str(), kernel);
  }

  template <class T> NS::SharedPtr<MTL::Buffer> buffer(const std::vector<T> &values) {
    return NS::TransferPtr(
        device->newBuffer(values.data(), values.size() * sizeof(T), MTL::ResourceStorageModeShared));
  }
};

template <class T> T *contents(const NS::SharedPtr<MTL::Buffer> &buffer) {
  return static_cast<T *>(buffer->contents());
}

/// Waits until the deadline and no longer. Returns "" for success, otherwise what happened: the
/// seconds, the command buffer's status, and its label.
class BoundedWait {
public:
  /// Before commit: Metal takes no handler afterwards.
  explicit BoundedWait(MTL::CommandBuffer *commands) : commands_(commands) {
    auto state = state_;
    commands->addCompletedHandler([state](MTL::CommandBuffer *) {
      std::lock_guard lock(state->mutex);
      state->done = true;
      state->signal.notify_all();
    });
  }

  std::string wait(std::chrono::milliseconds deadline) {
    std::unique_lock lock(state_->mutex);
    bool done = state_->signal.wait_for(lock, deadline, [this] { return state_->done; });
    auto status = static_cast<unsigned>(commands_->status());
    std::string label = commands_->label() ? commands_->label()->utf8String() : "";
    std::string where = "command buffer \"" + label + "\", status " + std::to_string(status);
    if (!done)
      return "Deadline of " + std::to_string(deadline.count() / 1000.0) + " s passed: " + where;
    if (commands_->status() == MTL::CommandBufferStatusError)
      return "Failed: " + where + ": " + commands_->error()->localizedDescription()->utf8String();
    return "";
  }

private:
  /// Shared with the handler, which may run after the one who waited has gone on.
  struct State {
    std::mutex mutex;
    std::condition_variable signal;
    bool done = false;
  };
  MTL::CommandBuffer *commands_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline void finish(MTL::CommandBuffer *commands) {
  BoundedWait wait(commands);
  commands->commit();
  std::string problem = wait.wait(std::chrono::seconds(60));
  check(problem.empty(), problem);
}

} // namespace lesson

// SPDX-License-Identifier: Apache-2.0
//
// ApiTest: a fixture that runs once for each device of this machine, the null device included.
// `executes()` is false there: what commands leave in memory is looked at only where they run.
// Misuse messages are collected, and a test fails if it leaves one that it did not take.
#pragma once
#include <Metal/Metal.hpp>
#include <Pewter/Pewter.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

namespace pewter::test {

inline std::vector<std::string> deviceKinds() {
  std::vector<std::string> kinds;
  for (const char *kind : {"null", "cpu", "cuda"})
    if (Pewter::CreateDevice(kind))
      kinds.push_back(kind);
  return kinds;
}

inline std::string text(const NS::String *string) { return string ? string->utf8String() : ""; }
inline std::string text(const NS::Error *error) {
  return error ? error->localizedDescription()->utf8String() : "";
}
inline NS::String *string(const std::string &text) {
  return NS::String::string(text.c_str(), NS::UTF8StringEncoding);
}

class ApiTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    pool_ = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    device = Pewter::CreateDevice(GetParam().c_str());
    ASSERT_NE(device, nullptr);
    queue = NS::TransferPtr(device->newCommandQueue());
    Pewter::SetMisuseHandler([this](const char *message) {
      std::lock_guard lock(mutex_);
      misuses_.push_back(message);
    });
  }
  void TearDown() override {
    queue.reset();
    pool_.reset();
    Pewter::SetMisuseHandler({});
    EXPECT_THAT(misuses_, testing::IsEmpty());
  }

  bool executes() const { return GetParam() != "null"; }
  /// The messages since the last call, joined.
  std::string takeMisuse() {
    std::lock_guard lock(mutex_);
    std::string all;
    for (auto &message : misuses_)
      all += message + "\n";
    misuses_.clear();
    return all;
  }
  NS::SharedPtr<MTL::Buffer> buffer(size_t length,
                                    MTL::ResourceOptions options = MTL::ResourceStorageModeShared) {
    return NS::TransferPtr(device->newBuffer(length, options));
  }
  template <class T> NS::SharedPtr<MTL::Buffer> bufferOf(const std::vector<T> &values) {
    return NS::TransferPtr(device->newBuffer(values.data(), values.size() * sizeof(T),
                                             MTL::ResourceStorageModeShared));
  }
  template <class T> static std::vector<T> contentsOf(const NS::SharedPtr<MTL::Buffer> &buffer) {
    auto *first = static_cast<const T *>(buffer->contents());
    return std::vector<T>(first, first + buffer->length() / sizeof(T));
  }
  /// Commits and waits; the buffer must complete.
  static void finish(MTL::CommandBuffer *commands) {
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted) << text(commands->error());
  }

  MTL::Device *device = nullptr;
  NS::SharedPtr<MTL::CommandQueue> queue;

private:
  NS::SharedPtr<NS::AutoreleasePool> pool_;
  std::mutex mutex_;
  std::vector<std::string> misuses_;
};

} // namespace pewter::test

/// Instantiates a fixture derived from ApiTest for every device.
#define PEWTER_EVERY_DEVICE(Fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(Devices, Fixture, ::testing::ValuesIn(pewter::test::deviceKinds()),       \
                           [](auto &info) { return info.param; })

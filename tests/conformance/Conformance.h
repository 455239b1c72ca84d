// SPDX-License-Identifier: Apache-2.0
//
// Conformance: compiles a chapter (NAME.metal beside this file) in safe math mode and runs its kernels on
// buffers of the host. Every chapter's test computes what must come out by itself.
#pragma once
#include "base/Half.h"
#include <Metal/Metal.hpp>
#include <Pewter/Pewter.hpp>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <vector>

namespace pewter::test {

inline NS::String *textFor(const std::string &text) {
  return NS::String::string(text.c_str(), NS::UTF8StringEncoding);
}

class Chapter : public testing::Test {
protected:
  explicit Chapter(std::string name) : name_(std::move(name)) {}

  void SetUp() override {
    pool_ = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    device = Pewter::CreateDevice("cpu");
    ASSERT_NE(device, nullptr);
    queue_ = NS::TransferPtr(device->newCommandQueue());
    static auto &libraries = *new std::map<std::string, MTL::Library *>();
    MTL::Library *&entry = libraries[name_];
    if (!entry) {
      std::ifstream file(std::string(PEWTER_SOURCE_DIR "/tests/conformance/") + name_ + ".metal");
      std::stringstream text;
      text << file.rdbuf();
      auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
      options->setMathMode(MTL::MathModeSafe);
      NS::Error *error = nullptr;
      entry = device->newLibrary(textFor(text.str()), options.get(), &error);
      ASSERT_NE(entry, nullptr) << error->localizedDescription()->utf8String();
    }
    library = entry;
  }

  template <class T> NS::SharedPtr<MTL::Buffer> buffer(std::span<const T> values) {
    return NS::TransferPtr(device->newBuffer(values.data(), values.size_bytes(), MTL::ResourceStorageModeShared));
  }
  template <class T> NS::SharedPtr<MTL::Buffer> buffer(const std::vector<T> &values) {
    return buffer(std::span<const T>(values));
  }
  /// Filled with bytes that are no good answer.
  NS::SharedPtr<MTL::Buffer> room(size_t bytes) {
    auto made = NS::TransferPtr(device->newBuffer(bytes, MTL::ResourceStorageModeShared));
    std::memset(made->contents(), 0xa5, bytes);
    return made;
  }
  template <class T> static std::vector<T> contents(const NS::SharedPtr<MTL::Buffer> &b) {
    std::vector<T> values(b->length() / sizeof(T));
    std::memcpy(values.data(), b->contents(), values.size() * sizeof(T));
    return values;
  }

  void run(const std::string &kernel, const std::vector<NS::SharedPtr<MTL::Buffer>> &buffers, size_t threads,
           size_t group = 32, size_t threadgroupBytes = 0, const MTL::FunctionConstantValues *values = nullptr) {
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(values ? library->newFunction(textFor(kernel), values, &error)
                                           : library->newFunction(textFor(kernel)));
    ASSERT_TRUE(function) << kernel << (error ? error->localizedDescription()->utf8String() : "");
    auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(state) << error->localizedDescription()->utf8String();
    MTL::CommandBuffer *commands = queue_->commandBuffer();
    MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i])
        encoder->setBuffer(buffers[i].get(), 0, i);
    if (threadgroupBytes)
      encoder->setThreadgroupMemoryLength(threadgroupBytes, 0);
    encoder->dispatchThreads(MTL::Size(threads, 1, 1), MTL::Size(group, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted)
        << kernel << ": " << commands->error()->localizedDescription()->utf8String();
  }

  std::mt19937_64 random{std::random_device{}()};
  MTL::Device *device = nullptr;
  MTL::Library *library = nullptr;

private:
  std::string name_;
  NS::SharedPtr<NS::AutoreleasePool> pool_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
};

/// The sixteen-bit floats of kernels.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(double x) : bits(halfFromFloat(static_cast<float>(x))) {}
  operator double() const { return floatFromHalf(bits); }
};
struct BFloat {
  uint16_t bits = 0;
  BFloat() = default;
  explicit BFloat(double x) {
    const uint32_t word = std::bit_cast<uint32_t>(static_cast<float>(x));
    bits = std::isnan(x) ? 0x7fc0 : static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  operator double() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// Integers that reach the corners of their type often.
template <class T> T anyInteger(std::mt19937_64 &random) {
  switch (random() % 8) {
  case 0:
    return std::numeric_limits<T>::max();
  case 1:
    return std::numeric_limits<T>::min();
  case 2:
    return T(random() % 7) - T(3);
  case 3:
    return T(1) << (random() % (sizeof(T) * 8 - 1));
  default:
    return T(random());
  }
}

template <class T> constexpr const char *kTypeName = nullptr;
template <> inline constexpr const char *kTypeName<int8_t> = "char";
template <> inline constexpr const char *kTypeName<uint8_t> = "uchar";
template <> inline constexpr const char *kTypeName<int16_t> = "short";
template <> inline constexpr const char *kTypeName<uint16_t> = "ushort";
template <> inline constexpr const char *kTypeName<int32_t> = "int";
template <> inline constexpr const char *kTypeName<uint32_t> = "uint";
template <> inline constexpr const char *kTypeName<int64_t> = "long";
template <> inline constexpr const char *kTypeName<uint64_t> = "ulong";
template <> inline constexpr const char *kTypeName<Half> = "half";
template <> inline constexpr const char *kTypeName<BFloat> = "bfloat";
template <> inline constexpr const char *kTypeName<float> = "float";
template <> inline constexpr const char *kTypeName<bool> = "bool";

} // namespace pewter::test

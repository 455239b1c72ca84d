// SPDX-License-Identifier: Apache-2.0
#include "device/null/NullDevice.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include "device/CompilerLibrary.h"
#include <cstring>
#include <future>
#include <gtest/gtest.h>

namespace pewter::device::null {
namespace {

std::shared_ptr<Device> device() { return connect().at(0); }

TEST(NullDevice, IsOne) { EXPECT_EQ(device(), device()); }

TEST(NullDevice, MemoryIsRealZeroedAndCounted) {
  uint64_t before = device()->currentAllocatedSize();
  auto memory = device()->allocate(1000, StorageMode::Private).value();
  EXPECT_EQ(device()->currentAllocatedSize(), before + 1000);
  auto *bytes = static_cast<unsigned char *>(memory->contents());
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(bytes[i], 0);
  std::memset(bytes, 1, 1000);
  memory.reset();
  EXPECT_EQ(device()->currentAllocatedSize(), before);
  EXPECT_EQ(device()->allocate(uint64_t(1) << 60, StorageMode::Shared).error().kind(),
            ErrorKind::OutOfMemory);
}

TEST(NullDevice, WrappedMemoryIsReleasedOnce) {
  char bytes[64];
  int released = 0;
  auto memory = device()->wrap(bytes, sizeof(bytes), [&] { ++released; }).value();
  EXPECT_EQ(memory->contents(), bytes);
  EXPECT_EQ(released, 0);
  memory.reset();
  EXPECT_EQ(released, 1);
}

int described = 0;
Result<compiler::ModuleDescription> describeTwo(ByteView) {
  ++described;
  compiler::ModuleDescription description;
  for (const char *name : {"first", "second"}) {
    description.kernels.emplace_back().name = name;
    description.kernels.back().maxTotalThreadsPerThreadgroup = 256;
  }
  return description;
}

// Reflection comes from the compiler once, and from the cache after.
TEST(NullDevice, PipelinesHaveReflection) {
  pewter::testing::TemporaryFolder folder;
  pewter::testing::ScopedEnvironment cache("PEWTER_CACHE_DIR", folder.path().string());
  compiler::EntryPoints points{"", {}, {}, describeTwo, {}, {}};
  auto before = replaceCompiler(&points);
  PipelineRequest request;
  request.module = std::make_shared<Bytes>(10);
  request.function = "second";
  auto pipeline = device()->createPipeline(request).value();
  EXPECT_EQ(pipeline->reflection().name, "second");
  EXPECT_EQ(pipeline->maxTotalThreadsPerThreadgroup(), 256u);
  EXPECT_TRUE(pipeline->prepare({33, 1, 1}, true));
  EXPECT_EQ(device()->createPipeline(request).value()->reflection().name, "second");
  EXPECT_EQ(described, 1);
  request.function = "third";
  auto missing = device()->createPipeline(request);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("\"third\""), std::string::npos);
  replaceCompiler(before);
}

// Streams complete in order, and events between queues hold them up.
TEST(NullDevice, EventsOrderQueues) {
  auto event = device()->createEvent();
  auto first = device()->createQueue(), second = device()->createQueue();
  auto waits = std::make_unique<CommandStream>();
  auto *wait = waits->append<EventCommand>(CommandKind::WaitEvent);
  wait->event = event.get();
  wait->value = 1;
  std::promise<uint64_t> seen;
  first->submit(std::move(waits), {}, [&](const Completion &c) {
    EXPECT_FALSE(c.error);
    EXPECT_LE(c.gpuStart, c.gpuEnd);
    seen.set_value(event->value());
  });
  auto signals = std::make_unique<CommandStream>();
  auto *signal = signals->append<EventCommand>(CommandKind::SignalEvent);
  signal->event = event.get();
  signal->value = 1;
  second->submit(std::move(signals), {}, [](const Completion &) {});
  EXPECT_EQ(seen.get_future().get(), 1u);
}

} // namespace
} // namespace pewter::device::null

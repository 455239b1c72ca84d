// SPDX-License-Identifier: Apache-2.0
//
// Lesson 8: never wait without a deadline. The kernel below spins until the host raises a flag. The wait
// gives up after its deadline with an error that carries the command buffer's label and status, and the
// caller goes on; later the flag is raised and the same command buffer completes.
#include "lesson.h"
#include <atomic>
using namespace lesson;

static const char *const kSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void wait_for_flag(device atomic_uint *flag [[buffer(0)]], device uint *turns [[buffer(1)]]) {
  uint count = 0;
  while (atomic_load_explicit(flag, memory_order_relaxed) == 0)
    ++count;
  turns[0] = count + 1;
}
)";

int main() {
  Context metal;
  auto pipeline = metal.pipelineFromSource(kSource, "wait_for_flag");
  auto flag = metal.buffer(std::vector<uint32_t>{0});
  auto turns = metal.buffer(std::vector<uint32_t>{0});
  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  commands->setLabel(text("endless"));
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  encoder->setBuffer(flag.get(), 0, 0);
  encoder->setBuffer(turns.get(), 0, 1);
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();

  BoundedWait wait(commands);
  commands->commit();
  std::string problem = wait.wait(std::chrono::milliseconds(500));
  std::printf("%s\n", problem.c_str());
  check(problem.find("0.5") != std::string::npos, "The error names the deadline.");
  check(problem.find("\"endless\"") != std::string::npos, "The error carries the label.");
  auto status = commands->status();
  check(status == MTL::CommandBufferStatusCommitted || status == MTL::CommandBufferStatusScheduled,
        "The command buffer is still under way.");
  check(problem.find("status " + std::to_string(status)) != std::string::npos, "And the status.");
  check(contents<uint32_t>(turns)[0] == 0, "It has not ended.");

  reinterpret_cast<std::atomic<uint32_t> *>(flag->contents())->store(1);
  problem = wait.wait(std::chrono::seconds(30));
  check(problem.empty(), problem);
  check(contents<uint32_t>(turns)[0] > 0, "The kernel ended once the flag was up.");
  std::printf("The caller survived; the kernel ended when it was told to.\n");
}

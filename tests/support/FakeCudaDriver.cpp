// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaDriver.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace pewter::cuda::testing {
namespace {

struct State {
  FakeCuda fake;
  std::vector<std::unique_ptr<std::string>> functions;
  std::vector<std::unique_ptr<FakeGraphNode>> nodes;
  std::map<void *, std::vector<FakeGraphNode *>> graphs;
  uintptr_t nextHandle = 0x1000;
};
State *state = nullptr;

std::mutex mutex; ///< A queue that was given up destroys its player on its own thread.

/// Logs a call; the result it must give.
int enter(const char *name) {
  std::lock_guard lock(mutex);
  state->fake.calls.push_back(name);
  auto failure = state->fake.failures.find(name);
  return failure == state->fake.failures.end() ? 0 : failure->second;
}
template <class T> T handle() { return reinterpret_cast<T>(state->nextHandle += 0x10); }

FakeLaunch launchOf(void *function, const unsigned *grid, const unsigned *block, unsigned shared,
                    void **parameters) {
  FakeLaunch launch;
  launch.kernel = *static_cast<std::string *>(function);
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  launch.sharedBytes = shared;
  for (unsigned i = 0; i < state->fake.parameterCount; ++i)
    launch.arguments.push_back(*static_cast<uint64_t *>(parameters[i]));
  return launch;
}
FakeLaunch launchOf(const CuKernelNodeParams &p) {
  const unsigned grid[] = {p.gridX, p.gridY, p.gridZ}, block[] = {p.blockX, p.blockY, p.blockZ};
  return launchOf(p.function, grid, block, p.sharedBytes, p.kernelParams);
}

#define FAKE(name, ...)                                                                             \
  if (int result = enter(name))                                                                     \
    return result;                                                                                  \
  __VA_ARGS__;                                                                                      \
  return 0

int fakeAttribute(int *value, int which, CuDevice) {
  FAKE("cuDeviceGetAttribute", *value = which == kAttributeMajor            ? 9
                                        : which == kAttributeMinor          ? 0
                                        : which == kAttributeMaxSharedOptIn ? 232448
                                                                            : 132);
}
int fakeAllocate(CuAddress *address, size_t size) {
  FAKE("cuMemAlloc", *address = reinterpret_cast<CuAddress>(std::aligned_alloc(256, (size + 255) / 256 * 256)));
}
int fakeAllocateHost(void **address, size_t size, unsigned) {
  FAKE("cuMemHostAlloc", *address = std::aligned_alloc(256, (size + 255) / 256 * 256));
}

Driver makeDriver() {
  Driver d;
  d.init = [](unsigned) { FAKE("cuInit", (void)0); };
  d.errorName = [](int, const char **name) { *name = "CUDA_ERROR_FAKE"; return 0; };
  d.errorString = [](int, const char **text) { *text = "made to fail"; return 0; };
  d.deviceCount = [](int *count) { FAKE("cuDeviceGetCount", *count = state->fake.deviceCount); };
  d.deviceGet = [](CuDevice *device, int index) { FAKE("cuDeviceGet", *device = index); };
  d.deviceName = [](char *name, int size, CuDevice) { FAKE("cuDeviceGetName", std::snprintf(name, size_t(size), "Fake GPU")); };
  d.deviceAttribute = fakeAttribute;
  d.deviceMemory = [](size_t *bytes, CuDevice) { FAKE("cuDeviceTotalMem", *bytes = size_t(1) << 33); };
  d.retainContext = [](CuContext *context, CuDevice) { FAKE("cuDevicePrimaryCtxRetain", *context = handle<CuContext>()); };
  d.setContext = [](CuContext) { return 0; };
  d.allocate = fakeAllocate;
  d.release = [](CuAddress address) { FAKE("cuMemFree", std::free(reinterpret_cast<void *>(address))); };
  d.allocateHost = fakeAllocateHost;
  d.releaseHost = [](void *address) { FAKE("cuMemFreeHost", std::free(address)); };
  d.registerHost = [](void *, size_t, unsigned) { FAKE("cuMemHostRegister", (void)0); };
  d.unregisterHost = [](void *) { FAKE("cuMemHostUnregister", (void)0); };
  d.hostDeviceAddress = [](CuAddress *address, void *host, unsigned) {
    FAKE("cuMemHostGetDevicePointer", *address = reinterpret_cast<CuAddress>(host));
  };
  d.copyToDevice = [](CuAddress to, const void *from, size_t size, CuStream) {
    FAKE("cuMemcpyHtoDAsync", std::memcpy(reinterpret_cast<void *>(to), from, size));
  };
  d.copyToHost = [](void *to, CuAddress from, size_t size, CuStream) {
    FAKE("cuMemcpyDtoHAsync", std::memcpy(to, reinterpret_cast<void *>(from), size));
  };
  d.copy = [](CuAddress to, CuAddress from, size_t size, CuStream) {
    FAKE("cuMemcpyAsync", std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), size));
  };
  d.fill = [](CuAddress to, unsigned char value, size_t size, CuStream) {
    FAKE("cuMemsetD8Async", std::memset(reinterpret_cast<void *>(to), value, size));
  };
  d.fillNow = [](CuAddress to, unsigned char value, size_t size) {
    FAKE("cuMemsetD8", std::memset(reinterpret_cast<void *>(to), value, size));
  };
  d.loadModule = [](CuModule *module, const void *, unsigned, int *, void **) {
    FAKE("cuModuleLoadDataEx", *module = handle<CuModule>());
  };
  d.unloadModule = [](CuModule) { FAKE("cuModuleUnload", (void)0); };
  d.getFunction = [](CuFunction *function, CuModule, const char *name) {
    state->functions.push_back(std::make_unique<std::string>(name));
    FAKE("cuModuleGetFunction", *function = reinterpret_cast<CuFunction>(state->functions.back().get()));
  };
  d.functionAttribute = [](int *value, int, CuFunction) { FAKE("cuFuncGetAttribute", *value = state->fake.maxThreads); };
  d.setFunctionAttribute = [](CuFunction, int, int) { FAKE("cuFuncSetAttribute", (void)0); };
  d.createStream = [](CuStream *stream, unsigned) { FAKE("cuStreamCreate", *stream = handle<CuStream>()); };
  d.destroyStream = [](CuStream) { FAKE("cuStreamDestroy", (void)0); };
  d.synchronize = [](CuStream) { FAKE("cuStreamSynchronize", (void)0); };
  d.createEvent = [](CuEvent *event, unsigned) { FAKE("cuEventCreate", *event = handle<CuEvent>()); };
  d.destroyEvent = [](CuEvent) { FAKE("cuEventDestroy", (void)0); };
  d.recordEvent = [](CuEvent, CuStream) { FAKE("cuEventRecord", (void)0); };
  d.elapsedMilliseconds = [](float *ms, CuEvent, CuEvent) { FAKE("cuEventElapsedTime", *ms = 2.0f); };
  d.launch = [](CuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                unsigned bz, unsigned shared, CuStream, void **parameters, void **) {
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    FAKE("cuLaunchKernel", state->fake.launches.push_back(launchOf(function, grid, block, shared, parameters)));
  };
  d.createGraph = [](CuGraph *graph, unsigned) { FAKE("cuGraphCreate", *graph = handle<CuGraph>()); };
  d.destroyGraph = [](CuGraph) { FAKE("cuGraphDestroy", (void)0); };
  d.addKernelNode = [](CuGraphNode *node, CuGraph graph, const CuGraphNode *waits, size_t count,
                       const CuKernelNodeParams *params) {
    auto made = std::make_unique<FakeGraphNode>();
    made->launch = launchOf(*params);
    for (size_t i = 0; i < count; ++i)
      made->waitsFor.push_back(reinterpret_cast<FakeGraphNode *>(waits[i]));
    *node = reinterpret_cast<CuGraphNode>(made.get());
    state->graphs[graph].push_back(made.get());
    state->nodes.push_back(std::move(made));
    FAKE("cuGraphAddKernelNode", (void)0);
  };
  d.addEmptyNode = [](CuGraphNode *node, CuGraph graph, const CuGraphNode *waits, size_t count) {
    auto made = std::make_unique<FakeGraphNode>();
    for (size_t i = 0; i < count; ++i)
      made->waitsFor.push_back(reinterpret_cast<FakeGraphNode *>(waits[i]));
    *node = reinterpret_cast<CuGraphNode>(made.get());
    state->graphs[graph].push_back(made.get());
    state->nodes.push_back(std::move(made));
    FAKE("cuGraphAddEmptyNode", (void)0);
  };
  d.instantiate = [](CuGraphExec *executable, CuGraph graph, unsigned long long) {
    FAKE("cuGraphInstantiate", *executable = reinterpret_cast<CuGraphExec>(graph));
  };
  d.addDependencies = [](CuGraph, const CuGraphNode *from, const CuGraphNode *to, const CuGraphEdge *edges, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto *node = reinterpret_cast<FakeGraphNode *>(to[i]);
      node->waitsFor.push_back(reinterpret_cast<FakeGraphNode *>(from[i]));
      node->mayOverlap = edges[i].type == kProgrammaticEdge.type;
    }
    FAKE("cuGraphAddDependencies", (void)0);
  };
  d.setKernelNode = [](CuGraphExec, CuGraphNode node, const CuKernelNodeParams *params) {
    FAKE("cuGraphExecKernelNodeSetParams", reinterpret_cast<FakeGraphNode *>(node)->launch = launchOf(*params));
  };
  d.destroyGraphExec = [](CuGraphExec) { FAKE("cuGraphExecDestroy", (void)0); };
  d.launchGraph = [](CuGraphExec executable, CuStream) {
    state->fake.lastGraph.clear();
    for (FakeGraphNode *node : state->graphs[executable]) {
      state->fake.lastGraph.push_back(node);
      if (!node->launch.kernel.empty())
        state->fake.launches.push_back(node->launch);
    }
    FAKE("cuGraphLaunch", (void)0);
  };
  return d;
}

} // namespace

size_t FakeCuda::count(const std::string &call) const {
  return size_t(std::count(calls.begin(), calls.end(), call));
}

FakeCudaScope::FakeCudaScope() {
  state = new State;
  static const Driver driver = makeDriver();
  setDriverForTesting(&driver);
}

FakeCudaScope::~FakeCudaScope() {
  // Players call the driver until they are gone.
  auto streamsLeft = [] {
    std::lock_guard lock(mutex);
    return state->fake.count("cuStreamCreate") - state->fake.count("cuStreamDestroy");
  };
  for (int i = 0; i < 5000 && streamsLeft() != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  setDriverForTesting(nullptr);
  delete state;
  state = nullptr;
}

FakeCuda &FakeCudaScope::fake() { return state->fake; }

} // namespace pewter::cuda::testing

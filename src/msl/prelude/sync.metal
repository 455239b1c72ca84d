// SPDX-License-Identifier: Apache-2.0
// Barriers, fences, function constants.
namespace metal {
// What kernels write for the commands that a host encodes.
struct MTLDispatchThreadgroupsIndirectArguments {
  uint threadgroupsPerGrid[3];
};
struct MTLStageInRegionIndirectArguments {
  uint stageInOrigin[3];
  uint stageInSize[3];
};
struct MTLDrawPrimitivesIndirectArguments {
  uint vertexCount, instanceCount, vertexStart, baseInstance;
};
struct MTLDrawIndexedPrimitivesIndirectArguments {
  uint indexCount, instanceCount, indexStart;
  int baseVertex;
  uint baseInstance;
};
struct MTLDrawPatchIndirectArguments {
  uint patchCount, instanceCount, patchStart, baseInstance;
};

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16
};
METAL_FUNC constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return mem_flags((uint)a | (uint)b);
}
METAL_FUNC constexpr mem_flags operator&(mem_flags a, mem_flags b) {
  return mem_flags((uint)a & (uint)b);
}
enum memory_order {
  memory_order_relaxed = 0,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5
};
enum thread_scope {
  thread_scope_thread = 0,
  thread_scope_threadgroup = 1,
  thread_scope_device = 2,
  thread_scope_simdgroup = 4
};

void __air_wg_barrier(uint, uint) __attribute__((convergent, nothrow)) __asm("air.wg.barrier");
void __air_simdgroup_barrier(uint, uint) __attribute__((convergent, nothrow))
__asm("air.simdgroup.barrier");
void __air_fence(uint, uint, uint) __attribute__((nothrow)) __asm("air.atomic.fence");

METAL_FUNC void threadgroup_barrier(mem_flags flags) { __air_wg_barrier((uint)flags, 1); }
METAL_FUNC void threadgroup_barrier(mem_flags flags, thread_scope scope) {
  __air_wg_barrier((uint)flags, (uint)scope);
}
METAL_FUNC void simdgroup_barrier(mem_flags flags) { __air_simdgroup_barrier((uint)flags, 4); }
METAL_FUNC void simdgroup_barrier(mem_flags flags, thread_scope scope) {
  __air_simdgroup_barrier((uint)flags, (uint)scope);
}
METAL_FUNC void atomic_thread_fence(mem_flags flags, memory_order order = memory_order_seq_cst,
                                    thread_scope scope = thread_scope_device) {
  __air_fence((uint)flags, (uint)order, (uint)scope);
}

bool __air_fc_defined(const constant void *) __attribute__((const, nothrow))
__asm("air.is_function_constant_defined");
} // namespace metal
#define is_function_constant_defined(x) (::metal::__air_fc_defined((const constant void *)&(x)))

# SPDX-License-Identifier: Apache-2.0
# The engine's kernels travel inside libpewter as text: one header with a name and a raw string for
# each, in the order in which they are concatenated; includes of each other are left out.
set(engine_kernels formats matvec matvec_held matvecs_held embedding norms_1sg norms_32sg elementwise kv_cache decode_gpu
    argmax prefill_matmul prefill_int8 prefill_layout prefill_attention prefill_gemm)
set(engine_kernel_text "")
foreach(name IN LISTS engine_kernels)
  set(path ${CMAKE_SOURCE_DIR}/kernels/${name}.metal)
  if(NOT EXISTS ${path})
    continue()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  string(REGEX REPLACE "#include \"[^\"]*\"\n" "\n" text "${text}")
  string(APPEND engine_kernel_text "{\"${name}.metal\", R\"metal(${text})metal\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/EngineKernels.inc
     CONTENT "@engine_kernel_text@" @ONLY)

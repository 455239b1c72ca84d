# SPDX-License-Identifier: Apache-2.0
# The MSL standard library: written and generated as text (prelude/), precompiled by our own driver,
# and embedded in libpewter-compiler. The driver (frontend/) is therefore built once, as objects, for
# the tool that precompiles and for the library.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

pewter_sources(msl_frontend_sources msl/frontend)
add_library(pewter-msl-frontend OBJECT ${msl_frontend_sources})
target_include_directories(pewter-msl-frontend PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(pewter-msl-frontend SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
target_link_libraries(pewter-msl-frontend PRIVATE fmt::fmt)

set(msl_build ${CMAKE_CURRENT_BINARY_DIR}/msl)
file(MAKE_DIRECTORY ${msl_build})
file(GLOB msl_prelude_parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/prelude/*.py
     ${CMAKE_CURRENT_LIST_DIR}/prelude/*.metal)
add_custom_command(
  OUTPUT ${msl_build}/prelude.metal
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/prelude/generate.py ${msl_build}/prelude.metal
  DEPENDS ${msl_prelude_parts}
  COMMENT "Generating the MSL standard library" VERBATIM)

add_executable(pewter-precompile ${CMAKE_CURRENT_LIST_DIR}/prelude/precompile.cpp
               $<TARGET_OBJECTS:pewter-msl-frontend>)
target_include_directories(pewter-precompile PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(pewter-precompile SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
target_link_libraries(pewter-precompile PRIVATE pewter fmt::fmt clang-cpp LLVM)

add_custom_command(
  OUTPUT ${msl_build}/prelude.pch
  COMMAND pewter-precompile ${msl_build}/prelude.metal ${msl_build}/prelude.pch
  DEPENDS pewter-precompile ${msl_build}/prelude.metal
  COMMENT "Precompiling the MSL standard library" VERBATIM)
set(msl_embed ${CMAKE_CURRENT_LIST_DIR}/prelude/embed.cpp)
set_source_files_properties(${msl_embed} PROPERTIES
  OBJECT_DEPENDS "${msl_build}/prelude.pch;${msl_build}/prelude.metal"
  COMPILE_OPTIONS "-I${msl_build};-Wa,-I${msl_build}")
target_sources(pewter-compiler PRIVATE $<TARGET_OBJECTS:pewter-msl-frontend> ${msl_embed})

# SPDX-License-Identifier: Apache-2.0
# Helpers shared by every CMakeLists.txt. Sources are found by their suffix (docs/hacking.md):
# X.cpp belongs to the library, X_test.cpp to the unit tests, X_bench.cpp to the benchmarks,
# X_fuzz.cpp to the fuzzers.
include(GNUInstallDirs)

find_program(PEWTER_CCACHE ccache)
if(PEWTER_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${PEWTER_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PEWTER_CCACHE})
endif()

find_program(PEWTER_LLD ld.lld-22)
if(PEWTER_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffp-contract=off)
if(PEWTER_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(PEWTER_SANITIZER)
  add_compile_options(-fsanitize=${PEWTER_SANITIZER} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PEWTER_SANITIZER})
  if(PEWTER_SANITIZER STREQUAL "undefined")
    # Its check of function types reads a word in front of the callee; generated code has none there.
    add_compile_options(-fno-sanitize=function)
  endif()
endif()

# pewter_sources(OUT FOLDER...): the library sources directly in the given folders of src/.
function(pewter_sources out)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB here CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
    list(FILTER here EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
    list(APPEND found ${here})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# pewter_suffixed_sources(OUT SUFFIX FOLDER...): the sources X_SUFFIX.cpp in the given folders.
function(pewter_suffixed_sources out suffix)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB here CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*_${suffix}.cpp)
    list(APPEND found ${here})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Folders without LLVM, in libpewter; folders with LLVM, in libpewter-compiler (docs/overview.md).
set(PEWTER_RUNTIME_FOLDERS base foundation air device device/null cpu cpu/abi cuda cuda/abi metal muse)
set(PEWTER_COMPILER_FOLDERS
    air/ir msl cpu/codegen cpu/codegen/analysis cpu/codegen/transform cpu/codegen/target
    cuda/codegen cuda/codegen/analysis cuda/codegen/transform cuda/codegen/target compiler)

# pewter_precompile(TARGET HEADER): parses the heavy headers of HEADER once for the whole target. Parsing
# them is most of the time that a source file takes. The flag lets ccache see that nothing changed.
function(pewter_precompile target header)
  target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${header}>)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()
if(PEWTER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PEWTER_CCACHE})
endif()

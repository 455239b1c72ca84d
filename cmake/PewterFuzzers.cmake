# SPDX-License-Identifier: Apache-2.0
# X_fuzz.cpp becomes the program X_fuzz, with libFuzzer and AddressSanitizer. A fuzzer is built from
# the sources that it tests, so that their branches guide it; only that of the MSL front-end, whose
# branches are clang's, links the library. None is part of the default build.
#
#   cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-22 -DPEWTER_BUILD_FUZZERS=ON
#   cmake --build build/fuzz --target Metallib_fuzz && build/fuzz/bin/Metallib_fuzz CORPUS
function(pewter_fuzzer_library name)
  cmake_parse_arguments(arg "" "" "FOLDERS;LINK" ${ARGN})
  pewter_sources(sources ${arg_FOLDERS})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${name} PUBLIC -fsanitize=address,fuzzer-no-link -g -O1)
  target_link_options(${name} PUBLIC -fsanitize=address)
  target_link_libraries(${name} PUBLIC fmt::fmt xxhash ${arg_LINK})
endfunction()

function(pewter_fuzzers library)
  pewter_suffixed_sources(sources fuzz ${ARGN})
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    if(TARGET ${name})
      continue() # GgufFile_fuzz, which has a library of its own.
    endif()
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE ${library})
    target_link_options(${name} PRIVATE -fsanitize=address,fuzzer)
  endforeach()
endfunction()

find_package(fmt REQUIRED)
pewter_fuzzer_library(pewter-fuzz-air FOLDERS base air)
pewter_fuzzers(pewter-fuzz-air air)

# The reader of GGUF files: the part of muse that needs no device.
add_library(pewter-fuzz-gguf STATIC EXCLUDE_FROM_ALL)
foreach(name IN ITEMS GgufFile GgufModel ModelConfig ModelTensors TensorFormat Dequantize)
  target_sources(pewter-fuzz-gguf PRIVATE ${CMAKE_SOURCE_DIR}/src/muse/${name}.cpp)
endforeach()
target_link_libraries(pewter-fuzz-gguf PUBLIC pewter-fuzz-air)
target_compile_options(pewter-fuzz-gguf PUBLIC -fsanitize=address,fuzzer-no-link -g -O1)
add_executable(GgufFile_fuzz EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/src/muse/GgufFile_fuzz.cpp)
target_link_libraries(GgufFile_fuzz PRIVATE pewter-fuzz-gguf)
target_link_options(GgufFile_fuzz PRIVATE -fsanitize=address,fuzzer)

# The server's readers of what anybody may send.
add_library(pewter-fuzz-serve STATIC EXCLUDE_FROM_ALL)
foreach(name IN ITEMS Grammar Json JsonSchema CompletionRequest)
  target_sources(pewter-fuzz-serve PRIVATE ${CMAKE_SOURCE_DIR}/src/serve/${name}.cpp)
endforeach()
target_sources(pewter-fuzz-serve PRIVATE ${CMAKE_SOURCE_DIR}/src/muse/Sampler.cpp)
target_include_directories(pewter-fuzz-serve PUBLIC ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(pewter-fuzz-serve PUBLIC pewter-fuzz-air)
target_compile_options(pewter-fuzz-serve PUBLIC -fsanitize=address,fuzzer-no-link -g -O1)
pewter_fuzzers(pewter-fuzz-serve serve)

if(PEWTER_BUILD_COMPILER)
  find_package(LLVM 22.1 REQUIRED CONFIG)
  pewter_fuzzer_library(pewter-fuzz-air-ir FOLDERS air/ir LINK pewter-fuzz-air LLVM)
  target_sources(pewter-fuzz-air-ir PRIVATE ${CMAKE_SOURCE_DIR}/src/compiler/Guarded.cpp)
  target_include_directories(pewter-fuzz-air-ir SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS})
  if(TARGET pewter-math-library)
    add_dependencies(pewter-fuzz-air-ir pewter-math-library)
    target_include_directories(pewter-fuzz-air-ir PRIVATE ${CMAKE_BINARY_DIR}/math ${CMAKE_BINARY_DIR}/texture)
  endif()
  pewter_fuzzers(pewter-fuzz-air-ir air/ir)
endif()

# The engine, on the library's public API.
pewter_fuzzer_library(pewter-fuzz-muse FOLDERS muse LINK pewter-fuzz-air pewter pcre2-8)
target_include_directories(pewter-fuzz-muse PRIVATE ${CMAKE_BINARY_DIR}/generated)
pewter_fuzzers(pewter-fuzz-muse muse)
if(TARGET pewter-compiler)
  add_library(pewter-fuzz-msl INTERFACE)
  target_include_directories(pewter-fuzz-msl INTERFACE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(pewter-fuzz-msl INTERFACE pewter pewter-compiler fmt::fmt)
  pewter_fuzzers(pewter-fuzz-msl msl)
endif()

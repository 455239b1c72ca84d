# SPDX-License-Identifier: Apache-2.0
# The math library: C sources to one bitcode module, embedded in libpewter-compiler as bytes. The
# triple only fixes sizes; LowerMath puts the kernel's own in its place.
find_program(PEWTER_LLVM_LINK NAMES llvm-link-22 llvm-link HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
find_program(PEWTER_CLANG NAMES clang-22 clang HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(math_folder ${CMAKE_CURRENT_LIST_DIR}/math)
set(math_build ${CMAKE_BINARY_DIR}/math)
file(MAKE_DIRECTORY ${math_build})
file(GLOB math_sources CONFIGURE_DEPENDS ${math_folder}/*.c)
file(GLOB math_headers CONFIGURE_DEPENDS ${math_folder}/*.h)
set(math_modules)
foreach(source IN LISTS math_sources)
  get_filename_component(name ${source} NAME_WE)
  set(module ${math_build}/${name}.bc)
  add_custom_command(
    OUTPUT ${module}
    COMMAND ${PEWTER_CLANG} --target=x86_64-unknown-linux -std=c23 -O2 -Wall -Wextra -Werror
            -ffreestanding -ffp-contract=off -fno-math-errno -fno-vectorize -fno-slp-vectorize
            -fno-unroll-loops -fno-stack-protector -fno-unwind-tables
            -fno-asynchronous-unwind-tables -fomit-frame-pointer -emit-llvm -I ${CMAKE_SOURCE_DIR}/src -c ${source} -o ${module}
    DEPENDS ${source} ${math_headers}
    COMMENT "Compiling math/${name}.c to bitcode"
    VERBATIM)
  list(APPEND math_modules ${module})
endforeach()
add_custom_command(
  OUTPUT ${math_build}/MathLibrary.bc ${math_build}/MathLibrary.inc
  COMMAND ${PEWTER_LLVM_LINK} ${math_modules} -o ${math_build}/MathLibrary.bc
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/math/embed.py
          ${math_build}/MathLibrary.bc ${math_build}/MathLibrary.inc
  DEPENDS ${math_modules} ${CMAKE_CURRENT_LIST_DIR}/math/embed.py
  COMMENT "Embedding the math library"
  VERBATIM)
target_sources(pewter-compiler PRIVATE ${math_build}/MathLibrary.inc)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/MathLibrary.cpp PROPERTIES
  INCLUDE_DIRECTORIES ${math_build} OBJECT_DEPENDS ${math_build}/MathLibrary.inc)
# For other users of the sources of this folder.
add_custom_target(pewter-math-library DEPENDS ${math_build}/MathLibrary.inc)

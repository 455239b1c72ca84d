# SPDX-License-Identifier: Apache-2.0
# The math and texture libraries: C sources to one bitcode module each, embedded in libpewter-compiler as bytes. The
# triple only fixes sizes; LowerMath puts the kernel's own in its place.
find_program(PEWTER_LLVM_LINK NAMES llvm-link-22 llvm-link HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
find_program(PEWTER_CLANG NAMES clang-22 clang HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(air_ir_folder ${CMAKE_CURRENT_LIST_DIR})

# FOLDER's C files, and those given besides, become LIBRARY.inc.
function(pewter_embed_bitcode folder library)
  set(build ${CMAKE_BINARY_DIR}/${folder})
  file(MAKE_DIRECTORY ${build})
  file(GLOB sources CONFIGURE_DEPENDS ${air_ir_folder}/${folder}/*.c)
  file(GLOB headers CONFIGURE_DEPENDS ${air_ir_folder}/${folder}/*.h)
  set(modules)
  foreach(source IN LISTS sources ARGN)
    get_filename_component(name ${source} NAME_WE)
    set(module ${build}/${name}.bc)
    add_custom_command(
      OUTPUT ${module}
      COMMAND ${PEWTER_CLANG} --target=x86_64-unknown-linux -std=c23 -O2 -Wall -Wextra -Werror
              -ffreestanding -ffp-contract=off -fno-math-errno -fno-vectorize -fno-slp-vectorize
              -fno-unroll-loops -fno-jump-tables -fno-stack-protector -fno-unwind-tables
              -fno-asynchronous-unwind-tables -fomit-frame-pointer -emit-llvm
              -I ${CMAKE_SOURCE_DIR}/src -c ${source} -o ${module}
      DEPENDS ${source} ${headers} ${CMAKE_SOURCE_DIR}/src/air/TextureAbi.h
      COMMENT "Compiling ${folder}/${name}.c to bitcode"
      VERBATIM)
    list(APPEND modules ${module})
  endforeach()
  add_custom_command(
    OUTPUT ${build}/${library}.bc ${build}/${library}.inc
    COMMAND ${PEWTER_LLVM_LINK} ${modules} -o ${build}/${library}.bc
    COMMAND ${Python3_EXECUTABLE} ${air_ir_folder}/math/embed.py
            ${build}/${library}.bc ${build}/${library}.inc
    DEPENDS ${modules} ${air_ir_folder}/math/embed.py
    COMMENT "Embedding ${library}"
    VERBATIM)
  target_sources(pewter-compiler PRIVATE ${build}/${library}.inc)
  set_source_files_properties(${air_ir_folder}/${library}.cpp PROPERTIES
    INCLUDE_DIRECTORIES ${build} OBJECT_DEPENDS ${build}/${library}.inc)
endfunction()

pewter_embed_bitcode(math MathLibrary)
set(math_build ${CMAKE_BINARY_DIR}/math)
set(srgb_tables ${CMAKE_BINARY_DIR}/texture/SrgbTables.c)
add_custom_command(
  OUTPUT ${srgb_tables}
  COMMAND ${Python3_EXECUTABLE} ${air_ir_folder}/texture/srgb.py ${srgb_tables}
  DEPENDS ${air_ir_folder}/texture/srgb.py
  VERBATIM)
pewter_embed_bitcode(texture TextureLibrary ${srgb_tables})
# For other users of the sources of this folder.
add_custom_target(pewter-math-library DEPENDS ${math_build}/MathLibrary.inc
                  ${CMAKE_BINARY_DIR}/texture/TextureLibrary.inc)

# SPDX-License-Identifier: Apache-2.0
# pewter_add_metallib(TARGET
#   SOURCES a.metal b.metal ...     each is compiled by itself
#   [OUTPUT library.metallib]       default: TARGET.metallib in the current binary folder
#   [INCLUDES folder ...] [DEFINES NAME[=VALUE] ...]
#   [OPTIONS option ...])           as for `xcrun metal`: -fno-fast-math, -std=metal3.1, ...
#
# A target that builds one library of all kernels; included headers are followed. The library's path is
# the target's property PEWTER_METALLIB.
function(pewter_add_metallib target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT" "SOURCES;INCLUDES;DEFINES;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pewter_add_metallib(${target}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "pewter_add_metallib(${target}): SOURCES names no file")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT ${target}.metallib)
  endif()
  cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} NORMALIZE)
  if(TARGET Pewter::pewter-cli)
    set(tool Pewter::pewter-cli)
  else()
    set(tool pewter-cli)
  endif()
  set(options ${arg_OPTIONS})
  foreach(folder IN LISTS arg_INCLUDES)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND options -I ${folder})
  endforeach()
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND options -D ${define})
  endforeach()
  set(parts)
  set(number 0)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET source STEM name)
    set(part ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.metal/${number}-${name}.air)
    math(EXPR number "${number} + 1")
    add_custom_command(
      OUTPUT ${part}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.metal
      COMMAND ${tool} metal -c ${options} -MMD -MF ${part}.d -MT ${part} ${source} -o ${part}
      DEPENDS ${source} ${tool}
      DEPFILE ${part}.d
      COMMENT "Compiling ${name}.metal"
      VERBATIM)
    list(APPEND parts ${part})
  endforeach()
  add_custom_command(
    OUTPUT ${arg_OUTPUT}
    COMMAND ${tool} metallib ${parts} -o ${arg_OUTPUT}
    DEPENDS ${parts} ${tool}
    COMMENT "Linking ${target}.metallib"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS ${arg_OUTPUT})
  set_target_properties(${target} PROPERTIES PEWTER_METALLIB ${arg_OUTPUT})
endfunction()

# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD= -DCONSUMER= -DSCRATCH= -DCOMPILER= -P Install.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\nended with ${status}:\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
# A second copy, so that nothing can be found at the place where it was installed.
file(RENAME ${SCRATCH}/prefix ${SCRATCH}/moved)
file(COPY ${CONSUMER}/ DESTINATION ${SCRATCH}/source)
run(${CMAKE_COMMAND} -S ${SCRATCH}/source -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${SCRATCH}/moved
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
function(expect result)
  execute_process(COMMAND ${SCRATCH}/build/consumer RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output MATCHES "result ${result}\n")
    message(FATAL_ERROR "The consumer ended with ${status}, not with result ${result}:\n${output}")
  endif()
endfunction()
expect(16)
# A changed header makes the library anew.
file(READ ${SCRATCH}/source/shared/amount.h header)
string(REPLACE "10" "100" header "${header}")
file(WRITE ${SCRATCH}/source/shared/amount.h "${header}")
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
expect(106)

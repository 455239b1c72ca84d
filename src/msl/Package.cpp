// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp.
#include "msl/Package.h"
#include "air/Metallib.h"

namespace pewter::msl {

Result<Bytes> packLibrary(const std::vector<LoweredKernel> &kernels,
                          const compiler::SourceRequest &request) {
  air::Metallib library;
  library.madeByPewter = true;
  for (const LoweredKernel &kernel : kernels) {
    air::MetallibFunction function;
    function.name = kernel.reflection.name;
    function.languageVersion = {static_cast<uint16_t>(request.languageVersion >> 16),
                                static_cast<uint16_t>(request.languageVersion)};
    for (const air::FunctionConstant &constant : kernel.reflection.constants)
      function.constants.push_back({constant.name, constant.type,
                                    static_cast<uint16_t>(constant.index), /*active=*/true});
    function.module = kernel.bitcode;
    library.functions.push_back(std::move(function));
  }
  return air::writeMetallib(library);
}

} // namespace pewter::msl

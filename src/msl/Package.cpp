// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp.
#include "msl/Package.h"
#include "air/Metallib.h"

namespace pewter::msl {

Result<Bytes> packLibrary(const std::vector<LoweredFunction> &functions,
                          const compiler::SourceRequest &request) {
  air::Metallib library;
  library.madeByPewter = true;
  if (request.isDynamic) {
    library.fileType = air::MetallibFileType::Dynamic;
    library.installName = request.installName;
  }
  for (const LoweredFunction &lowered : functions) {
    air::MetallibFunction function;
    function.name = lowered.reflection.name;
    function.kind = lowered.kind;
    function.languageVersion = {static_cast<uint16_t>(request.languageVersion >> 16),
                                static_cast<uint16_t>(request.languageVersion)};
    for (const air::FunctionConstant &constant : lowered.reflection.constants)
      function.constants.push_back({constant.name, constant.type,
                                    static_cast<uint16_t>(constant.index), /*active=*/true});
    function.module = lowered.bitcode;
    library.functions.push_back(std::move(function));
  }
  return air::writeMetallib(library);
}

} // namespace pewter::msl

// SPDX-License-Identifier: Apache-2.0
// ReferenceLogits MODEL.gguf OUT COUNT...: the logits that follow the first COUNT of someTokens, in double, for each
// COUNT in ascending order, as 64-bit numbers one behind the other. Slow: the model in plain loops.
#include "engine/Reference.h"
#include "llamacpp/Worker.h"
#include <cstdlib>
#include <fstream>

int main(int argc, char **argv) {
  using namespace pewter;
  if (argc < 4) {
    std::cerr << "usage: ReferenceLogits MODEL.gguf OUT COUNT...\n";
    return 2;
  }
  auto model = muse::GgufModel::open(argv[1]);
  auto config = model ? muse::ModelConfig::read(**model) : std::unexpected(model.error());
  if (!config) {
    std::cerr << config.error().describe() << "\n";
    return 1;
  }
  testing::ExactReference reference(**model, *config);
  const auto ids = bench::someTokens(static_cast<uint32_t>(std::atoi(argv[argc - 1])), config->vocab);
  std::ofstream out(argv[2], std::ios::binary);
  for (int i = 3; i < argc; ++i) {
    const auto count = static_cast<uint32_t>(std::atoi(argv[i]));
    std::vector<double> logits;
    while (reference.position() < count)
      logits = reference.step(ids[reference.position()], reference.position() + 1 == count);
    out.write(reinterpret_cast<const char *>(logits.data()), std::streamsize(logits.size() * sizeof(double)));
  }
  return out.flush() ? 0 : 1;
}

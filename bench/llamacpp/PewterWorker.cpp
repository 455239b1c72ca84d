// SPDX-License-Identifier: Apache-2.0
// Our side: PewterWorker MODEL.gguf [CONTEXT [f32|int8]]. Threads come from PEWTER_THREADS.
#include "llamacpp/Worker.h"
#include "muse/Sequence.h"
#include <cstdlib>
#include <map>

namespace pewter::bench {
namespace {

template <class T> T must(Result<T> result) {
  if (!result) {
    std::cerr << "worker: " << result.error().describe() << "\n";
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

class Pewter {
public:
  Pewter(const char *path, uint32_t context, bool isInt8) {
    muse::EngineOptions options{.maxContext = context};
    if (isInt8)
      options.activations = muse::ActivationType::Int8;
    engine_ = must(muse::Engine::create(must(muse::Context::create({})), must(muse::GgufModel::open(path)),
                                        std::move(options)));
    ids_ = someTokens(context, engine_->config().vocab);
  }

  void prefill(uint32_t count) {
    if (!scratch_)
      scratch_ = must(muse::Sequence::create(engine_, {}));
    scratch_->reset();
    must(scratch_->prefill(std::span(ids_).first(count), {}));
  }
  std::vector<float> logits() const { return {scratch_->logits().begin(), scratch_->logits().end()}; }
  void open(uint32_t depth) {
    auto &sequence = opened_[depth];
    sequence = must(muse::Sequence::create(engine_, {.id = depth}));
    must(sequence->prefill(std::span(ids_).first(depth), {}));
  }
  void decode(uint32_t depth, uint32_t count) {
    muse::Sequence &sequence = *opened_.at(depth);
    for (uint32_t i = 0; i < count; ++i) {
      must(sequence.decode(ids_[depth + i]));
      sink_ = sequence.logits()[0];
    }
  }
  void rewind(uint32_t depth) { must(opened_.at(depth)->truncate(depth)); }

private:
  std::shared_ptr<muse::Engine> engine_;
  std::vector<uint32_t> ids_;
  std::unique_ptr<muse::Sequence> scratch_;
  std::map<uint32_t, std::unique_ptr<muse::Sequence>> opened_;
  volatile float sink_ = 0;
};

} // namespace
} // namespace pewter::bench

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "usage: PewterWorker MODEL.gguf [CONTEXT [f32|int8]]\n";
    return 2;
  }
  pewter::bench::Pewter engine(argv[1], argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 2048,
                               argc > 3 && std::string_view(argv[3]) == "int8");
  return pewter::bench::serve(engine);
}

// SPDX-License-Identifier: Apache-2.0
// The peer's side: LlamaWorker LIBRARIES MODEL.gguf THREADS [CONTEXT]. Built by
// scripts/compare-llamacpp.py against the headers and libraries that it fetches, never by CMake.
//
// A persistent thread pool is attached, as llama.cpp's own tools do: without one this build starts
// threads for every graph and is several times slower. Everything else is the default: float16 cache,
// flash attention where it can, weights repacked at load.
#include "ggml-cpu.h"
#include "llama.h"
#include "llamacpp/Worker.h"
#include <cstdlib>
#include <dlfcn.h>
#include <map>

namespace pewter::bench {
namespace {

void require(bool good, const char *what) {
  if (good)
    return;
  std::cerr << "worker: llama.cpp fails at " << what << "\n";
  std::exit(1);
}

class Llama {
public:
  Llama(const std::string &libraries, const char *path, int threads, uint32_t context)
      : threads_(threads), context_(context) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_backend_load_all_from_path(libraries.c_str());
    llama_backend_init();
    model_ = llama_model_load_from_file(path, llama_model_default_params());
    require(model_, "loading the model");
    makePool();
    ids_ = someTokens(context, static_cast<uint32_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_))));
    scratch_ = makeContext();
  }

  void prefill(uint32_t count) {
    llama_memory_clear(llama_get_memory(scratch_), true);
    feed(scratch_, 0, count);
  }
  std::vector<float> logits() const {
    const float *row = llama_get_logits_ith(scratch_, -1);
    return {row, row + llama_vocab_n_tokens(llama_model_get_vocab(model_))};
  }
  void open(uint32_t depth) {
    opened_[depth] = makeContext();
    feed(opened_[depth], 0, depth);
  }
  void decode(uint32_t depth, uint32_t count) {
    llama_context *context = opened_.at(depth);
    for (uint32_t i = 0; i < count; ++i) {
      feed(context, depth + i, 1);
      sink_ = llama_get_logits_ith(context, -1)[0];
    }
  }
  void rewind(uint32_t depth) {
    require(llama_memory_seq_rm(llama_get_memory(opened_.at(depth)), 0, static_cast<int>(depth), -1),
            "cutting its cache");
  }

private:
  /// The pool is in the library that was chosen for this processor, which is only open by now.
  void makePool() {
    auto *registry = ggml_backend_reg_by_name("CPU");
    require(registry, "finding its CPU back-end");
    auto make = reinterpret_cast<decltype(&ggml_threadpool_new)>(
        ggml_backend_reg_get_proc_address(registry, "ggml_threadpool_new"));
    require(make, "finding its thread pool");
    ggml_threadpool_params params;
    ggml_threadpool_params_init(&params, threads_);
    pool_ = make(&params);
    require(pool_, "making a thread pool");
  }
  llama_context *makeContext() {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = context_;
    params.n_threads = params.n_threads_batch = threads_;
    llama_context *context = llama_init_from_model(model_, params);
    require(context && llama_n_threads(context) == threads_, "making a context");
    llama_attach_threadpool(context, pool_, pool_);
    return context;
  }
  void feed(llama_context *context, uint32_t first, uint32_t count) {
    auto *ids = reinterpret_cast<llama_token *>(ids_.data() + first);
    require(llama_decode(context, llama_batch_get_one(ids, static_cast<int>(count))) == 0, "decoding");
    llama_synchronize(context);
  }

  int threads_;
  uint32_t context_;
  llama_model *model_ = nullptr;
  ggml_threadpool *pool_ = nullptr;
  llama_context *scratch_ = nullptr;
  std::map<uint32_t, llama_context *> opened_;
  std::vector<uint32_t> ids_;
  volatile float sink_ = 0;
};

} // namespace
} // namespace pewter::bench

int main(int argc, char **argv) {
  if (argc < 4) {
    std::cerr << "usage: LlamaWorker LIBRARIES MODEL.gguf THREADS [CONTEXT]\n";
    return 2;
  }
  pewter::bench::Llama engine(argv[1], argv[2], std::atoi(argv[3]),
                              argc > 4 ? static_cast<uint32_t>(std::atoi(argv[4])) : 2048);
  return pewter::bench::serve(engine);
}

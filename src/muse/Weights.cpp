// SPDX-License-Identifier: Apache-2.0
// Tested by tests/seed/SeedTable.cpp and tests/engine/Sequences.cpp.
#include "muse/Weights.h"
#include "muse/Dequantize.h"
#include <cstring>
#include <set>
#include <unistd.h>

namespace pewter::muse {
namespace {

/// Uploads bytes through a shared buffer to one that only the device reaches.
Result<NS::SharedPtr<MTL::Buffer>> upload(const Context &context, ByteView bytes) {
  constexpr uint64_t kStep = 64 << 20;
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto target = NS::TransferPtr(context.device()->newBuffer(bytes.size(), MTL::ResourceStorageModePrivate));
  if (!target)
    return fail(ErrorKind::OutOfMemory, "The device has no room for {} bytes of weights.", bytes.size());
  PEWTER_TRY(auto staging, context.allocate(std::min<uint64_t>(kStep, bytes.size()), "weights staging"));
  for (uint64_t at = 0; at < bytes.size(); at += kStep) {
    uint64_t size = std::min<uint64_t>(kStep, bytes.size() - at);
    std::memcpy(staging->contents(), bytes.data() + at, size);
    auto *buffer = context.queue()->commandBuffer();
    auto *blit = buffer->blitCommandEncoder();
    blit->copyFromBuffer(staging.get(), 0, target.get(), at, size);
    blit->endEncoding();
    buffer->commit();
    PEWTER_TRY_VOID(context.wait(buffer));
  }
  return target;
}

} // namespace

Result<void> Weights::mapShards(const Context &context, const WeightMaker &maker) {
  auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const GgufFile &file : model_->shards()) {
    ByteView bytes = file.bytes();
    NS::SharedPtr<MTL::Buffer> buffer;
    bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % page == 0;
    if (maker) {
      PEWTER_TRY(buffer, context.allocateForDevice(bytes.size(), file.label()));
      PEWTER_TRY_VOID(maker(file, buffer.get()));
    } else if (!context.unifiedMemory()) {
      PEWTER_TRY(buffer, upload(context, bytes));
    } else if (aligned) {
      // A mapping reaches to the end of its last page.
      uint64_t whole = (bytes.size() + page - 1) / page * page;
      buffer = NS::TransferPtr(context.device()->newBuffer(
          bytes.data(), whole, MTL::ResourceStorageModeShared, [](void *, NS::UInteger) {}));
    } else {
      buffer = NS::TransferPtr(
          context.device()->newBuffer(bytes.data(), bytes.size(), MTL::ResourceStorageModeShared));
    }
    if (!buffer)
      return fail(ErrorKind::OutOfMemory, "The device cannot map the {} bytes of \"{}\".", bytes.size(),
                  file.label());
    shards_.push_back(std::move(buffer));
  }
  return {};
}

Result<View> Weights::viewOf(const GgufTensor &tensor) const {
  const GgufFile &file = model_->shards()[tensor.shard];
  if (tensor.offset > file.bytes().size() || tensor.bytes > file.bytes().size() - tensor.offset)
    return fail(ErrorKind::Validation, "Tensor \"{}\" (bytes {} to {}) is outside of the {} mapped bytes.",
                tensor.name, tensor.offset, tensor.offset + tensor.bytes, file.bytes().size());
  return View{shards_[tensor.shard].get(), tensor.offset};
}

Result<Matrix> Weights::matrixOf(const WeightTensor &weight) const {
  Matrix matrix;
  matrix.type = weight.type();
  matrix.inputs = static_cast<uint32_t>(weight.inputs());
  matrix.outputs = static_cast<uint32_t>(weight.outputs());
  matrix.rowBytes = static_cast<uint32_t>(weight.tensor->bytes / weight.outputs());
  matrix.scale = weight.scale2;
  PEWTER_TRY(matrix.data, viewOf(*weight.tensor));
  if (weight.scale) {
    PEWTER_TRY(matrix.scales, viewOf(*weight.scale));
  }
  if (matrix.inputs % 32)
    return fail(ErrorKind::Unsupported, "Matrix \"{}\" has [{}] inputs; a multiple of 32 is supported.",
                weight.tensor->name, matrix.inputs);
  return matrix;
}

Result<std::shared_ptr<const Weights>> Weights::create(const Context &context,
                                                       std::shared_ptr<const GgufModel> model,
                                                       const ModelConfig &config, const WeightMaker &maker) {
  PEWTER_TRY(ModelTensors tensors, ModelTensors::find(*model, config));
  auto weights = std::shared_ptr<Weights>(new Weights);
  Weights &w = *weights;
  w.model_ = model;
  PEWTER_TRY_VOID(w.mapShards(context, maker));

  // All norms, one after the other, and a vector of ones.
  uint64_t floats = config.hidden * (4ull * config.layers + 2) + 2ull * config.headDim * config.layers;
  PEWTER_TRY(w.vectors_, context.allocate(floats * 4, "norms"));
  auto *memory = static_cast<float *>(w.vectors_->contents());
  uint64_t used = 0;
  auto vectorOf = [&](const GgufTensor &tensor) -> Result<View> {
    PEWTER_TRY(auto values, dequantizeRows(*model, tensor, 0, 1));
    std::memcpy(memory + used, values.data(), values.size() * 4);
    View view{w.vectors_.get(), used * 4};
    used += values.size();
    return view;
  };
  PEWTER_TRY(w.embedding, w.matrixOf(tensors.embedding));
  PEWTER_TRY(w.head, w.matrixOf(tensors.head));
  if (w.embedding.type == TensorType::NVFP4_E2M1)
    return fail(ErrorKind::Unsupported, "The embedding table is NVFP4, which is not supported.");
  PEWTER_TRY(w.outputNorm, vectorOf(*tensors.outputNorm));
  w.ones = View{w.vectors_.get(), used * 4};
  std::fill_n(memory + used, config.hidden, 1.0f);
  used += config.hidden;
  for (const LayerTensors &t : tensors.layers) {
    LayerWeights layer;
    PEWTER_TRY(layer.attnNorm, vectorOf(*t.attnNorm));
    PEWTER_TRY(layer.qNorm, vectorOf(*t.qNorm));
    PEWTER_TRY(layer.kNorm, vectorOf(*t.kNorm));
    PEWTER_TRY(layer.postAttnNorm, vectorOf(*t.postAttnNorm));
    PEWTER_TRY(layer.ffnNorm, vectorOf(*t.ffnNorm));
    PEWTER_TRY(layer.postFfnNorm, vectorOf(*t.postFfnNorm));
    PEWTER_TRY(layer.q, w.matrixOf(t.q));
    PEWTER_TRY(layer.k, w.matrixOf(t.k));
    PEWTER_TRY(layer.v, w.matrixOf(t.v));
    PEWTER_TRY(layer.gate, w.matrixOf(t.gate));
    PEWTER_TRY(layer.output, w.matrixOf(t.output));
    PEWTER_TRY(layer.ffnGate, w.matrixOf(t.ffnGate));
    PEWTER_TRY(layer.ffnUp, w.matrixOf(t.ffnUp));
    PEWTER_TRY(layer.ffnDown, w.matrixOf(t.ffnDown));
    for (const Matrix *m : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.output, &layer.ffnGate,
                            &layer.ffnUp, &layer.ffnDown})
      w.streamedBytes_ += uint64_t(m->rowBytes) * m->outputs;
    w.layers.push_back(layer);
  }
  w.streamedBytes_ += uint64_t(w.head.rowBytes) * w.head.outputs + w.embedding.rowBytes;
  PEWTER_TRY(w.vectors_, context.settled(std::move(w.vectors_)));
  w.outputNorm.buffer = w.ones.buffer = w.vectors_.get();
  for (LayerWeights &l : w.layers)
    for (View *view : {&l.attnNorm, &l.qNorm, &l.kNorm, &l.postAttnNorm, &l.ffnNorm, &l.postFfnNorm})
      view->buffer = w.vectors_.get();
  return weights;
}

std::vector<TensorType> Weights::matrixTypes() const {
  std::set<TensorType> types{head.type};
  for (const LayerWeights &l : layers)
    for (const Matrix *m : {&l.q, &l.k, &l.v, &l.gate, &l.output, &l.ffnGate, &l.ffnUp, &l.ffnDown})
      types.insert(m->type);
  return {types.begin(), types.end()};
}

} // namespace pewter::muse

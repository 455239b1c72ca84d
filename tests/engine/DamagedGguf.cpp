// SPDX-License-Identifier: Apache-2.0
// Files with one thing wrong: each is refused with a message that names the thing, none crashes.
#include "engine/SmallModel.h"
#include "muse/ModelConfig.h"
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

namespace pewter {
namespace {

using muse::TensorType;
using testing::SmallModel;

/// Opens a file as the engine does; the error text, or "" when it is accepted.
std::string problemOf(const Bytes &bytes) {
  auto model = muse::GgufModel::fromBytes(bytes, "damaged.gguf");
  if (!model)
    return model.error().describe();
  auto config = muse::ModelConfig::read(**model);
  if (!config)
    return config.error().describe();
  auto tensors = muse::ModelTensors::find(**model, *config);
  return tensors ? "" : tensors.error().describe();
}

template <class T> void poke(Bytes &bytes, size_t at, T value) {
  ASSERT_LE(at + sizeof value, bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Where `text` stands in the file.
size_t find(const Bytes &bytes, std::string_view text) {
  size_t at = textOf(bytes).find(text);
  EXPECT_NE(at, std::string_view::npos) << text;
  return at;
}

/// Offsets of the fields behind a tensor's name in the header: rank, dims, type, offset.
struct TensorFields {
  size_t rank, dims, type, offset;
};
TensorFields fieldsOf(const Bytes &bytes, std::string_view name, uint32_t rank) {
  size_t at = find(bytes, name) + name.size();
  return {at, at + 4, at + 4 + 8 * rank, at + 8 + 8 * rank};
}

struct Damage {
  const char *name;
  const char *expected; ///< Part of the message.
  std::function<Bytes()> make;
};

std::function<Bytes()> patched(std::function<void(Bytes &)> patch) {
  return [patch] {
    Bytes bytes = SmallModel{}.build();
    patch(bytes);
    return bytes;
  };
}
std::function<Bytes()> withoutKey(std::string key) {
  return [key] {
    SmallModel model;
    model.onKey = [key](const std::string &k, muse::GgufWriter &) { return k != key; };
    return model.build();
  };
}
std::function<Bytes()> withKey(std::string key, std::function<void(muse::GgufWriter &)> add) {
  return [key, add] {
    SmallModel model;
    model.onKey = [key, add](const std::string &k, muse::GgufWriter &writer) {
      if (k == key)
        add(writer);
      return k != key;
    };
    return model.build();
  };
}
std::function<Bytes()> withTensor(
    std::string tensor,
    std::function<bool(std::string &, TensorType &, std::vector<uint64_t> &, Bytes &)> change) {
  return [tensor, change] {
    SmallModel model;
    model.onTensor = [tensor, change](std::string &name, TensorType &type, std::vector<uint64_t> &dims,
                                      Bytes &bytes) {
      return name != tensor || change(name, type, dims, bytes);
    };
    return model.build();
  };
}

constexpr std::string_view kP = "muse-glimmer.";
std::string key(std::string_view name) { return fmt::format("{}{}", kP, name); }

const std::vector<Damage> &damages() {
  static const std::vector<Damage> list = {
      {"Empty", "ends at byte 0", [] { return Bytes(); }},
      {"OnlyMagic", "ends at byte 4", patched([](Bytes &b) { b.resize(4); })},
      {"WrongMagic", "begins with", patched([](Bytes &b) { b[0] = std::byte('X'); })},
      {"Version1", "version [1]", patched([](Bytes &b) { poke(b, testing::kVersionAt, uint32_t(1)); })},
      {"Version4", "version [4]", patched([](Bytes &b) { poke(b, testing::kVersionAt, uint32_t(4)); })},
      {"BigEndian", "big-endian", patched([](Bytes &b) { poke(b, testing::kVersionAt, 0x03000000u); })},
      {"HugeTensorCount", "announces [18446744073709551615] tensors",
       patched([](Bytes &b) { poke(b, testing::kTensorCountAt, ~uint64_t(0)); })},
      {"HugeMetadataCount", "announces [4611686018427387904] metadata entries",
       patched([](Bytes &b) { poke(b, testing::kMetadataCountAt, uint64_t(1) << 62); })},
      {"OneTensorTooMany", "GGUF file",
       patched([](Bytes &b) {
         uint64_t count;
         std::memcpy(&count, b.data() + testing::kTensorCountAt, 8);
         poke(b, testing::kTensorCountAt, count + 1);
       })},
      {"TruncatedMetadata", "damaged.gguf", patched([](Bytes &b) { b.resize(200); })},
      {"TruncatedTokens", "damaged.gguf",
       patched([](Bytes &b) { b.resize(find(b, "tokenizer.ggml.tokens") + 60); })},
      {"TruncatedTensorTable", "damaged.gguf",
       patched([](Bytes &b) { b.resize(find(b, "blk.1.ffn_up.weight")); })},
      {"TruncatedData", "past the end of the file", patched([](Bytes &b) { b.resize(b.size() - 64); })},
      {"HostileKeyLength", "has a length of",
       patched([](Bytes &b) { poke(b, 24, uint64_t(1) << 60); })},
      {"HostileStringLength", "has a length of [1152921504606846976] bytes",
       patched([](Bytes &b) {
         poke(b, find(b, "general.architecture") + 20 + 4, uint64_t(1) << 60);
       })},
      {"HostileArrayLength", "is an array of [576460752303423488]",
       patched([](Bytes &b) {
         poke(b, find(b, "tokenizer.ggml.tokens") + 21 + 8, uint64_t(1) << 59);
       })},
      {"UnknownValueType", "unknown value type [13]",
       patched([](Bytes &b) { poke(b, find(b, "general.architecture") + 20, uint32_t(13)); })},
      {"DeepNesting", "nests arrays deeper",
       [] {
         // The value of the first key becomes an array in an array in an array, far past the limit.
         Bytes bytes;
         auto put = [&]<class T>(T value) {
           auto view = std::as_bytes(std::span(&value, 1));
           bytes.insert(bytes.end(), view.begin(), view.end());
         };
         put(uint32_t(0x46554747)), put(uint32_t(3)), put(uint64_t(0)), put(uint64_t(1));
         put(uint64_t(1)), put(char('k')), put(uint32_t(9));
         for (int i = 0; i < 200; ++i)
           put(uint32_t(9)), put(uint64_t(1));
         return bytes;
       }},
      {"BooleanOfTwo", "boolean of [2]",
       patched([](Bytes &b) { poke(b, find(b, "tokenizer.ggml.add_bos_token") + 28 + 4, uint8_t(2)); })},
      {"DuplicateKey", "\"general.name\" twice",
       withKey("general.name",
               [](muse::GgufWriter &w) {
                 w.addString("general.name", "a");
                 w.addString("general.name", "b");
               })},
      {"DuplicateTensor", "\"blk.0.attn_norm.weight\" twice",
       withTensor("blk.1.attn_norm.weight",
                  [](std::string &name, auto &, auto &, auto &) {
                    name = "blk.0.attn_norm.weight";
                    return true;
                  })},
      {"AlignmentZero", "\"general.alignment\" is [0]",
       withKey("general.name", [](muse::GgufWriter &w) { w.addU32("general.alignment", 0); })},
      {"AlignmentOdd", "power of two is expected",
       withKey("general.name", [](muse::GgufWriter &w) { w.addU32("general.alignment", 48); })},
      {"AlignmentType", "u32 is expected",
       withKey("general.name", [](muse::GgufWriter &w) { w.addString("general.alignment", "32"); })},
      {"TensorRankZero", "has [0] dimensions",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "token_embd.weight", 2).rank, uint32_t(0)); })},
      {"TensorRankHuge", "has [4294967295] dimensions",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "token_embd.weight", 2).rank, ~0u); })},
      {"TensorDimZero", "is [0]",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "token_embd.weight", 2).dims, uint64_t(0)); })},
      {"ElementsOverflow", "overflows 64 bits",
       patched([](Bytes &b) {
         auto f = fieldsOf(b, "token_embd.weight", 2);
         poke(b, f.dims, uint64_t(1) << 40);
         poke(b, f.dims + 8, uint64_t(1) << 40);
       })},
      {"BytesOverflow", "overflows 64 bits",
       patched([](Bytes &b) {
         auto f = fieldsOf(b, "token_embd.weight", 2);
         poke(b, f.dims, uint64_t(1) << 32);
         poke(b, f.dims + 8, uint64_t(1) << 31);
       })},
      {"UnknownTensorType", "unknown type [77]",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "token_embd.weight", 2).type, 77u); })},
      {"UnsupportedTensorType", "type Q2_K",
       patched([](Bytes &b) {
         auto f = fieldsOf(b, "output.weight", 2);
         poke(b, f.type, 10u);
         poke(b, f.dims, uint64_t(256)); // one block a row
       })},
      {"RowNotWholeBlocks", "not a multiple of",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "output.weight", 2).type, 12u); })},
      {"OffsetPastEnd", "past the end of the file",
       patched([](Bytes &b) {
         poke(b, fieldsOf(b, "output.weight", 2).offset, uint64_t(1) << 40);
       })},
      {"OffsetOverflow", "past the end of the file",
       patched([](Bytes &b) {
         poke(b, fieldsOf(b, "output.weight", 2).offset, ~uint64_t(31));
       })},
      {"OffsetUnaligned", "not a multiple of the alignment",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "output.weight", 2).offset, uint64_t(4)); })},
      {"Overlap", "overlap",
       patched([](Bytes &b) { poke(b, fieldsOf(b, "output.weight", 2).offset, uint64_t(32)); })},
      {"WrongArchitecture", "architecture [llama]",
       withKey("general.architecture",
               [](muse::GgufWriter &w) { w.addString("general.architecture", "llama"); })},
      {"NoArchitecture", "general.architecture", withoutKey("general.architecture")},
      {"NoBlockCount", "block_count", withoutKey(key("block_count"))},
      {"NoEpsilon", "layer_norm_rms_epsilon", withoutKey(key("attention.layer_norm_rms_epsilon"))},
      {"NoPattern", "sliding_window_pattern", withoutKey(key("attention.sliding_window_pattern"))},
      {"NoWindow", "attention.sliding_window\"", withoutKey(key("attention.sliding_window"))},
      {"NoLogitScale", "logit_scale", withoutKey(key("logit_scale"))},
      {"NoTokens", "tokenizer.ggml.tokens", withoutKey("tokenizer.ggml.tokens")},
      {"PatternTooShort", "has [1] entries",
       withKey(key("attention.sliding_window_pattern"),
               [](muse::GgufWriter &w) {
                 w.addIntegers(key("attention.sliding_window_pattern"), muse::GgufValueType::I32,
                               std::vector<int64_t>{1});
               })},
      {"PatternOfStrings", "array of flags",
       withKey(key("attention.sliding_window_pattern"),
               [](muse::GgufWriter &w) {
                 w.addStrings(key("attention.sliding_window_pattern"), std::vector<std::string>{"a", "b"});
               })},
      {"PatternOfTwos", "is [2]; 0 or 1",
       withKey(key("attention.sliding_window_pattern"),
               [](muse::GgufWriter &w) {
                 w.addIntegers(key("attention.sliding_window_pattern"), muse::GgufValueType::I32,
                               std::vector<int64_t>{1, 2});
               })},
      {"BlockCountOfWrongType", "block_count\" has the type f32",
       withKey(key("block_count"), [](muse::GgufWriter &w) { w.addF32(key("block_count"), 2); })},
      {"BlockCountHuge", "the number of blocks is [4000000000]",
       withKey(key("block_count"),
               [](muse::GgufWriter &w) { w.addU32(key("block_count"), 4000000000u); })},
      {"NoHeads", "the number of query heads is [0]",
       withKey(key("attention.head_count"),
               [](muse::GgufWriter &w) { w.addU32(key("attention.head_count"), 0); })},
      {"HeadsNotAMultiple", "not a multiple of 3 key-value heads",
       withKey(key("attention.head_count_kv"),
               [](muse::GgufWriter &w) { w.addU32(key("attention.head_count_kv"), 3); })},
      {"HeadDimOdd", "head dimension",
       withKey(key("attention.key_length"),
               [](muse::GgufWriter &w) { w.addU32(key("attention.key_length"), 33); })},
      {"ValueLengthDiffers", "value length [64]",
       withKey(key("attention.value_length"),
               [](muse::GgufWriter &w) { w.addU32(key("attention.value_length"), 64); })},
      {"EpsilonNan", "not a finite number",
       withKey(key("attention.layer_norm_rms_epsilon"),
               [](muse::GgufWriter &w) {
                 w.addF32(key("attention.layer_norm_rms_epsilon"), std::nanf(""));
               })},
      {"VocabDiffers", "vocabulary size is [999]",
       withKey("general.name", [](muse::GgufWriter &w) { w.addU32(key("vocab_size"), 999); })},
      {"MissingTensor", "lacks the tensor \"blk.1.ffn_down.weight\" [96, 64]",
       withTensor("blk.1.ffn_down.weight", [](auto &, auto &, auto &, auto &) { return false; })},
      {"MissingNorm", "lacks the tensor \"output_norm.weight\" [64]",
       withTensor("output_norm.weight", [](auto &, auto &, auto &, auto &) { return false; })},
      {"WrongShape", "has the shape [128, 64]; [64, 128] is expected",
       withTensor("blk.0.attn_q.weight",
                  [](auto &, auto &, std::vector<uint64_t> &dims, auto &) {
                    std::swap(dims[0], dims[1]);
                    return true;
                  })},
      {"ExtraTensor", "not part of a muse-glimmer model",
       withKey("general.name",
               [](muse::GgufWriter &w) {
                 w.addTensor("blk.0.attn_q.bias", TensorType::F32, {128}, Bytes(512));
               })},
      {"NormOfNan", "element 5 of tensor \"blk.0.attn_norm.weight\" is not a finite number",
       withTensor("blk.0.attn_norm.weight",
                  [](auto &, auto &, auto &, Bytes &bytes) {
                    poke(bytes, 20, std::nanf(""));
                    return true;
                  })},
      {"WeightOfInfinity", "tensor \"blk.1.ffn_up.weight\" (F32) holds a value or scale that is not finite, "
                           "in row [1]",
       withTensor("blk.1.ffn_up.weight",
                  [](auto &, auto &, auto &, Bytes &bytes) {
                    poke(bytes, 4 * 70, HUGE_VALF);
                    return true;
                  })},
      {"ScaleOfNan", "(Q8_0) holds a value or scale that is not finite",
       [] {
         SmallModel model;
         model.type = TensorType::Q8_0;
         model.onTensor = [](std::string &name, auto &, auto &, Bytes &bytes) {
           if (name == "blk.0.attn_k.weight")
             poke(bytes, 34, uint16_t(0x7e00));
           return true;
         };
         return model.build();
       }},
      {"LearnedQueryNorm", "genuinely learned",
       withTensor("blk.1.attn_q_norm.weight",
                  [](auto &, auto &, auto &, Bytes &bytes) {
                    poke(bytes, 8, 2.25f);
                    return true;
                  })},
      {"KeyNormNotOne", "attn_k_norm tensors hold [1.5]",
       [] {
         SmallModel model;
         model.onTensor = [](std::string &name, auto &, auto &, Bytes &bytes) {
           if (name.ends_with("attn_k_norm.weight"))
             for (size_t i = 0; i < bytes.size(); i += 4)
               poke(bytes, i, 1.5f);
           return true;
         };
         return model.build();
       }},
      {"PrecisionLaneWithoutTensors", "muser.weight_precision",
       withKey("general.name", [](muse::GgufWriter &w) { w.addString("muser.weight_precision", "nvfp4"); })},
  };
  return list;
}

class DamagedGguf : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedGguf, IsRefusedByName) {
  EXPECT_THAT(problemOf(GetParam().make()), ::testing::HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(Engine, DamagedGguf, ::testing::ValuesIn(damages()),
                         [](const auto &info) { return info.param.name; });

TEST(DamagedGgufBase, TheUndamagedFileIsAccepted) {
  EXPECT_EQ(problemOf(SmallModel{}.build()), "");
  SmallModel tied;
  tied.tied = true;
  EXPECT_EQ(problemOf(tied.build()), "");
  for (TensorType type : {TensorType::F16, TensorType::BF16, TensorType::Q8_0, TensorType::Q4_0,
                          TensorType::IQ4_NL, TensorType::MXFP4}) {
    SmallModel other;
    other.type = type;
    EXPECT_EQ(problemOf(other.build()), "") << muse::nameOf(type);
  }
}

TEST(DamagedGgufBase, EveryTruncationIsRefused) {
  Bytes whole = SmallModel{}.build();
  for (size_t size = 0; size < whole.size(); size += size < 4096 ? 7 : 997) {
    Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_NE(problemOf(part), "") << size;
  }
}

} // namespace
} // namespace pewter

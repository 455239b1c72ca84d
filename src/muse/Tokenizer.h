// SPDX-License-Identifier: Apache-2.0
//
// Tokenizer: text to token ids and back, by the vocabulary in a GGUF file: byte-level BPE, with the
// text first cut into pieces by the "llama4" pattern. No byte of the input is ever dropped. Special
// tokens are matched before BPE, as far as the caller trusts the text.
//
//   PEWTER_TRY(auto tokenizer, Tokenizer::load(*model));
//   PEWTER_TRY(auto ids, tokenizer->encode("Once upon a time", Specials::None));
//   StreamDecoder decoder(*tokenizer);
//   for (uint32_t id : ids)
//     print(decoder.push(id)); // whole UTF-8 characters only
//
// Immutable after load; any thread. A StreamDecoder belongs to one thread.
#pragma once
#include "muse/GgufModel.h"
#include <memory>
#include <string>
#include <vector>

namespace pewter::muse {

class PieceSplitter;

/// Which spelled special tokens become one token. Framing of a chat is trusted (All); what a user
/// wrote is not (None). Declared is what llama.cpp does for untrusted text: user-defined tokens, and
/// <|start|> and <|message|> whatever their type.
enum class Specials { All, Declared, None };

class Tokenizer {
public:
  static Result<std::shared_ptr<const Tokenizer>> load(const GgufModel &model);
  ~Tokenizer();

  Result<std::vector<uint32_t>> encode(std::string_view text, Specials specials) const;
  /// The bytes that a token stands for; a control token stands for its own spelling.
  const std::string &bytesOf(uint32_t id) const { return bytes_[id]; }
  bool isControl(uint32_t id) const { return types_[id] == TokenType::Control; }
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  /// The id of a token by its spelling in the vocabulary.
  std::optional<uint32_t> find(std::string_view spelling) const;

  std::optional<uint32_t> bos() const { return bos_; }
  bool addsBos() const { return addsBos_; }
  /// Ids after which generation stops: end of sequence, of turn, of message, where the file names them.
  const std::vector<uint32_t> &endOfGeneration() const { return endOfGeneration_; }
  bool endsGeneration(uint32_t id) const;

private:
  enum class TokenType : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
  struct Merge {
    uint32_t rank, result;
  };
  struct Special {
    std::string text;
    uint32_t id;
    bool declared; ///< Matched in Specials::Declared too.
  };
  Tokenizer();
  Result<void> readMerges(const GgufModel &model);
  Result<void> readSpecialIds(const GgufModel &model);
  void appendPiece(std::string_view piece, std::vector<uint32_t> &ids) const;
  const Special *specialAt(std::string_view text, size_t at, Specials specials) const;
  Result<void> appendText(std::string_view text, std::vector<uint32_t> &ids) const;

  std::vector<std::string> bytes_;
  std::vector<TokenType> types_;
  std::unordered_map<std::string, uint32_t> ids_; ///< By spelling in the file.
  std::unordered_map<uint64_t, Merge> merges_;    ///< By left id << 32 | right id.
  uint32_t byteTokens_[256];
  std::vector<Special> specials_[256];            ///< By first byte, longest first.
  std::unique_ptr<PieceSplitter> splitter_;
  std::optional<uint32_t> bos_;
  bool addsBos_ = false;
  std::vector<uint32_t> endOfGeneration_;
};

/// Turns a stream of tokens into a stream of whole UTF-8 characters. Bytes that begin a character are
/// kept until it is complete; bytes that cannot be UTF-8 come out as U+FFFD.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer, bool showControl = false)
      : tokenizer_(tokenizer), showControl_(showControl) {}
  std::string push(uint32_t id);
  /// What is left at the end; an incomplete character comes out as U+FFFD.
  std::string finish();

private:
  std::string take(bool final);
  const Tokenizer &tokenizer_;
  bool showControl_;
  std::string held_;
};

} // namespace pewter::muse

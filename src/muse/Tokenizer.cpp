// SPDX-License-Identifier: Apache-2.0
//
// A byte-level vocabulary spells every byte as one printable character: those of Latin-1 that are
// visible stand for themselves, the other 68 for U+0100 onwards. BPE joins the pair with the lowest
// rank first, the leftmost of equals; here with a heap over a linked list of symbols, so a piece of n
// bytes costs n log n.
//
// Tested by Tokenizer_test.cpp and tests/engine/TokenizerGoldens.cpp.
#include "muse/Tokenizer.h"
#include "muse/PieceSplitter.h"
#include <algorithm>
#include <queue>

namespace pewter::muse {
namespace {

bool standsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/// Code point -> byte, for the 256 code points that spell bytes.
const std::unordered_map<uint32_t, uint8_t> &byteOfCodePoint() {
  static const auto map = [] {
    std::unordered_map<uint32_t, uint8_t> out;
    uint32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte)
      out[standsForItself(byte) ? static_cast<uint32_t>(byte) : next++] = static_cast<uint8_t>(byte);
    return out;
  }();
  return map;
}

/// The length of the UTF-8 character that `lead` begins; 0 when nothing begins so.
int utf8Length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/// The bytes that a normal token's spelling stands for; nothing when it is not spelled so.
std::optional<std::string> decodeSpelling(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    int length = utf8Length(lead);
    if (length == 0 || length > 2 || i + static_cast<size_t>(length) > text.size())
      return std::nullopt; // every byte character has one or two bytes
    uint32_t point = length == 1 ? lead : (lead & 31u) << 6 | (static_cast<unsigned char>(text[i + 1]) & 63u);
    auto byte = byteOfCodePoint().find(point);
    if (byte == byteOfCodePoint().end())
      return std::nullopt;
    out += static_cast<char>(byte->second);
    i += static_cast<size_t>(length);
  }
  return out;
}

/// The byte that a token spelled "<0x41>" stands for.
std::optional<uint8_t> hexByte(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return std::nullopt;
  int value = 0;
  for (char c : text.substr(3, 2)) {
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
    if (digit < 0)
      return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

uint64_t pairKey(uint32_t left, uint32_t right) { return uint64_t(left) << 32 | right; }

} // namespace

Tokenizer::Tokenizer() = default;
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(const GgufModel &model) {
  auto text = [&](std::string_view key) -> Result<std::string_view> {
    const GgufValue *value = model.find(key);
    auto string = value ? value->asString() : std::nullopt;
    if (!string)
      return fail(ErrorKind::Validation, "GGUF file \"{}\" lacks the string \"{}\", which is required.",
                  model.label(), key);
    return *string;
  };
  PEWTER_TRY(std::string_view kind, text("tokenizer.ggml.model"));
  if (kind != "gpt2")
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\" has a tokenizer of the kind [{}]; \"gpt2\" (byte-level BPE) is supported.",
                model.label(), kind);
  PEWTER_TRY(std::string_view pre, text("tokenizer.ggml.pre"));

  auto out = std::shared_ptr<Tokenizer>(new Tokenizer);
  PEWTER_TRY(out->splitter_, PieceSplitter::create(pre));
  const GgufValue *tokens = model.find("tokenizer.ggml.tokens");
  const auto *spellings = tokens && tokens->asArray() ? tokens->asArray()->asStrings() : nullptr;
  if (!spellings || spellings->empty())
    return fail(ErrorKind::Validation, "GGUF file \"{}\" lacks the string array \"tokenizer.ggml.tokens\".",
                model.label());
  const GgufValue *typeValue = model.find("tokenizer.ggml.token_type");
  std::optional<std::vector<int64_t>> types;
  if (typeValue) {
    types = typeValue->asArray() ? typeValue->asArray()->asIntegers() : std::nullopt;
    if (!types || types->size() != spellings->size())
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": \"tokenizer.ggml.token_type\" must be an array of {} integers, one per "
                  "token.",
                  model.label(), spellings->size());
  }

  std::ranges::fill(out->byteTokens_, UINT32_MAX);
  for (uint32_t id = 0; id < spellings->size(); ++id) {
    std::string spelling((*spellings)[id]);
    auto type = TokenType::Normal;
    if (types) {
      int64_t number = (*types)[id];
      if (number < 1 || number > 6)
        return fail(ErrorKind::Validation,
                    "GGUF file \"{}\": token {} has the type [{}]; 1 to 6 are known.", model.label(), id,
                    number);
      type = static_cast<TokenType>(number);
    } else if (spelling.starts_with("<|") && spelling.ends_with("|>") && spelling.size() > 4) {
      type = TokenType::Control;
    }
    std::string bytes = spelling;
    if (type == TokenType::Normal) {
      if (auto decoded = decodeSpelling(spelling))
        bytes = *decoded;
      if (bytes.size() == 1)
        out->byteTokens_[static_cast<unsigned char>(bytes[0])] = id;
    }
    auto hex = hexByte(spelling);
    if (type == TokenType::Byte && hex) {
      bytes = std::string(1, static_cast<char>(*hex));
      if (out->byteTokens_[*hex] == UINT32_MAX)
        out->byteTokens_[*hex] = id;
    }
    if ((type == TokenType::Control || type == TokenType::UserDefined) && !spelling.empty()) {
      bool framing = spelling == "<|start|>" || spelling == "<|message|>";
      out->specials_[static_cast<unsigned char>(spelling[0])].push_back(
          {spelling, id, framing || type == TokenType::UserDefined});
    }
    out->ids_.emplace(std::move(spelling), id); // the first of equals
    out->bytes_.push_back(std::move(bytes));
    out->types_.push_back(type);
  }
  for (auto &list : out->specials_)
    std::ranges::sort(list, [](const Special &a, const Special &b) {
      return a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.id < b.id;
    });
  PEWTER_TRY_VOID(out->readMerges(model));
  PEWTER_TRY_VOID(out->readSpecialIds(model));
  return out;
}

Result<void> Tokenizer::readMerges(const GgufModel &model) {
  const GgufValue *value = model.find("tokenizer.ggml.merges");
  const auto *merges = value && value->asArray() ? value->asArray()->asStrings() : nullptr;
  if (!merges)
    return fail(ErrorKind::Validation, "GGUF file \"{}\" lacks the string array \"tokenizer.ggml.merges\".",
                model.label());
  merges_.reserve(merges->size());
  for (uint32_t rank = 0; rank < merges->size(); ++rank) {
    std::string_view pair = (*merges)[rank];
    size_t space = pair.find(' ', 1);
    std::string left(pair.substr(0, space)),
        right(space == pair.npos ? std::string_view() : pair.substr(space + 1));
    auto leftId = find(left), rightId = find(right), joined = find(left + right);
    if (right.empty() || !leftId || !rightId || !joined)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": entry {} of \"tokenizer.ggml.merges\" is not two tokens that join to "
                  "a third.",
                  model.label(), rank);
    merges_.emplace(pairKey(*leftId, *rightId), Merge{rank, *joined});
  }
  return {};
}

Result<void> Tokenizer::readSpecialIds(const GgufModel &model) {
  auto id = [&](std::string_view key) -> Result<std::optional<uint32_t>> {
    const GgufValue *value = model.find(key);
    if (!value)
      return std::optional<uint32_t>();
    auto number = value->asU32();
    if (!number || *number >= size())
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": key \"{}\" must be a token id below {}.", model.label(), key, size());
    return number;
  };
  PEWTER_TRY(bos_, id("tokenizer.ggml.bos_token_id"));
  for (const char *key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    PEWTER_TRY(auto end, id(key));
    if (end && !endsGeneration(*end))
      endOfGeneration_.push_back(*end);
  }
  const GgufValue *adds = model.find("tokenizer.ggml.add_bos_token");
  addsBos_ = adds && adds->asBool().value_or(false) && bos_;
  return {};
}

std::optional<uint32_t> Tokenizer::find(std::string_view spelling) const {
  auto found = ids_.find(std::string(spelling));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::endsGeneration(uint32_t id) const {
  return std::ranges::find(endOfGeneration_, id) != endOfGeneration_.end();
}

const Tokenizer::Special *Tokenizer::specialAt(std::string_view text, size_t at, Specials specials) const {
  for (const Special &special : specials_[static_cast<unsigned char>(text[at])])
    if ((specials == Specials::All || special.declared) && text.substr(at).starts_with(special.text))
      return &special;
  return nullptr;
}

Result<std::vector<uint32_t>> Tokenizer::encode(std::string_view text, Specials specials) const {
  std::vector<uint32_t> ids;
  size_t begin = 0;
  if (specials != Specials::None) {
    for (size_t at = 0; at < text.size();) {
      const Special *special = specialAt(text, at, specials);
      if (!special) {
        ++at;
        continue;
      }
      PEWTER_TRY_VOID(appendText(text.substr(begin, at - begin), ids));
      ids.push_back(special->id);
      begin = at += special->text.size();
    }
  }
  PEWTER_TRY_VOID(appendText(text.substr(begin), ids));
  return ids;
}

Result<void> Tokenizer::appendText(std::string_view text, std::vector<uint32_t> &ids) const {
  for (char c : text)
    if (byteTokens_[static_cast<unsigned char>(c)] == UINT32_MAX)
      return fail(ErrorKind::Validation, "The vocabulary has no token for the byte [0x{:02X}].",
                  static_cast<unsigned char>(c));
  PEWTER_TRY(auto pieces, splitter_->split(text));
  for (std::string_view piece : pieces)
    appendPiece(piece, ids);
  return {};
}

void Tokenizer::appendPiece(std::string_view piece, std::vector<uint32_t> &ids) const {
  struct Symbol {
    uint32_t id;
    int32_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t left;
    uint32_t leftId, rightId, result;
    bool operator<(const Candidate &other) const { // the heap's top is the largest
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  auto count = static_cast<int32_t>(piece.size());
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (int32_t i = 0; i < count; ++i)
    symbols.push_back({byteTokens_[static_cast<unsigned char>(piece[static_cast<size_t>(i)])], i - 1,
                       i + 1 < count ? i + 1 : -1});
  std::priority_queue<Candidate> heap;
  auto offer = [&](int32_t left) {
    if (left < 0 || symbols[left].next < 0)
      return;
    uint32_t a = symbols[left].id, b = symbols[symbols[left].next].id;
    auto merge = merges_.find(pairKey(a, b));
    if (merge != merges_.end())
      heap.push({merge->second.rank, left, a, b, merge->second.result});
  };
  for (int32_t i = 0; i + 1 < count; ++i)
    offer(i);
  while (!heap.empty()) {
    Candidate best = heap.top();
    heap.pop();
    Symbol &left = symbols[best.left];
    // A candidate is stale when either side has been merged away since.
    if (left.id != best.leftId || left.next < 0 || symbols[left.next].id != best.rightId)
      continue;
    int32_t gone = left.next;
    left.id = best.result;
    left.next = symbols[gone].next;
    symbols[gone].id = UINT32_MAX;
    if (left.next >= 0)
      symbols[left.next].previous = best.left;
    offer(left.previous);
    offer(best.left);
  }
  for (int32_t i = 0; i >= 0 && count > 0; i = symbols[i].next)
    ids.push_back(symbols[i].id);
}

std::string StreamDecoder::push(uint32_t id) {
  if (!showControl_ && tokenizer_.isControl(id))
    return take(true);
  held_ += tokenizer_.bytesOf(id);
  return take(false);
}

std::string StreamDecoder::finish() { return take(true); }

std::string StreamDecoder::take(bool final) {
  std::string out;
  size_t i = 0;
  while (i < held_.size()) {
    auto lead = static_cast<unsigned char>(held_[i]);
    auto length = static_cast<size_t>(utf8Length(lead));
    // The range of the second byte is narrower after four of the leads (no surrogates, no overlong
    // forms, nothing past U+10FFFF).
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    size_t good = length ? 1 : 0;
    while (good < length && i + good < held_.size()) {
      auto byte = static_cast<unsigned char>(held_[i + good]);
      if (byte < low || byte > high)
        break;
      low = 0x80, high = 0xbf;
      ++good;
    }
    if (length && good == length) {
      out.append(held_, i, length);
      i += length;
    } else if (length && i + good == held_.size() && !final) {
      break; // may be completed by the next token
    } else {
      out += "\xef\xbf\xbd";
      i += std::max<size_t>(good, 1);
    }
  }
  held_.erase(0, i);
  return out;
}

} // namespace pewter::muse

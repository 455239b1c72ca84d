// SPDX-License-Identifier: Apache-2.0
//
// The snippet is made here rather than by clang's printer: that one would show fix-its for rewritten
// tokens and include stacks of the prelude.
//
// Tested by: Diagnostics_test.cpp, tests/lit/msl.
#include "msl/frontend/Diagnostics.h"
#include <clang/Basic/DiagnosticAST.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticParse.h>
#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/SourceManager.h>
#include <fmt/format.h>

namespace pewter::msl {

using namespace clang;

namespace {

constexpr size_t kMostMessages = 100; ///< Later ones are counted, not shown.
constexpr size_t kLongestSnippet = 400;

void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// metal::vec<float, 4> and vec<float, 4> -> float4; packed_vec<float, 3> -> packed_float3;
/// matrix<float, 4, 4> -> float4x4.
void shortenTemplates(std::string &text) {
  struct Shape {
    std::string_view name, prefix;
    bool matrix;
  };
  for (const Shape &shape : {Shape{"packed_vec<", "packed_", false}, Shape{"vec<", "", false},
                             Shape{"matrix<", "", true}}) {
    for (size_t at = 0; (at = text.find(shape.name, at)) != std::string::npos;) {
      const bool insideWord = at > 0 && (isalnum(static_cast<unsigned char>(text[at - 1])) ||
                                         text[at - 1] == '_');
      const size_t close = text.find('>', at);
      if (insideWord || close == std::string::npos) {
        ++at;
        continue;
      }
      std::string inner = text.substr(at + shape.name.size(), close - at - shape.name.size());
      const size_t comma = inner.find(", ");
      const std::string scalar = inner.substr(0, comma);
      const std::string rest = comma == std::string::npos ? "" : inner.substr(comma + 2);
      const bool simple = comma != std::string::npos && !rest.empty() &&
                          scalar.find_first_of("<( ") == std::string::npos &&
                          rest.find_first_not_of("0123456789, ") == std::string::npos;
      if (!simple) {
        ++at;
        continue;
      }
      std::string dimensions = rest;
      if (shape.matrix)
        replaceAll(dimensions, ", ", "x");
      const std::string replacement = fmt::format("{}{}{}", shape.prefix, scalar, dimensions);
      text.replace(at, close + 1 - at, replacement);
      at += replacement.size();
    }
  }
}

/// 'float4' (aka 'float4') says nothing twice.
void dropEmptyAliases(std::string &text) {
  for (size_t at = 0; (at = text.find(" (aka '", at)) != std::string::npos;) {
    const size_t begin = at + 7;
    const size_t end = text.find("')", begin);
    if (end == std::string::npos)
      return;
    const std::string quoted = "'" + text.substr(begin, end - begin) + "'";
    if (at >= quoted.size() && text.compare(at - quoted.size(), quoted.size(), quoted) == 0)
      text.erase(at, end + 2 - at);
    else
      at = end;
  }
}

bool isInPrelude(const SourceManager &sources, SourceLocation at) {
  return at.isValid() && sources.isInSystemHeader(sources.getExpansionLoc(at));
}

} // namespace

std::string inMslTerms(std::string text) {
  // A broken rule of the standard library says in words what it wants.
  if (text.starts_with("static assertion failed due to requirement '(metal::access)") ||
      text.starts_with("static assertion failed due to requirement '__pewter_has"))
    if (const size_t words = text.find("': "); words != std::string::npos)
      text.erase(0, words + 3);
  if (text.starts_with("unknown attribute '") && text.ends_with(" ignored"))
    text.erase(text.size() - 8);
  replaceAll(text, " for the current target", "");
  replaceAll(text, "no setter defined for property", "cannot assign to repeated components");
  for (const auto &[number, space] :
       {std::pair{"1", "device"}, std::pair{"2", "constant"}, std::pair{"3", "threadgroup"}}) {
    replaceAll(text, fmt::format("__attribute__((address_space({})))", number), space);
    replaceAll(text, fmt::format("address space '{}'", number), fmt::format("address space '{}'", space));
  }
  replaceAll(text, "const constant ", "constant ");
  replaceAll(text, "unsigned char", "uchar");
  replaceAll(text, "unsigned short", "ushort");
  replaceAll(text, "unsigned int", "uint");
  replaceAll(text, "unsigned long", "ulong");
  replaceAll(text, "_Float16", "half");
  replaceAll(text, "__bf16", "bfloat");
  replaceAll(text, "metal::", "");
  shortenTemplates(text);
  dropEmptyAliases(text);
  return text;
}

void Diagnostics::BeginSourceFile(const LangOptions &, const Preprocessor *) {}

std::string Diagnostics::formatted(const char *word, const SourceManager *sources,
                                   SourceLocation at, const std::string &message) {
  std::string text;
  if (sources && at.isValid()) {
    const SourceLocation place = sources->getFileLoc(at);
    const PresumedLoc presumed = sources->getPresumedLoc(place);
    if (presumed.isValid()) {
      text = fmt::format("{}:{}:{}: {}: {}\n", presumed.getFilename(), presumed.getLine(),
                         presumed.getColumn(), word, message);
      const auto [file, offset] = sources->getDecomposedLoc(place);
      const llvm::StringRef buffer = sources->getBufferData(file);
      const size_t begin = buffer.rfind('\n', offset) == llvm::StringRef::npos
                               ? 0
                               : buffer.substr(0, offset).rfind('\n') + 1;
      const size_t end = std::min(buffer.find('\n', offset), buffer.size());
      if (end - begin <= kLongestSnippet) {
        std::string indent;
        for (size_t i = begin; i < offset; ++i)
          indent += buffer[i] == '\t' ? '\t' : ' ';
        text += fmt::format("{}\n{}^\n", buffer.slice(begin, end).rtrim('\r').str(), indent);
      }
    }
  }
  if (text.empty())
    text = fmt::format("{}: {}\n", word, message);
  return text;
}

void Diagnostics::emit(DiagnosticsEngine::Level level, const SourceManager *sources,
                       SourceLocation at, const std::string &message) {
  const char *word = level >= DiagnosticsEngine::Error     ? "error"
                     : level == DiagnosticsEngine::Warning ? "warning"
                                                           : "note";
  entries_.push_back({level, formatted(word, sources, at, message)});
  if (level >= DiagnosticsEngine::Error)
    ++errors_;
}

void Diagnostics::flushUnplaced() {
  if (unplaced_.empty())
    return;
  const std::string message = std::move(unplaced_);
  unplaced_.clear();
  emit(DiagnosticsEngine::Error, nullptr, {}, message);
}

void Diagnostics::HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic &diagnostic) {
  DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
  if (level == DiagnosticsEngine::Ignored || level == DiagnosticsEngine::Remark)
    return;
  const SourceLocation at = diagnostic.getLocation();
  const SourceManager *sources =
      diagnostic.hasSourceManager() ? &diagnostic.getSourceManager() : nullptr;
  const bool prelude = sources && isInPrelude(*sources, at);
  llvm::SmallString<256> formatted;
  diagnostic.FormatDiagnostic(formatted);
  const std::string message = inMslTerms(formatted.str().str());
  // A literal that is wanted in constant memory; notes say so of functions that were not viable.
  repairs_.texts |= (level == DiagnosticsEngine::Note || level >= DiagnosticsEngine::Error) &&
                    message.find("'const char[") != std::string::npos;

  if (level == DiagnosticsEngine::Note) {
    endlessConstants_ += diagnostic.getID() == diag::note_constexpr_step_limit_exceeded;
    if (!unplaced_.empty()) {
      if (prelude || !at.isValid())
        return;
      const std::string error = std::move(unplaced_);
      unplaced_.clear();
      emit(DiagnosticsEngine::Error, sources, at, error);
      return;
    }
    if (!prelude && !dropNotes_ && at.isValid())
      emit(level, sources, at, message);
    return;
  }

  flushUnplaced();
  dropNotes_ = false;
  if (level >= DiagnosticsEngine::Error) {
    if (diagnostic.getID() == diag::err_typecheck_cond_incompatible_operands)
      repairs_.conditionals.insert(at.getRawEncoding());
    else if (diagnostic.getID() == diag::err_bad_cxx_cast_generic)
      repairs_.casts.insert(at.getRawEncoding());
    if (prelude) {
      unplaced_ = message;
      return;
    }
  } else if (prelude) {
    dropNotes_ = true;
    return;
  }
  emit(level, sources, at, message);
}

void Diagnostics::addError(const SourceManager *sources, SourceLocation at,
                           const std::string &message) {
  flushUnplaced();
  emit(DiagnosticsEngine::Error, sources, at, message);
}

void Diagnostics::addWarning(const SourceManager &sources, SourceLocation at,
                             const std::string &message) {
  flushUnplaced();
  emit(DiagnosticsEngine::Warning, &sources, at, message);
}

std::string Diagnostics::text() const {
  std::string text;
  size_t shown = 0;
  for (const Entry &entry : entries_) {
    if (shown++ == kMostMessages)
      return text + fmt::format("note: {} more messages are not shown\n",
                                entries_.size() - kMostMessages);
    text += entry.text;
  }
  if (!unplaced_.empty())
    text += fmt::format("error: {}\n", unplaced_);
  return text;
}

} // namespace pewter::msl

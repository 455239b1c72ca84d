// SPDX-License-Identifier: Apache-2.0
//
// Collects clang's diagnostics as text in Metal's form, `program_source:LINE:COLUMN: error: ...`, with
// the source line and a caret below. Messages speak MSL (`device float *`, `float4`), and nothing
// points into the prelude: its notes are dropped, and an error inside it is shown at the place in the
// user's text that led there. Errors that a second run can repair are noted (TokenRewriter.h).
#pragma once
#include "msl/frontend/TokenRewriter.h"
#include <clang/Basic/Diagnostic.h>
#include <string>

namespace pewter::msl {

/// A message with clang's spelling of types turned into MSL's.
std::string inMslTerms(std::string message);

class Diagnostics : public clang::DiagnosticConsumer {
public:
  void BeginSourceFile(const clang::LangOptions &options, const clang::Preprocessor *) override;
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &diagnostic) override;

  /// Adds an error of our own at a place of the source (or none).
  void addError(const clang::SourceManager *sources, clang::SourceLocation at,
                const std::string &message);
  void addWarning(const clang::SourceManager &sources, clang::SourceLocation at,
                  const std::string &message);

  /// A message of `word` (error, warning, note) with its place, the line and a caret.
  static std::string formatted(const char *word, const clang::SourceManager *sources,
                               clang::SourceLocation at, const std::string &message);

  unsigned errors() const { return errors_; }
  /// Evaluations of constants that took all the steps they may, each seconds of work: the rest of the
  /// program is not worth it.
  bool isHopeless() const { return endlessConstants_ >= kMostEndlessConstants; }
  const Repairs &repairs() const { return repairs_; }
  /// Everything so far, a message after the other, errors and warnings in source order.
  std::string text() const;

private:
  struct Entry {
    clang::DiagnosticsEngine::Level level;
    std::string text;
  };
  void emit(clang::DiagnosticsEngine::Level level, const clang::SourceManager *sources,
            clang::SourceLocation at, const std::string &message);
  void flushUnplaced();

  std::vector<Entry> entries_;
  Repairs repairs_;
  static constexpr unsigned kMostEndlessConstants = 3;
  unsigned errors_ = 0, endlessConstants_ = 0;
  /// An error inside the prelude that waits for a note in the user's text.
  std::string unplaced_;
  bool dropNotes_ = false;
};

} // namespace pewter::msl

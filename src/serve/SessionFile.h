// SPDX-License-Identifier: Apache-2.0
//
// SessionFile: a slot's sequence on disk. A file is written beside its place, flushed, and renamed, so that
// a name always stands for a whole session, whenever the program is killed. Reading checks a SHA-256 over
// everything before it looks at anything, and refuses a session of another model, device, arithmetic, cache
// type or version of this program: with any of them the next token could be another one.
//
//   PEWTER_TRY_VOID(writeSession(path, {.identity = sessionIdentity(engine), .exactRows = n, .snapshot = bytes}));
//   PEWTER_TRY(SessionFile session, readSession(path, sessionIdentity(engine)));
#pragma once
#include "base/Bytes.h"
#include "muse/Engine.h"
#include "serve/Json.h"

namespace pewter::serve {

struct SessionFile {
  Json identity;          ///< What must be the same, by name.
  uint32_t exactRows = 0; ///< Slot::exactRows.
  Bytes snapshot;         ///< Sequence::save.
};

/// Cheap to make and different for different models: all metadata, and samples of every tensor.
Json sessionIdentity(const muse::Engine &engine);
Result<void> writeSession(const std::filesystem::path &path, const SessionFile &session);
/// An error names what differs from `identity`.
Result<SessionFile> readSession(const std::filesystem::path &path, const Json &identity);
/// Removes what killed programs have left behind.
void removeUnfinishedSessions(const std::filesystem::path &folder);
/// A plain name: letters, digits, "-", "_", ".", not a dot at the start, at most 100.
Result<void> checkSessionName(std::string_view name);

} // namespace pewter::serve

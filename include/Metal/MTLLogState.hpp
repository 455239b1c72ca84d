// SPDX-License-Identifier: Apache-2.0
//
// LogState: where the log messages of kernels go.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include <functional>

namespace MTL {

class LogState;
class LogStateDescriptor;

enum LogLevel : NS::Integer {
  LogLevelUndefined = 0,
  LogLevelDebug = 1,
  LogLevelInfo = 2,
  LogLevelNotice = 3,
  LogLevelError = 4,
  LogLevelFault = 5,
};

enum LogStateError : NS::UInteger {
  LogStateErrorInvalidSize = 1,
  LogStateErrorInvalid = 2,
};

using LogHandlerFunction = std::function<void(NS::String *subsystem, NS::String *category,
                                              LogLevel logLevel, NS::String *message)>;
_MTL_CONST(NS::ErrorDomain, LogStateErrorDomain);

/// Calls its handlers with each message; without handlers messages go to stderr.
class _MTL_EXPORT LogState : public NS::Referencing<LogState> {
public:
  void addLogHandler(const LogHandlerFunction &handler);

#ifdef __BLOCKS__
  void addLogHandler(void (^block)(NS::String *, NS::String *, LogLevel, NS::String *)) {
    addLogHandler(LogHandlerFunction(
        NS::detail::CopiedBlock<void(NS::String *, NS::String *, LogLevel, NS::String *)>(block)));
  }
#endif
};

/// How a log state is made.
class _MTL_EXPORT LogStateDescriptor : public NS::Copying<LogStateDescriptor> {
public:
  static LogStateDescriptor *alloc();
  LogStateDescriptor *init();
  NS::Integer bufferSize() const;
  void setBufferSize(NS::Integer bufferSize);
  LogLevel level() const;
  void setLevel(LogLevel level);
};

} // namespace MTL

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSDefines.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"
#include <functional>

namespace NS {

class Array;
class Dictionary;
class String;

/// The process and the machine, as Linux describes them. isOperatingSystemAtLeastVersion compares
/// with macOS 15.0, the release whose Metal these headers follow.
class _NS_EXPORT ProcessInfo : public Referencing<ProcessInfo> {
public:
  static ProcessInfo *processInfo();

  Array *arguments() const;
  Dictionary *environment() const;
  String *hostName() const;
  String *processName() const;
  int processIdentifier() const;
  String *globallyUniqueString() const;
  String *userName() const;
  String *fullUserName() const;
  OperatingSystemVersion operatingSystemVersion() const;
  String *operatingSystemVersionString() const;
  bool isOperatingSystemAtLeastVersion(OperatingSystemVersion version) const;
  UInteger processorCount() const;
  UInteger activeProcessorCount() const;
  unsigned long long physicalMemory() const;
  TimeInterval systemUptime() const;
  bool isLowPowerModeEnabled() const;
  bool isiOSAppOnMac() const;
  bool isMacCatalystApp() const;
};

} // namespace NS

// SPDX-License-Identifier: Apache-2.0
//
// NS::ProcessInfo, NS::Bundle, NS::Date and NS::Condition on Linux.
// Tested by Foundation_test.cpp.
#include "foundation/Collections.h"
#include "foundation/Files.h"
#include "foundation/String.h"
#include <Foundation/NSBundle.hpp>
#include <Foundation/NSDate.hpp>
#include <Foundation/NSLock.hpp>
#include <Foundation/NSProcessInfo.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <pwd.h>
#include <random>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace pewter::foundation {
namespace {

using Clock = std::chrono::system_clock;

class ProcessInfo final : public NS::ProcessInfo {
public:
  const char *className() const override { return "NSProcessInfo"; }
};

class Bundle final : public NS::Bundle {
public:
  const char *className() const override { return "NSBundle"; }
  std::string path;
};

class Date final : public NS::Date {
public:
  const char *className() const override { return "NSDate"; }
  Clock::time_point when;
};

class Condition final : public NS::Condition {
public:
  const char *className() const override { return "NSCondition"; }
  std::mutex mutex;
  std::condition_variable changed;
};

std::string executablePathOfProcess() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

Condition *implOf(NS::Condition *condition) { return static_cast<Condition *>(condition); }
const std::string &pathOf(const NS::Bundle *bundle) {
  return static_cast<const Bundle *>(bundle)->path;
}

std::string userField(char *passwd::*field) {
  const passwd *entry = ::getpwuid(::getuid());
  return entry && entry->*field ? entry->*field : "";
}

} // namespace
} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

ProcessInfo *ProcessInfo::processInfo() {
  static auto *info = new pewter::foundation::ProcessInfo();
  return info;
}
Array *ProcessInfo::arguments() const {
  std::vector<Ref<String>> list;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all(std::istreambuf_iterator<char>(file), {});
  std::string_view text = all;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find('\0'));
    list.push_back(TransferPtr(newString(item)));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return makeArray(std::move(list));
}
Dictionary *ProcessInfo::environment() const {
  auto *dictionary = new pewter::foundation::Dictionary();
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      dictionary->entries.insert_or_assign(TransferPtr<Object>(newString(text.substr(0, equals))),
                                           TransferPtr<Object>(newString(text.substr(equals + 1))));
  }
  return autoreleased(dictionary);
}
String *ProcessInfo::hostName() const {
  utsname names{};
  ::uname(&names);
  return makeString(names.nodename);
}
String *ProcessInfo::processName() const {
  return makeString(std::filesystem::path(executablePathOfProcess()).filename().string());
}
int ProcessInfo::processIdentifier() const { return ::getpid(); }
String *ProcessInfo::globallyUniqueString() const {
  std::random_device random;
  return makeString(fmt::format("{:08X}{:08X}-{}", random(), random(), ::getpid()));
}
String *ProcessInfo::userName() const { return makeString(userField(&passwd::pw_name)); }
String *ProcessInfo::fullUserName() const { return makeString(userField(&passwd::pw_gecos)); }
OperatingSystemVersion ProcessInfo::operatingSystemVersion() const { return {15, 0, 0}; }
String *ProcessInfo::operatingSystemVersionString() const {
  utsname names{};
  ::uname(&names);
  return makeString(fmt::format("{} {}", names.sysname, names.release));
}
bool ProcessInfo::isOperatingSystemAtLeastVersion(OperatingSystemVersion version) const {
  OperatingSystemVersion ours = operatingSystemVersion();
  if (ours.majorVersion != version.majorVersion)
    return ours.majorVersion > version.majorVersion;
  if (ours.minorVersion != version.minorVersion)
    return ours.minorVersion > version.minorVersion;
  return ours.patchVersion >= version.patchVersion;
}
UInteger ProcessInfo::processorCount() const { return ::sysconf(_SC_NPROCESSORS_CONF); }
UInteger ProcessInfo::activeProcessorCount() const { return std::thread::hardware_concurrency(); }
unsigned long long ProcessInfo::physicalMemory() const {
  return static_cast<unsigned long long>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}
TimeInterval ProcessInfo::systemUptime() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
bool ProcessInfo::isLowPowerModeEnabled() const { return false; }
bool ProcessInfo::isiOSAppOnMac() const { return false; }
bool ProcessInfo::isMacCatalystApp() const { return false; }

Bundle *Bundle::mainBundle() {
  static auto *main = [] {
    auto *bundle = new pewter::foundation::Bundle();
    bundle->path = std::filesystem::path(executablePathOfProcess()).parent_path().string();
    return bundle;
  }();
  return main;
}
Bundle *Bundle::bundle(const String *pPath) {
  Bundle *made = alloc()->init(pPath);
  return made ? autoreleased(made) : nullptr;
}
Bundle *Bundle::bundle(const URL *pURL) {
  Bundle *made = alloc()->init(pURL);
  return made ? autoreleased(made) : nullptr;
}
Bundle *Bundle::alloc() { return new pewter::foundation::Bundle(); }
Bundle *Bundle::init(const String *pPath) {
  std::error_code error;
  if (!std::filesystem::is_directory(copyText(pPath), error)) {
    release();
    return nullptr;
  }
  static_cast<pewter::foundation::Bundle *>(this)->path = textOf(pPath);
  return this;
}
Bundle *Bundle::init(const URL *pURL) { return init(makeString(pewter::foundation::pathOf(pURL))); }
URL *Bundle::bundleURL() const { return makeUrl(pathOf(this)); }
URL *Bundle::resourceURL() const { return bundleURL(); }
URL *Bundle::executableURL() const { return makeUrl(executablePathOfProcess()); }
String *Bundle::bundlePath() const { return makeString(pathOf(this)); }
String *Bundle::resourcePath() const { return bundlePath(); }
String *Bundle::executablePath() const { return makeString(executablePathOfProcess()); }
String *Bundle::bundleIdentifier() const {
  return makeString(std::filesystem::path(pathOf(this)).filename().string());
}

Date *Date::dateWithTimeIntervalSinceNow(TimeInterval secs) {
  auto *date = new pewter::foundation::Date();
  date->when = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(secs));
  return autoreleased(date);
}
Date *Date::distantFuture() {
  auto *date = new pewter::foundation::Date();
  date->when = Clock::now() + std::chrono::years(100);
  return autoreleased(date);
}

void detail::lock(Root *object) {
  dynamic_cast<pewter::foundation::Condition &>(*object).mutex.lock();
}
void detail::unlock(Root *object) {
  dynamic_cast<pewter::foundation::Condition &>(*object).mutex.unlock();
}
Condition *Condition::alloc() { return new pewter::foundation::Condition(); }
Condition *Condition::init() { return this; }
void Condition::wait() {
  std::unique_lock lock(implOf(this)->mutex, std::adopt_lock);
  implOf(this)->changed.wait(lock);
  lock.release();
}
bool Condition::waitUntilDate(Date *pLimit) {
  std::unique_lock lock(implOf(this)->mutex, std::adopt_lock);
  auto status =
      implOf(this)->changed.wait_until(lock, static_cast<pewter::foundation::Date *>(pLimit)->when);
  lock.release();
  return status == std::cv_status::no_timeout;
}
void Condition::signal() { implOf(this)->changed.notify_one(); }
void Condition::broadcast() { implOf(this)->changed.notify_all(); }

} // namespace NS

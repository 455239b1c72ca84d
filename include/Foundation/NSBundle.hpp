// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSDefines.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class String;
class URL;

/// The main bundle is the folder of the program; any other bundle is a folder too. Resources lie in
/// the folder itself.
class _NS_EXPORT Bundle : public Referencing<Bundle> {
public:
  static Bundle *mainBundle();
  static Bundle *bundle(const String *pPath);
  static Bundle *bundle(const URL *pURL);
  static Bundle *alloc();
  Bundle *init(const String *pPath);
  Bundle *init(const URL *pURL);

  URL *bundleURL() const;
  URL *resourceURL() const;
  URL *executableURL() const;
  String *bundlePath() const;
  String *resourcePath() const;
  String *executablePath() const;
  String *bundleIdentifier() const;
};

} // namespace NS

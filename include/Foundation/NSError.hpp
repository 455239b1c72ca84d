// SPDX-License-Identifier: Apache-2.0
//
// NS::Error: a domain, a code in it, and text. Calls that take `NS::Error **` leave it alone on
// success and store an autoreleased error on failure.
#pragma once
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class Array;
class Dictionary;
class String;

using ErrorDomain = String *;
_NS_CONST(ErrorDomain, CocoaErrorDomain);
_NS_CONST(ErrorDomain, POSIXErrorDomain);
_NS_CONST(ErrorDomain, OSStatusErrorDomain);
_NS_CONST(ErrorDomain, MachErrorDomain);

using ErrorUserInfoKey = String *;
_NS_CONST(ErrorUserInfoKey, UnderlyingErrorKey);
_NS_CONST(ErrorUserInfoKey, LocalizedDescriptionKey);
_NS_CONST(ErrorUserInfoKey, LocalizedFailureReasonErrorKey);
_NS_CONST(ErrorUserInfoKey, LocalizedRecoverySuggestionErrorKey);
_NS_CONST(ErrorUserInfoKey, LocalizedRecoveryOptionsErrorKey);
_NS_CONST(ErrorUserInfoKey, RecoveryAttempterErrorKey);
_NS_CONST(ErrorUserInfoKey, HelpAnchorErrorKey);
_NS_CONST(ErrorUserInfoKey, DebugDescriptionErrorKey);
_NS_CONST(ErrorUserInfoKey, LocalizedFailureErrorKey);
_NS_CONST(ErrorUserInfoKey, StringEncodingErrorKey);
_NS_CONST(ErrorUserInfoKey, URLErrorKey);
_NS_CONST(ErrorUserInfoKey, FilePathErrorKey);

class _NS_EXPORT Error : public Copying<Error> {
public:
  static Error *error(ErrorDomain domain, Integer code, Dictionary *pDictionary);
  static Error *alloc();
  Error *init();
  Error *init(ErrorDomain domain, Integer code, Dictionary *pDictionary);

  Integer code() const;
  ErrorDomain domain() const;
  Dictionary *userInfo() const;
  String *localizedDescription() const;
  Array *localizedRecoveryOptions() const;
  String *localizedRecoverySuggestion() const;
  String *localizedFailureReason() const;
};

} // namespace NS

// SPDX-License-Identifier: Apache-2.0
// Tested by Foundation_test.cpp.
#include "foundation/Error.h"
#include "foundation/String.h"
#include <Foundation/NSArray.hpp>
#include <fmt/format.h>

namespace NS {

#define PEWTER_CONSTANT(Type, name, text) Type const name = detail::constantString(text);
PEWTER_CONSTANT(ErrorDomain, CocoaErrorDomain, "NSCocoaErrorDomain")
PEWTER_CONSTANT(ErrorDomain, POSIXErrorDomain, "NSPOSIXErrorDomain")
PEWTER_CONSTANT(ErrorDomain, OSStatusErrorDomain, "NSOSStatusErrorDomain")
PEWTER_CONSTANT(ErrorDomain, MachErrorDomain, "NSMachErrorDomain")
PEWTER_CONSTANT(ErrorUserInfoKey, UnderlyingErrorKey, "NSUnderlyingError")
PEWTER_CONSTANT(ErrorUserInfoKey, LocalizedDescriptionKey, "NSLocalizedDescription")
PEWTER_CONSTANT(ErrorUserInfoKey, LocalizedFailureReasonErrorKey, "NSLocalizedFailureReason")
PEWTER_CONSTANT(ErrorUserInfoKey, LocalizedRecoverySuggestionErrorKey,
                "NSLocalizedRecoverySuggestion")
PEWTER_CONSTANT(ErrorUserInfoKey, LocalizedRecoveryOptionsErrorKey, "NSLocalizedRecoveryOptions")
PEWTER_CONSTANT(ErrorUserInfoKey, RecoveryAttempterErrorKey, "NSRecoveryAttempter")
PEWTER_CONSTANT(ErrorUserInfoKey, HelpAnchorErrorKey, "NSHelpAnchor")
PEWTER_CONSTANT(ErrorUserInfoKey, DebugDescriptionErrorKey, "NSDebugDescription")
PEWTER_CONSTANT(ErrorUserInfoKey, LocalizedFailureErrorKey, "NSLocalizedFailure")
PEWTER_CONSTANT(ErrorUserInfoKey, StringEncodingErrorKey, "NSStringEncoding")
PEWTER_CONSTANT(ErrorUserInfoKey, URLErrorKey, "NSURL")
PEWTER_CONSTANT(ErrorUserInfoKey, FilePathErrorKey, "NSFilePath")
#undef PEWTER_CONSTANT

} // namespace NS

namespace pewter::foundation {
namespace {

Error *implOf(const NS::Error *error) {
  return static_cast<Error *>(const_cast<NS::Error *>(error));
}

template <class T> T *infoOf(const NS::Error *error, NS::ErrorUserInfoKey key) {
  NS::Dictionary *info = implOf(error)->userInfo.get();
  return info ? info->object<T>(key) : nullptr;
}

} // namespace

NS::String *Error::makeDescription() const {
  return makeString(fmt::format("Error Domain={} Code={} \"{}\"", textOf(domain.get()), code,
                                textOf(localizedDescription())));
}

NS::Error *newError(NS::ErrorDomain domain, NS::Integer code, std::string_view description) {
  auto *error = new Error();
  error->domain = share(domain);
  error->code = code;
  auto text = NS::TransferPtr(newString(description));
  const NS::Object *object = text.get(), *key = NS::LocalizedDescriptionKey;
  error->userInfo = NS::TransferPtr(NS::Dictionary::alloc()->init(&object, &key, 1));
  return error;
}

} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

Error *Error::error(ErrorDomain domain, Integer code, Dictionary *pDictionary) {
  return autoreleased(alloc()->init(domain, code, pDictionary));
}
Error *Error::alloc() { return new pewter::foundation::Error(); }
Error *Error::init() { return this; }
Error *Error::init(ErrorDomain domain, Integer code, Dictionary *pDictionary) {
  implOf(this)->domain = share(domain);
  implOf(this)->code = code;
  implOf(this)->userInfo = share(pDictionary);
  return this;
}
Integer Error::code() const { return implOf(this)->code; }
ErrorDomain Error::domain() const { return implOf(this)->domain.get(); }
Dictionary *Error::userInfo() const {
  auto &info = implOf(this)->userInfo;
  return info ? info.get() : Dictionary::dictionary();
}
String *Error::localizedDescription() const {
  if (auto *text = infoOf<String>(this, LocalizedDescriptionKey))
    return text;
  return makeString(
      fmt::format("The operation couldn't be completed. ({} error {}.)", textOf(domain()), code()));
}
Array *Error::localizedRecoveryOptions() const {
  return infoOf<Array>(this, LocalizedRecoveryOptionsErrorKey);
}
String *Error::localizedRecoverySuggestion() const {
  return infoOf<String>(this, LocalizedRecoverySuggestionErrorKey);
}
String *Error::localizedFailureReason() const {
  return infoOf<String>(this, LocalizedFailureReasonErrorKey);
}

} // namespace NS

// SPDX-License-Identifier: Apache-2.0
#include <Foundation/Foundation.hpp>
#include <cstring>
#include <dispatch/dispatch.h>
#include <gtest/gtest.h>
#include <thread>

namespace {

TEST(Object, CountsReferences) {
  NS::Number *number = NS::Number::alloc()->init(7);
  EXPECT_EQ(number->retainCount(), 1u);
  EXPECT_EQ(number->retain(), number);
  EXPECT_EQ(number->retainCount(), 2u);
  number->release();
  EXPECT_EQ(number->retainCount(), 1u);
  number->release();
}

TEST(Object, NullAcceptsCountingCalls) {
  NS::SharedPtr<NS::String> empty;
  EXPECT_FALSE(empty);
  NS::detail::release(nullptr);
  NS::detail::retain(nullptr);
  NS::detail::autorelease(nullptr);
}

TEST(AutoreleasePool, DrainReleasesWhatWasAutoreleased) {
  NS::String *text = NS::String::alloc()->init("held", NS::UTF8StringEncoding);
  {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    text->retain()->autorelease();
    EXPECT_EQ(text->retainCount(), 2u);
  }
  EXPECT_EQ(text->retainCount(), 1u);
  text->release();
}

TEST(AutoreleasePool, PoolsNest) {
  NS::String *text = NS::String::alloc()->init("held", NS::UTF8StringEncoding);
  NS::AutoreleasePool *outer = NS::AutoreleasePool::alloc()->init();
  text->retain()->autorelease();
  NS::AutoreleasePool *inner = NS::AutoreleasePool::alloc()->init();
  text->retain()->autorelease();
  inner->release();
  EXPECT_EQ(text->retainCount(), 2u);
  outer->drain();
  EXPECT_EQ(text->retainCount(), 1u);
  text->release();
}

TEST(AutoreleasePool, ThreadEndDrainsTheRest) {
  NS::String *text = NS::String::alloc()->init("held", NS::UTF8StringEncoding);
  std::thread([&] { text->retain()->autorelease(); }).join();
  EXPECT_EQ(text->retainCount(), 1u);
  text->release();
}

TEST(SharedPtr, TransfersAndRetains) {
  NS::String *text = NS::String::alloc()->init("x", NS::UTF8StringEncoding);
  {
    auto first = NS::TransferPtr(text);
    EXPECT_EQ(text->retainCount(), 1u);
    NS::SharedPtr<NS::Object> second = first;
    EXPECT_EQ(text->retainCount(), 2u);
    auto third = NS::RetainPtr(text);
    EXPECT_EQ(text->retainCount(), 3u);
    third = std::move(first);
    EXPECT_EQ(text->retainCount(), 2u);
    third.detach();
    EXPECT_FALSE(third);
  }
  EXPECT_EQ(text->retainCount(), 1u);
  text->release();
}

TEST(String, KeepsUtf8AndCountsUtf16Units) {
  auto *text = NS::String::string("a\xc3\xa9\xf0\x9f\x98\x80", NS::UTF8StringEncoding);
  EXPECT_STREQ(text->utf8String(), "a\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(text->length(), 4u);
  EXPECT_EQ(text->character(1), 0xe9);
  EXPECT_EQ(text->character(2), 0xd83d);
  EXPECT_EQ(text->lengthOfBytes(NS::UTF8StringEncoding), 7u);
}

TEST(String, RefusesBytesThatAreNotInTheEncoding) {
  EXPECT_EQ(NS::String::string("\xff", NS::UTF8StringEncoding), nullptr);
  EXPECT_EQ(NS::String::string("\xc0\x80", NS::UTF8StringEncoding), nullptr);
  EXPECT_EQ(NS::String::string("a", NS::JapaneseEUCStringEncoding), nullptr);
}

TEST(String, ConvertsLatin1AndUtf16) {
  EXPECT_STREQ(NS::String::string("\xe9", NS::ISOLatin1StringEncoding)->utf8String(), "\xc3\xa9");
  const char16_t wide[] = {0x41, 0xd83d, 0xde00, 0};
  auto *text = NS::String::string(reinterpret_cast<const char *>(wide), NS::UTF16StringEncoding);
  ASSERT_NE(text, nullptr);
  EXPECT_STREQ(text->utf8String(), "A\xf0\x9f\x98\x80");
}

TEST(String, FindsAndCompares) {
  auto *text = MTLSTR("Hello hello");
  NS::Range found = text->rangeOfString(MTLSTR("hello"), NS::LiteralSearch);
  EXPECT_EQ(NS::UInteger(found.location), 6u);
  EXPECT_EQ(NS::UInteger(found.length), 5u);
  EXPECT_EQ(text->rangeOfString(MTLSTR("hello"), NS::CaseInsensitiveSearch).location, 0u);
  EXPECT_EQ(text->rangeOfString(MTLSTR("nothing"), 0).location, NS::UInteger(NS::NotFound));
  EXPECT_TRUE(text->isEqualToString(MTLSTR("Hello hello")));
  EXPECT_EQ(MTLSTR("a")->caseInsensitiveCompare(MTLSTR("B")), NS::OrderedAscending);
  EXPECT_STREQ(MTLSTR("a")->stringByAppendingString(MTLSTR("b"))->utf8String(), "ab");
}

TEST(String, ConstantsAreOneObjectAndImmortal) {
  NS::String *text = MTLSTR("constant");
  EXPECT_EQ(text, MTLSTR("constant"));
  for (int i = 0; i < 10; ++i)
    text->release();
  EXPECT_STREQ(text->utf8String(), "constant");
}

TEST(Number, ConvertsAndCompares) {
  EXPECT_EQ(NS::Number::number(3.75f)->intValue(), 3);
  EXPECT_EQ(NS::Number::number(-1)->unsignedLongLongValue(), UINT64_MAX);
  EXPECT_EQ(NS::Number::number(true)->boolValue(), true);
  EXPECT_TRUE(NS::Number::number(2)->isEqualToNumber(NS::Number::number(2.0)));
  EXPECT_EQ(NS::Number::number(-1)->compare(NS::Number::number(~0ull)), NS::OrderedAscending);
  EXPECT_STREQ(NS::Number::number(42ull)->stringValue()->utf8String(), "42");
  EXPECT_STREQ(NS::Number::number(1.5)->description()->utf8String(), "1.5");
}

TEST(Value, HoldsPointers) {
  int x = 0;
  EXPECT_EQ(NS::Value::value(&x)->pointerValue(), &x);
}

TEST(Array, RetainsItsObjects) {
  NS::String *text = NS::String::alloc()->init("x", NS::UTF8StringEncoding);
  const NS::Object *objects[] = {text, MTLSTR("y")};
  NS::Array *array = NS::Array::alloc()->init(objects, 2);
  EXPECT_EQ(text->retainCount(), 2u);
  EXPECT_EQ(array->count(), 2u);
  EXPECT_EQ(array->object<NS::String>(1), MTLSTR("y"));
  EXPECT_EQ(array->object(2), nullptr);
  NS::UInteger seen = 0;
  {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    auto *enumerator = array->objectEnumerator();
    while (enumerator->nextObject())
      ++seen;
  }
  EXPECT_EQ(seen, 2u);
  array->release();
  EXPECT_EQ(text->retainCount(), 1u);
  text->release();
}

TEST(Dictionary, FindsByEqualKey) {
  auto *dictionary = NS::Dictionary::dictionary(NS::Number::number(1), MTLSTR("one"));
  auto *key = NS::String::string("one", NS::UTF8StringEncoding);
  ASSERT_NE(dictionary->object<NS::Number>(key), nullptr);
  EXPECT_EQ(dictionary->object<NS::Number>(key)->intValue(), 1);
  EXPECT_EQ(dictionary->object(MTLSTR("two")), nullptr);
  EXPECT_EQ(dictionary->keyEnumerator<NS::String>()->nextObject(), MTLSTR("one"));
}

TEST(Error, CarriesDomainCodeAndText) {
  auto *info = NS::Dictionary::dictionary(MTLSTR("It broke."), NS::LocalizedDescriptionKey);
  auto *error = NS::Error::error(NS::POSIXErrorDomain, 5, info);
  EXPECT_EQ(error->code(), 5);
  EXPECT_STREQ(error->domain()->utf8String(), "NSPOSIXErrorDomain");
  EXPECT_STREQ(error->localizedDescription()->utf8String(), "It broke.");
  EXPECT_NE(
      std::strstr(
          NS::Error::error(NS::POSIXErrorDomain, 5, nullptr)->localizedDescription()->utf8String(),
          "NSPOSIXErrorDomain error 5"),
      nullptr);
}

TEST(Url, DecodesFileUrls) {
  auto url = NS::TransferPtr(NS::URL::alloc()->init(MTLSTR("file:///a%20b/c")));
  EXPECT_STREQ(url->fileSystemRepresentation(), "/a b/c");
  EXPECT_STREQ(NS::URL::fileURLWithPath(MTLSTR("/x"))->fileSystemRepresentation(), "/x");
}

TEST(Data, CopiesBytes) {
  char bytes[] = "abc";
  auto *data = NS::Data::data(bytes, 3);
  bytes[0] = 'z';
  EXPECT_EQ(data->length(), 3u);
  EXPECT_EQ(std::memcmp(data->bytes(), "abc", 3), 0);
  EXPECT_EQ(NS::Data::data(MTLSTR("/no/such/file")), nullptr);
}

TEST(ProcessInfo, DescribesTheProcess) {
  auto *info = NS::ProcessInfo::processInfo();
  EXPECT_GE(info->arguments()->count(), 1u);
  EXPECT_GT(info->physicalMemory(), 0u);
  EXPECT_TRUE(info->isOperatingSystemAtLeastVersion({13, 3, 0}));
  EXPECT_FALSE(info->isOperatingSystemAtLeastVersion({99, 0, 0}));
  EXPECT_NE(NS::Bundle::mainBundle()->resourcePath()->length(), 0u);
}

TEST(Dispatch, SemaphoreCountsAndTimesOut) {
  dispatch_semaphore_t semaphore = dispatch_semaphore_create(1);
  EXPECT_EQ(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER), 0);
  EXPECT_NE(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 1000000)), 0);
  std::thread other([&] { dispatch_semaphore_signal(semaphore); });
  EXPECT_EQ(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER), 0);
  other.join();
  dispatch_release(semaphore);
}

} // namespace

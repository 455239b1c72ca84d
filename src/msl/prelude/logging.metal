// SPDX-License-Identifier: Apache-2.0
// metal_logging: printf-like messages. Each argument takes eight bytes; a float is passed as its bits.
namespace metal {
enum class log_type { debug = 1, info = 2, standard = 3, error = 4, fault = 5 };

void __air_os_log(const char *, const char *, int, const char *, const thread ulong *, ulong)
    __attribute__((nothrow)) __asm("air.os_log");

METAL_FUNC ulong __log_word(float x) { return as_type<uint>(x); }
METAL_FUNC ulong __log_word(half x) { return as_type<uint>(float(x)); }
METAL_FUNC ulong __log_word(bfloat x) { return as_type<uint>(float(x)); }
METAL_FUNC ulong __log_word(bool x) { return x; }
METAL_FUNC ulong __log_word(char x) { return ulong(long(x)); }
METAL_FUNC ulong __log_word(uchar x) { return x; }
METAL_FUNC ulong __log_word(short x) { return ulong(long(x)); }
METAL_FUNC ulong __log_word(ushort x) { return x; }
METAL_FUNC ulong __log_word(int x) { return ulong(long(x)); }
METAL_FUNC ulong __log_word(uint x) { return x; }
METAL_FUNC ulong __log_word(long x) { return ulong(x); }
METAL_FUNC ulong __log_word(ulong x) { return x; }
template <class T> METAL_FUNC ulong __log_word(const device T *x) { return (ulong)x; }
template <class T> METAL_FUNC ulong __log_word(const constant T *x) { return (ulong)x; }
template <class T> METAL_FUNC ulong __log_word(const threadgroup T *x) { return (ulong)x; }

struct os_log {
  const char *__subsystem;
  const char *__category;
  METAL_FUNC constexpr os_log() : __subsystem(nullptr), __category(nullptr) {}
  METAL_FUNC constexpr os_log(const char *subsystem, const char *category)
      : __subsystem(subsystem), __category(category) {}

  template <class... A>
  METAL_FUNC void log_with_type(log_type type, const char *format, A... values) const {
    const ulong words[sizeof...(A) + 1] = {__log_word(values)..., 0ul};
    __air_os_log(__subsystem, __category, (int)type, format, words, sizeof...(A) * 8);
  }
  template <class... A> METAL_FUNC void log(const char *format, A... values) const {
    log_with_type(log_type::standard, format, values...);
  }
  template <class... A> METAL_FUNC void log_debug(const char *format, A... values) const {
    log_with_type(log_type::debug, format, values...);
  }
  template <class... A> METAL_FUNC void log_info(const char *format, A... values) const {
    log_with_type(log_type::info, format, values...);
  }
  template <class... A> METAL_FUNC void log_error(const char *format, A... values) const {
    log_with_type(log_type::error, format, values...);
  }
  template <class... A> METAL_FUNC void log_fault(const char *format, A... values) const {
    log_with_type(log_type::fault, format, values...);
  }
};
inline constexpr constant os_log os_log_default{};
} // namespace metal

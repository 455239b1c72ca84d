// SPDX-License-Identifier: Apache-2.0
// metal_logging: accepted, and without effect: a log call is dropped.
namespace metal {
enum class log_type { debug, info, standard, error, fault };
struct os_log {
  template <class... A> METAL_FUNC constexpr os_log(A...) {}
  template <class... A> METAL_FUNC void log(A...) const {}
  template <class... A> METAL_FUNC void log_with_type(A...) const {}
  template <class... A> METAL_FUNC void log_debug(A...) const {}
  template <class... A> METAL_FUNC void log_info(A...) const {}
  template <class... A> METAL_FUNC void log_error(A...) const {}
  template <class... A> METAL_FUNC void log_fault(A...) const {}
};
inline constexpr constant os_log os_log_default{};
} // namespace metal

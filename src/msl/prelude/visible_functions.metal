// SPDX-License-Identifier: Apache-2.0
// metal_visible_function_table. A table is a number of entries and a word for each: 0 for an empty one, else
// the number that the pipeline gave a function. A call of a function pointer chooses by that number
// (air/ir/DispatchCalls), so that one of an empty entry, or past the end, does nothing and gives zero.
namespace metal {
template <class F> struct visible_function_table;
template <class R, class... A> struct visible_function_table<R(A...)> {
  typedef R value_type(A...);
  constant ulong *__words;

  METAL_FUNC size_t size() const { return __words ? __words[0] : 0ul; }
  METAL_FUNC bool empty() const { return size() == 0; }
  METAL_FUNC bool empty(size_t i) const { return __word(i) == 0; }
  METAL_FUNC value_type *operator[](size_t i) const { return (value_type *)__word(i); }

private:
  METAL_FUNC ulong __word(size_t i) const { return i < size() ? __words[i + 1] : 0ul; }
};
template <class F> METAL_FUNC bool is_null_visible_function_table(visible_function_table<F> table) {
  return table.__words == nullptr;
}
} // namespace metal

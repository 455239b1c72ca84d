// SPDX-License-Identifier: Apache-2.0
// metal_type_traits. The traits that programs define themselves in namespace metal are left out.
namespace metal {
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T, T v> struct integral_constant {
  static constexpr constant T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <class T> T &&declval();
template <class T> struct type_identity { typedef T type; };

template <class T>
struct is_floating_point
    : bool_constant<__is_floating_point(T) || __is_same(__remove_cv(T), half) ||
                    __is_same(__remove_cv(T), bfloat)> {};
template <class T> inline constexpr constant bool is_floating_point_v = is_floating_point<T>::value;
template <class T>
struct is_arithmetic : bool_constant<__is_integral(T) || is_floating_point<T>::value> {};
template <class T> inline constexpr constant bool is_arithmetic_v = is_arithmetic<T>::value;
template <class A, class B> struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B> inline constexpr constant bool is_same_v = __is_same(A, B);
template <class A, class B> struct is_convertible : bool_constant<__is_convertible(A, B)> {};
template <class A, class B> inline constexpr constant bool is_convertible_v = __is_convertible(A, B);
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> inline constexpr constant bool is_base_of_v = __is_base_of(A, B);
template <class A, class B> struct is_assignable : bool_constant<__is_assignable(A, B)> {};
template <class A, class B> inline constexpr constant bool is_assignable_v = __is_assignable(A, B);
template <class T, class... A> struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
inline constexpr constant bool is_constructible_v = __is_constructible(T, A...);
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> struct rank : integral_constant<size_t, __array_rank(T)> {};
template <class T> inline constexpr constant size_t rank_v = __array_rank(T);
template <class T, unsigned I = 0> struct extent : integral_constant<size_t, __array_extent(T, I)> {};
template <class...> struct conjunction : true_type {};
template <class A> struct conjunction<A> : A {};
template <class A, class... B>
struct conjunction<A, B...> : conditional_t<bool(A::value), conjunction<B...>, A> {};
template <class... B> inline constexpr constant bool conjunction_v = conjunction<B...>::value;
template <class...> struct disjunction : false_type {};
template <class A> struct disjunction<A> : A {};
template <class A, class... B>
struct disjunction<A, B...> : conditional_t<bool(A::value), A, disjunction<B...>> {};
template <class... B> inline constexpr constant bool disjunction_v = disjunction<B...>::value;
template <class B> struct negation : bool_constant<!bool(B::value)> {};
template <class B> inline constexpr constant bool negation_v = !bool(B::value);
template <class... B> using _conjunction = conjunction<B...>;
template <class... B> using _disjunction = disjunction<B...>;
template <class T> struct add_const { typedef const T type; };
template <class T> using add_const_t = const T;
template <class T> struct add_volatile { typedef volatile T type; };
template <class T> struct add_cv { typedef const volatile T type; };
template <class T> struct add_lvalue_reference { typedef T &type; };
template <class T> using add_lvalue_reference_t = T &;
template <class T> struct add_rvalue_reference { typedef T &&type; };
template <class T> using add_rvalue_reference_t = T &&;
template <class... T> struct common_type {};
template <class T> struct common_type<T> { typedef __decay(T) type; };
template <class A, class B> struct common_type<A, B> {
  typedef __decay(decltype(true ? declval<A>() : declval<B>())) type;
};
template <class A, class B, class... C>
struct common_type<A, B, C...> : common_type<typename common_type<A, B>::type, C...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;
template <class F, class... A> struct invoke_result {
  typedef decltype(declval<F>()(declval<A>()...)) type;
};
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;

template <class T> struct remove_addrspace { typedef T type; };
template <class T> struct remove_addrspace<device T> { typedef T type; };
template <class T> struct remove_addrspace<threadgroup T> { typedef T type; };
template <class T> struct remove_addrspace<constant T> { typedef __remove_cv(T) type; };
template <class T> using remove_addrspace_t = typename remove_addrspace<T>::type;

// Named as in Apple's headers: programs ask it what the functions across lanes take.
template <class T> struct __is_valid_simdgroup_type {
  static constexpr constant bool value =
      __is_same(T, float) || __is_same(T, half) || __is_same(T, int) || __is_same(T, uint) ||
      __is_same(T, short) || __is_same(T, ushort) || __is_same(T, char) || __is_same(T, uchar);
};

template <class T> using uniform = T;
template <class T> METAL_FUNC constexpr T make_uniform(T x) { return x; }
template <class T> METAL_FUNC bool is_uniform(T) { return true; }
} // namespace metal

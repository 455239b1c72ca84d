// SPDX-License-Identifier: Apache-2.0
// metal_matrix: columns of vectors. metal_array.
#define __METAL_EACH(i, count) _Pragma("clang loop unroll(full)") for (int i = 0; i < count; ++i)
namespace metal {
template <class T, int C, int R = C> struct matrix {
  typedef vec<T, R> column_type;
  vec<T, R> columns[C];

  matrix() = default;
  METAL_FUNC constexpr explicit matrix(T d) : columns{} {
    for (int i = 0; i < (C < R ? C : R); ++i)
      columns[i].__v[i] = d;
  }
  template <class... A, class = enable_if_t<(sizeof...(A) == C - 1)>>
  METAL_FUNC constexpr matrix(vec<T, R> first, A... rest) : columns{first, vec<T, R>(rest)...} {}
  // Columns in braces have no type that could be deduced.
  template <int N = C, class = enable_if_t<N == 2>>
  METAL_FUNC constexpr matrix(vec<T, R> a, vec<T, R> b) : columns{a, b} {}
  template <int N = C, class = enable_if_t<N == 3>>
  METAL_FUNC constexpr matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c) : columns{a, b, c} {}
  template <int N = C, class = enable_if_t<N == 4>>
  METAL_FUNC constexpr matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c, vec<T, R> d)
      : columns{a, b, c, d} {}
  template <class... A, class = enable_if_t<(sizeof...(A) == C * R - 1)>, class = void>
  METAL_FUNC constexpr matrix(T first, A... rest) : columns{} {
    const T all[C * R] = {first, T(rest)...};
    for (int i = 0; i < C; ++i)
      for (int k = 0; k < R; ++k)
        columns[i].__v[k] = all[i * R + k];
  }
  template <class U> METAL_FUNC explicit matrix(const matrix<U, C, R> &other) {
    __METAL_EACH(i, C) columns[i] = vec<T, R>(other.columns[i]);
  }

  METAL_FUNC thread vec<T, R> &operator[](size_t i) { return columns[i]; }
  METAL_FUNC constexpr const thread vec<T, R> &operator[](size_t i) const { return columns[i]; }

  METAL_FUNC friend matrix operator+(const matrix &a, const matrix &b) {
    matrix r;
    __METAL_EACH(i, C) r.columns[i] = a.columns[i] + b.columns[i];
    return r;
  }
  METAL_FUNC friend matrix operator-(const matrix &a, const matrix &b) {
    matrix r;
    __METAL_EACH(i, C) r.columns[i] = a.columns[i] - b.columns[i];
    return r;
  }
  METAL_FUNC matrix operator-() const {
    matrix r;
    __METAL_EACH(i, C) r.columns[i] = -columns[i];
    return r;
  }
  METAL_FUNC friend matrix operator*(const matrix &a, T s) {
    matrix r;
    __METAL_EACH(i, C) r.columns[i] = a.columns[i] * s;
    return r;
  }
  METAL_FUNC friend matrix operator*(T s, const matrix &a) { return a * s; }
  METAL_FUNC friend matrix operator/(const matrix &a, T s) {
    matrix r;
    __METAL_EACH(i, C) r.columns[i] = a.columns[i] / s;
    return r;
  }
  METAL_FUNC friend vec<T, R> operator*(const matrix &a, const vec<T, C> &v) {
    vec<T, R> r = a.columns[0] * v.__v[0];
    _Pragma("clang loop unroll(full)") for (int i = 1; i < C; ++i) r += a.columns[i] * v.__v[i];
    return r;
  }
  METAL_FUNC friend vec<T, C> operator*(const vec<T, R> &v, const matrix &a) {
    vec<T, C> r;
    __METAL_EACH(i, C) r.__v[i] = dot(v, a.columns[i]);
    return r;
  }
  METAL_FUNC friend thread matrix &operator+=(thread matrix &a, const matrix &b) {
    a = a + b;
    return a;
  }
  METAL_FUNC friend thread matrix &operator-=(thread matrix &a, const matrix &b) {
    a = a - b;
    return a;
  }
  // A friend, as all assignments are: a function that lookup finds keeps clang from compound assignments to
  // swizzles in templates.
  METAL_FUNC friend thread matrix &operator*=(thread matrix &a, const matrix<T, C, C> &b) {
    a = a * b;
    return a;
  }
  METAL_FUNC friend thread matrix &operator*=(thread matrix &a, T s) {
    a = a * s;
    return a;
  }
  METAL_FUNC friend bool operator==(const matrix &a, const matrix &b) {
    bool r = true;
    __METAL_EACH(i, C) r = r && all(a.columns[i] == b.columns[i]);
    return r;
  }
  METAL_FUNC friend bool operator!=(const matrix &a, const matrix &b) { return !(a == b); }
};
template <class T, int C, int R, int K>
METAL_FUNC matrix<T, K, R> operator*(const matrix<T, C, R> &a, const matrix<T, K, C> &b) {
  matrix<T, K, R> r;
  __METAL_EACH(i, K) r.columns[i] = a * b.columns[i];
  return r;
}
template <class T, int C, int R> METAL_FUNC matrix<T, R, C> transpose(const matrix<T, C, R> &a) {
  matrix<T, R, C> r;
  __METAL_EACH(i, C) __METAL_EACH(k, R) r.columns[k].__v[i] = a.columns[i].__v[k];
  return r;
}
template <class T> METAL_FUNC T determinant(const matrix<T, 2, 2> &a) {
  return a.columns[0].x * a.columns[1].y - a.columns[0].y * a.columns[1].x;
}
template <class T> METAL_FUNC T determinant(const matrix<T, 3, 3> &a) {
  return dot(a.columns[0], cross(a.columns[1], a.columns[2]));
}
template <class T> METAL_FUNC T determinant(const matrix<T, 4, 4> &a) {
  T sum = T(0);
  __METAL_EACH(i, 4) {
    matrix<T, 3, 3> minor;
    __METAL_EACH(k, 3) minor.columns[k] = a.columns[k < i ? k : k + 1].yzw;
    const T term = a.columns[i].x * determinant(minor);
    sum = (i & 1) ? sum - term : sum + term;
  }
  return sum;
}

template <class T, size_t N> struct array {
  typedef T value_type;
  T __e[N];
  METAL_FUNC constexpr thread T &operator[](size_t i) { return __e[i]; }
  METAL_FUNC constexpr const thread T &operator[](size_t i) const { return __e[i]; }
  METAL_FUNC constexpr thread T &front() { return __e[0]; }
  METAL_FUNC constexpr thread T &back() { return __e[N - 1]; }
  METAL_FUNC constexpr thread T *data() { return __e; }
  METAL_FUNC constexpr const thread T *data() const { return __e; }
  METAL_FUNC constexpr thread T *begin() { return __e; }
  METAL_FUNC constexpr thread T *end() { return __e + N; }
  METAL_FUNC constexpr const thread T *begin() const { return __e; }
  METAL_FUNC constexpr const thread T *end() const { return __e + N; }
  METAL_FUNC static constexpr size_t size() { return N; }
  METAL_FUNC static constexpr bool empty() { return N == 0; }
  METAL_FUNC void fill(const thread T &x) {
    for (size_t i = 0; i < N; ++i)
      __e[i] = x;
  }
};
template <class T> struct __is_matrix : false_type {};
template <class T, int C, int R> struct __is_matrix<matrix<T, C, R>> : true_type {};
template <class T> struct is_matrix : __is_matrix<__remove_cv(T)> {};
template <class T> inline constexpr constant bool is_matrix_v = is_matrix<T>::value;
} // namespace metal

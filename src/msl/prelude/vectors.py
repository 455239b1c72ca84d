# SPDX-License-Identifier: Apache-2.0
"""vec<T,N> and packed_vec<T,N>. A vec is a union of clang's vector and of real scalar members:
as members, components can be written in dependent code and a component store stays a scalar store.
The union is vec itself: to instantiate a method that goes through an unnamed member, clang reads all
members of the precompiled class, which takes longer than everything else about a small kernel.
Swizzles are properties with one getter and, where components are distinct, one setter."""
import itertools

from emit import INLINE as AI, SCALARS, out

ELEMENT = "typename __st<T>::type"


def compositions(n):
    """Ways to fill n components from scalars and shorter vectors."""
    if n == 0:
        yield ()
    for first in (1, 2, 3):
        if first <= n:
            for rest in compositions(n - first):
                yield (first,) + rest


def constructors(n, name, member):
    for parts in compositions(n):
        if len(parts) < 2:
            continue
        params, init = [], []
        for i, size in enumerate(parts):
            if size == 1:
                params.append(f"T a{i}")
                init.append(f"({ELEMENT})a{i}")
            else:
                params.append(f"const vec<T,{size}>& a{i}")
                init += [f"a{i}.__v[{k}]" for k in range(size)]
        out(f'{AI} constexpr {name}({", ".join(params)}) : {member}{{{", ".join(init)}}} {{}}')


def swizzles(n, get, put):
    """Declares the properties; get(components) and put(components) give the bodies."""
    for count in (2, 3, 4):
        for chosen in itertools.product(range(n), repeat=count):
            name = "".join("xyzw"[i] for i in chosen)
            kind = f"vec<T,{count}>"
            out(f"{AI} constexpr {kind} __g{name}() const {{ {get(chosen, kind)} }}")
            accessors = f"get=__g{name}"
            if len(set(chosen)) == count:
                out(f"{AI} constexpr void __p{name}(const {kind}& s) {{ {put(chosen)} }}")
                accessors += f",put=__p{name}"
            for letters in ("xyzw", "rgba"):
                alias = "".join(letters[i] for i in chosen)
                out(f"__declspec(property({accessors})) {kind} {alias};")


def vector(n):
    out(f"template<class T> union vec<T,{n}> {{")
    out(f"typedef __ev<T,{n}> __v_t; typedef T value_type; static constexpr constant uint __n = {n};")
    out(f'__v_t __v; struct {{ T {",".join("xyzw"[:n])}; }}; struct {{ T {",".join("rgba"[:n])}; }};')
    out(f"struct __raw {{}}; {AI} vec() = default;")
    out(f"{AI} constexpr vec(__raw, __v_t v) : __v(v) {{}}")
    out(f"{AI} constexpr vec(T s) : __v((__v_t)({ELEMENT})s) {{}}")
    constructors(n, "vec", "__v")
    items = ", ".join(f"({ELEMENT})(l.size() > {i} ? l.begin()[{i}] : T(0))" for i in range(n))
    out(f"{AI} constexpr vec(std::initializer_list<T> l) : __v{{{items}}} {{}}")
    out(f"template<class U> {AI} constexpr explicit vec(const vec<U,{n}>& o) : __v(__cvt<U>(o.__v)) {{}}")
    out(f"template<class U> {AI} static constexpr __v_t __cvt(__ev<U,{n}> x) {{ "
        f"if constexpr (__is_same(T,bool)) return -__builtin_convertvector(x != ({'typename __st<U>::type'})0, __v_t); "
        f"else if constexpr ((__is_same(T,half) && __is_same(U,bfloat)) || (__is_same(T,bfloat) && __is_same(U,half))) "
        f"return __builtin_convertvector(__builtin_convertvector(x, __ev<float,{n}>), __v_t); "
        f"else return __builtin_convertvector(x, __v_t); }}")
    out(f"{AI} constexpr vec(const packed_vec<T,{n}>& p);")
    out(f"template<class U> {AI} explicit vec(const packed_vec<U,{n}>& p) : vec(vec<U,{n}>(p)) {{}}")
    out(f"{AI} constexpr T operator[](size_t i) const {{ return (T)__v[i]; }} "
        f"{AI} thread T& operator[](size_t i) {{ return ((thread T*)&__v)[i]; }}")

    def get(chosen, kind):
        picked = ",".join(map(str, chosen))
        return f"return {kind}(typename {kind}::__raw(), __builtin_shufflevector(__v, __v, {picked}));"

    def put(chosen):
        return " ".join(f"__v[{c}] = s.__v[{k}];" for k, c in enumerate(chosen))

    swizzles(n, get, put)
    for op in ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]:
        out(f"{AI} friend constexpr vec operator{op}(const vec& a, const vec& b) "
            f"{{ return vec(__raw(), a.__v {op} b.__v); }} "
            f"{AI} friend constexpr thread vec& operator{op}=(thread vec& a, const vec& b) "
            f"{{ a.__v = a.__v {op} b.__v; return a; }}")
    booleans = f"vec<bool,{n}>"
    for op in ["==", "!=", "<", ">", "<=", ">="]:
        out(f"{AI} friend constexpr {booleans} operator{op}(const vec& a, const vec& b) "
            f"{{ return {booleans}(typename {booleans}::__raw(), "
            f"-__builtin_convertvector(a.__v {op} b.__v, __ev<bool,{n}>)); }}")
    for op in ["&&", "||"]:
        out(f"{AI} friend constexpr {booleans} operator{op}(const vec& a, const vec& b) "
            f"{{ return {booleans}(a) {op[0]} {booleans}(b); }}")
    out(f"{AI} constexpr vec operator-() const {{ return vec(__raw(), -__v); }} "
        f"{AI} constexpr vec operator+() const {{ return *this; }} "
        f"{AI} constexpr vec operator~() const {{ return vec(__raw(), ~__v); }} "
        f"{AI} constexpr {booleans} operator!() const {{ return *this == vec(T(0)); }}")
    for op, sym in (("++", "+"), ("--", "-")):
        out(f"{AI} thread vec& operator{op}() {{ __v = __v {sym} (__v_t)({ELEMENT})1; return *this; }} "
            f"{AI} vec operator{op}(int) {{ vec r = *this; __v = __v {sym} (__v_t)({ELEMENT})1; return r; }}")
    out("};")


def packed(n):
    out(f"template<class T> struct packed_vec<T,{n}> {{ T __e[{n}]; typedef T value_type; "
        f"{AI} packed_vec() = default;")
    copies = ",".join("s" for _ in range(n))
    out(f"{AI} constexpr explicit packed_vec(T s) : __e{{{copies}}} {{}}")
    elements = ",".join(f"(T)v.__v[{i}]" for i in range(n))
    out(f"{AI} constexpr packed_vec(const vec<T,{n}>& v) : __e{{{elements}}} {{}}")
    for parts in compositions(n):
        if len(parts) < 2:
            continue
        params, init = [], []
        for i, size in enumerate(parts):
            params.append(f"T a{i}" if size == 1 else f"const vec<T,{size}>& a{i}")
            init += [f"a{i}"] if size == 1 else [f"(T)a{i}.__v[{k}]" for k in range(size)]
        out(f'{AI} constexpr packed_vec({", ".join(params)}) : __e{{{", ".join(init)}}} {{}}')
    out(f"template<class U> {AI} explicit packed_vec(const vec<U,{n}>& v) : packed_vec(vec<T,{n}>(v)) {{}}")
    out(f"template<class U> {AI} explicit packed_vec(const packed_vec<U,{n}>& v) : packed_vec(vec<T,{n}>(vec<U,{n}>(v))) {{}}")
    out(f"{AI} constexpr T operator[](size_t i) const {{ return __e[i]; }} "
        f"{AI} thread T& operator[](size_t i) {{ return __e[i]; }}")
    for i in range(n):
        out(f"{AI} constexpr T __g{i}() const {{ return __e[{i}]; }} {AI} void __p{i}(T s) {{ __e[{i}] = s; }} "
            f'__declspec(property(get=__g{i},put=__p{i})) T {"xyzw"[i]}; '
            f'__declspec(property(get=__g{i},put=__p{i})) T {"rgba"[i]};')

    def get(chosen, kind):
        return f'return {kind}({",".join(f"__e[{c}]" for c in chosen)});'

    def put(chosen):
        return " ".join(f"__e[{c}] = (T)s.__v[{k}];" for k, c in enumerate(chosen))

    swizzles(n, get, put)
    v = f"vec<T,{n}>"
    for op in ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]:
        out(f"{AI} friend {v} operator{op}(const packed_vec& a, const packed_vec& b) {{ return {v}(a) {op} {v}(b); }} "
            f"{AI} friend {v} operator{op}(const packed_vec& a, const {v}& b) {{ return {v}(a) {op} b; }} "
            f"{AI} friend {v} operator{op}(const {v}& a, const packed_vec& b) {{ return a {op} {v}(b); }} "
            f"{AI} friend thread packed_vec& operator{op}=(thread packed_vec& a, const {v}& b) "
            f"{{ a = packed_vec({v}(a) {op} b); return a; }}")
    for op in ["==", "!=", "<", ">", "<=", ">="]:
        out(f"{AI} friend vec<bool,{n}> operator{op}(const packed_vec& a, const packed_vec& b) {{ return {v}(a) {op} {v}(b); }} "
            f"{AI} friend vec<bool,{n}> operator{op}(const packed_vec& a, const {v}& b) {{ return {v}(a) {op} b; }} "
            f"{AI} friend vec<bool,{n}> operator{op}(const {v}& a, const packed_vec& b) {{ return a {op} {v}(b); }}")
    out(f"{AI} {v} operator-() const {{ return -{v}(*this); }} {AI} {v} operator+() const {{ return *this; }} "
        f"{AI} {v} operator~() const {{ return ~{v}(*this); }}")
    out("};")
    elements = ",".join(f"({ELEMENT})p.__e[{i}]" for i in range(n))
    out(f"template<class T> {AI} constexpr vec<T,{n}>::vec(const packed_vec<T,{n}>& p) : __v{{{elements}}} {{}}")


def bindings():
    """`auto [x, y] = v` takes a vector or an array apart."""
    out("namespace std { template<class T> struct tuple_size; template<size_t I,class T> struct tuple_element; "
        "template<class T> struct tuple_size<const T> : tuple_size<T> {}; "
        "template<size_t I,class T> struct tuple_element<I,const T> "
        "{ typedef const typename tuple_element<I,T>::type type; };")
    for kind, element in (("vec", "__v"), ("packed_vec", "__e")):
        out(f"template<class T,int N> struct tuple_size<metal::{kind}<T,N>> "
            "{ static constexpr constant size_t value = N; }; "
            f"template<size_t I,class T,int N> struct tuple_element<I,metal::{kind}<T,N>> {{ typedef T type; }};")
    out("} namespace metal {")
    for kind, element in (("vec", "__v"), ("packed_vec", "__e")):
        out(f"template<size_t I,class T,int N> {AI} thread T& get(thread {kind}<T,N>& v) "
            f"{{ return ((thread T*)&v.{element})[I]; }} "
            f"template<size_t I,class T,int N> {AI} constexpr T get(const {kind}<T,N>& v) {{ return v[I]; }} "
            f"template<size_t I,class T,int N> {AI} constexpr T get({kind}<T,N>&& v) {{ return v[I]; }}")
    out("}")


def generate():
    out("namespace metal {")
    out("template<class T> struct __st { typedef T type; }; "
        "template<> struct __st<bool> { typedef unsigned char type; };")
    out("template<class T,int N> using __ev = typename __st<T>::type __attribute__((ext_vector_type(N)));")
    out("template<class T,int N> union vec; template<class T,int N> struct packed_vec;")
    for n in (2, 3, 4):
        vector(n)
    for n in (2, 3, 4):
        packed(n)
    out("template<class T> struct __is_vec : false_type {}; "
        "template<class T,int N> struct __is_vec<vec<T,N>> : true_type {};")
    out("template<class T> struct is_vec : __is_vec<__remove_cv(T)> {}; "
        "template<class T> inline constexpr constant bool is_vec_v = is_vec<T>::value;")
    out("template<class T> struct is_vector : is_vec<T> {}; "
        "template<class T> inline constexpr constant bool is_vector_v = is_vec<T>::value;")
    out("template<class T> struct make_scalar { typedef T type; }; "
        "template<class T,int N> struct make_scalar<vec<T,N>> { typedef T type; }; "
        "template<class T,int N> struct make_scalar<packed_vec<T,N>> { typedef T type; }; "
        "template<class T> using make_scalar_t = typename make_scalar<T>::type;")
    out("template<class T> struct vec_elements : integral_constant<int,1> {}; "
        "template<class T,int N> struct vec_elements<vec<T,N>> : integral_constant<int,N> {};")
    out("template<class T,int N> struct __is_valid_simdgroup_type<vec<T,N>> : __is_valid_simdgroup_type<T> {};")
    out("}")
    for t in SCALARS:
        for n in (2, 3, 4):
            out(f"typedef metal::vec<{t},{n}> {t}{n}; typedef metal::packed_vec<{t},{n}> packed_{t}{n};")
    out(f"template<class To,class From> {AI} inline constexpr To as_type(From f) "
        "{ return __builtin_bit_cast(To, f); }")
    out("namespace metal { using ::as_type;")
    for t in SCALARS:
        for n in (2, 3, 4):
            out(f"using ::{t}{n}; using ::packed_{t}{n};")
    out("}")
    bindings()

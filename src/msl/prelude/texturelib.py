# SPDX-License-Identifier: Apache-2.0
"""metal_texture: one class template per texture type, over typed calls with AIR's names
(docs/msl.md lists them). Members check their access only when they are used."""
from emit import AIR, out

VALUES = ["float", "half", "int", "uint", "short", "ushort"]
CALL = "__attribute__((nothrow,pure))"
STORE = "__attribute__((nothrow))"

# name, AIR name, coordinate dimensions of read, of sample, array?, features
TEXTURES = [
    ("texture1d", "texture_1d", 1, 1, False, "offset"),
    ("texture1d_array", "texture_1d_array", 1, 1, True, "offset"),
    ("texture2d", "texture_2d", 2, 2, False, "offset gather grad2d"),
    ("texture2d_array", "texture_2d_array", 2, 2, True, "offset gather grad2d"),
    ("texture3d", "texture_3d", 3, 3, False, "offset grad3d"),
    ("texturecube", "texture_cube", 2, 3, False, "face cubegather gradcube"),
    ("texturecube_array", "texture_cube_array", 2, 3, True, "face cubegather gradcube"),
    ("texture2d_ms", "texture_2d_ms", 2, 0, False, "ms"),
    ("texture2d_ms_array", "texture_2d_ms_array", 2, 0, True, "ms"),
    ("texture_buffer", "texture_buffer_1d", 1, 0, False, "buffer"),
    ("depth2d", "depth_2d", 2, 2, False, "offset depth"),
    ("depth2d_array", "depth_2d_array", 2, 2, True, "offset depth"),
    ("depthcube", "depth_cube", 2, 3, False, "face depth"),
    ("depthcube_array", "depth_cube_array", 2, 3, True, "face depth"),
    ("depth2d_ms", "depth_2d_ms", 2, 0, False, "ms depth"),
]


def vector(t, n):
    return t if n == 1 else f"{t}{n}"


def raw(t, n):
    return t if n == 1 else f"__ev<{t},{n}>"


def value_of(n, name):
    return name if n == 1 else f"{name}.__v"


def suffix(t, depth):
    if depth:
        return AIR[t]
    sign = {"int": "s.", "short": "s.", "uint": "u.", "ushort": "u."}.get(t, "")
    return f"{sign}v4{AIR[t]}"


class Texture:
    def __init__(self, name, air, dims, sample_dims, array, features):
        self.name, self.air, self.dims, self.sample_dims, self.array = name, air, dims, sample_dims, array
        self.features = features.split()
        self.depth = "depth" in self.features
        self.values = ["float"] if self.depth else VALUES
        self.texel = "__depth_texel" if self.depth else "__texel"

    def has(self, feature):
        return feature in self.features

    def external(self, call, label, returns, operands, attributes):
        handle = ["device __texture_t*"]
        out(f'{returns} __air_{call}_{self.air}({", ".join(handle + operands)}) {attributes} '
            f'__asm("air.{call}_{self.air}{label}");')

    def externals(self):
        for t in self.values:
            for index in ("uint", "ushort"):
                place = [raw(index, self.dims)] + [index] * (self.has("face") + self.array)
                tail = ([] if self.has("buffer") else [index]) + ["int"]
                infix = ".i16" if index == "ushort" else ""
                label = f"{infix}.{suffix(t, self.depth)}"
                out(f'void __air_read_{self.air}(thread {self.texel}<{t}>*, device __texture_t*, '
                    f'{", ".join(place + tail)}) __asm("air.read_{self.air}{label}");')
                if not self.has("ms") and not self.depth:
                    self.external("write", label, "void", place + [f"__ev<{t},4>"] + tail, STORE)
            if self.sample_dims:
                self.sample_externals(t)
        for query in self.queries():
            operands = ["uint"] if query in ("width", "height", "depth") and not self.has("buffer") else []
            self.external(f"get_{query}", "", "uint", operands, CALL)
        self.external("fence", "", "void", ["int"], STORE)

    def queries(self):
        names = ["width"]
        if self.dims >= 2:
            names.append("height")
        if self.dims >= 3:
            names.append("depth")
        if self.array:
            names.append("array_size")
        if self.has("ms"):
            names.append("num_samples")
        elif not self.has("buffer"):
            names.append("num_mip_levels")
        return names

    def offset(self):
        return ["bool", raw("int", self.sample_dims)] if self.has("offset") else []

    def sample_externals(self, t):
        head = f'thread {self.texel}<{t}>*, device __texture_t*, constant __sampler_t*'
        depth = ["int"] if self.depth else []
        place = depth + [raw("float", self.sample_dims)] + ["uint"] * self.array
        operands = place + self.offset() + ["bool", "float", "float", "int"]
        label = suffix(t, self.depth)
        out(f'void __air_sample_{self.air}({head}, {", ".join(operands)}) __asm("air.sample_{self.air}.{label}");')
        if self.depth:
            operands = place + ["float"] + self.offset() + ["bool", "float", "float", "int"]
            out(f'void __air_sample_compare_{self.air}({head}, {", ".join(operands)}) '
                f'__asm("air.sample_compare_{self.air}.{label}");')
        for feature, dims in (("grad2d", 2), ("grad3d", 3), ("gradcube", 3)):
            if self.has(feature):
                operands = place + [raw("float", dims)] * 2 + ["float"] + self.offset() + ["int"]
                out(f'void __air_sample_grad_{self.air}({head}, {", ".join(operands)}) '
                    f'__asm("air.sample_{self.air}_grad.{label}");')
        if self.depth:
            four = head.replace(f"{self.texel}<{t}>", f"__texel<{t}>")
            for name, reference in (("gather", []), ("gather_compare", ["float"])):
                operands = place + reference + self.offset() + ["int"]
                out(f'void __air_{name}_{self.air}({four}, {", ".join(operands)}) '
                    f'__asm("air.{name}_{self.air}.v4{AIR[t]}");')
        if self.has("gather") or self.has("cubegather"):
            operands = place + (self.offset() if self.has("gather") else []) + ["int", "int"]
            out(f'void __air_gather_{self.air}({head}, {", ".join(operands)}) '
                f'__asm("air.gather_{self.air}.{label}");')

    def result(self):
        return "T" if self.depth else "vec<T,4>"

    def finish(self, call):
        value = "r.value" if self.depth else "vec<T,4>(typename vec<T,4>::__raw(), r.value)"
        return f"{self.texel}<T> r; {call}; return {value};"

    def declare(self):
        out(f"template<class T, access A = access::{'sample' if self.sample_dims else 'read'}> struct {self.name} {{")
        out("device __texture_t* __t; typedef T value_type; static constexpr constant access access_value = A;")
        self.reads()
        if not self.has("ms") and not self.depth:
            self.writes()
        if self.sample_dims:
            self.samples()
        for query in self.queries():
            level = query in ("width", "height", "depth") and not self.has("buffer")
            if level and not self.has("ms"):
                out(f"METAL_FUNC uint get_{query}(uint lod = 0) const {{ return __air_get_{query}_{self.air}(__t, lod); }}")
            else:
                arguments = "__t, 0" if level else "__t"
                out(f"METAL_FUNC uint get_{query}() const {{ return __air_get_{query}_{self.air}({arguments}); }}")
        out(f'METAL_FUNC void fence() const {{ static_assert(A == access::read_write, '
            f'"fence needs a texture with access::read_write"); __air_fence_{self.air}(__t, (int)A); }}')
        out("};")

    def place(self, index):
        params = [f"{vector(index, self.dims)} coord"]
        args = [value_of(self.dims, "coord")]
        for present, name in ((self.has("face"), "face"), (self.array, "array")):
            if present:
                params.append(f"{index} {name}")
                args.append(name)
        return params, args

    def reads(self):
        for index in ("uint", "ushort"):
            params, args = self.place(index)
            if self.has("buffer"):
                extra, passed = [], []
            else:
                name = "sample" if self.has("ms") else "lod"
                extra, passed = [f"{index} {name}" + ("" if self.has("ms") else " = 0")], [name]
            call = f"__air_read_{self.air}(&r, __t, {', '.join(args + passed + ['(int)A'])})"
            out(f"METAL_FUNC {self.result()} read({', '.join(params + extra)}) const {{ "
                f'static_assert(A != access::write, "a texture with access::write cannot be read"); '
                f"{self.finish(call)} }}")

    def writes(self):
        for index in ("uint", "ushort"):
            params, args = self.place(index)
            extra, passed = ([], []) if self.has("buffer") else ([f"{index} lod = 0"], ["lod"])
            call = f"__air_write_{self.air}(__t, {', '.join(args + ['v.__v'] + passed + ['(int)A'])})"
            out(f"METAL_FUNC void write(vec<T,4> v, {', '.join(params + extra)}) const {{ "
                f'static_assert(A == access::write || A == access::read_write, '
                f'"a texture needs access::write or access::read_write to be written"); {call}; }}')

    def samples(self):
        d = self.sample_dims
        params = ["sampler s", f"{vector('float', d)} coord"] + (["uint array"] if self.array else [])
        depth = ["1"] if self.depth else []
        args = ["&r", "__t", "s.__get()"] + depth + [value_of(d, "coord")] + (["array"] if self.array else [])
        off_param = [f"{vector('int', d)} offset = {vector('int', d)}(0)"] if self.has("offset") else []
        off_args = ["true", value_of(d, "offset")] if self.has("offset") else []
        check = ('static_assert(A == access::sample, "a texture needs access::sample to be sampled"); ')
        for name, compare in (("sample", False), ("sample_compare", True)):
            if compare and not self.depth:
                continue
            p = params + (["float reference"] if compare else [])
            a = args + (["reference"] if compare else [])
            for option, mode, lod, clamp in (([], "false", "0.0f", "0.0f"),
                                             (["bias b"], "false", "b.value", "0.0f"),
                                             (["level l"], "true", "l.value", "0.0f"),
                                             (["min_lod_clamp m"], "false", "0.0f", "m.value"),
                                             (["bias b", "min_lod_clamp m"], "false", "b.value", "m.value")):
                call = f"__air_{name}_{self.air}({', '.join(a + off_args + [mode, lod, clamp, '(int)A'])})"
                out(f"METAL_FUNC {self.result()} {name}({', '.join(p + option + off_param)}) const "
                    f"{{ {check}{self.finish(call)} }}")
        for feature, option in (("grad2d", "gradient2d"), ("grad3d", "gradient3d"), ("gradcube", "gradientcube")):
            if self.has(feature):
                call = (f"__air_sample_grad_{self.air}("
                        f"{', '.join(args + ['g.dx.__v', 'g.dy.__v', '0.0f'] + off_args + ['(int)A'])})")
                out(f"METAL_FUNC {self.result()} sample({', '.join(params + [f'{option} g'] + off_param)}) const "
                    f"{{ {check}{self.finish(call)} }}")
        for query in ("clamped", "unclamped"):
            out(f"METAL_FUNC float calculate_{query}_lod({', '.join(params[:2])}) const "
                f"{{ return __air_calculate_{query}_lod(); }}")
        if self.depth:
            for name, reference in (("gather", []), ("gather_compare", ["float reference"])):
                p = params + reference + off_param
                a = args + [r.split()[1] for r in reference] + off_args
                out(f"METAL_FUNC vec<T,4> {name}({', '.join(p)}) const {{ {check}__texel<T> r; "
                    f"__air_{name}_{self.air}({', '.join(a + ['(int)A'])}); "
                    f"return vec<T,4>(typename vec<T,4>::__raw(), r.value); }}")
        if self.has("gather") or self.has("cubegather"):
            offs = off_args if self.has("gather") else []
            call = f"__air_gather_{self.air}({', '.join(args + offs + ['(int)c', '(int)A'])})"
            extra = (off_param if self.has("gather") else []) + ["component c = component::x"]
            out(f"METAL_FUNC {self.result()} gather({', '.join(params + extra)}) const {{ {check}{self.finish(call)} }}")


def generate():
    textures = [Texture(*row) for row in TEXTURES]
    out("namespace metal {")
    for query in ("clamped", "unclamped"):  # For fragment functions: a kernel that calls it is refused.
        out(f'float __air_calculate_{query}_lod() __asm("air.calculate_{query}_lod");')
    for texture in textures:
        texture.externals()
    for texture in textures:
        texture.declare()
    out("template<class T> METAL_FUNC bool is_null_texture(T t) { return t.__t == nullptr; }")
    out("}")

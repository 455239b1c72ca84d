// SPDX-License-Identifier: Apache-2.0
//
// Textures in kernels: every format read and written against its definition, every way of sampling
// against a sampler in double precision.
#include "TextureReference.h"
#include "ApiTest.h"
#include <cmath>
#include <cstring>
#include <random>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

constexpr const char *kSource = R"(
#include <metal_stdlib>
using namespace metal;

struct Query { float4 coord; float level; uint slice; int2 offset; };

template <class T>
kernel void read_texels(texture2d<T, access::read> t [[texture(0)]], device const int2 *at [[buffer(0)]],
                        device vec<T, 4> *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = t.read(uint2(at[i]));
}
template <class T>
kernel void write_texels(texture2d<T, access::write> t [[texture(0)]], device const int2 *at [[buffer(0)]],
                         device const vec<T, 4> *in [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  t.write(in[i], uint2(at[i]));
}
#define BOTH(T) \
  template [[host_name("read_" #T)]] kernel void read_texels<T>(texture2d<T, access::read>, \
      device const int2 *, device vec<T, 4> *, uint); \
  template [[host_name("write_" #T)]] kernel void write_texels<T>(texture2d<T, access::write>, \
      device const int2 *, device const vec<T, 4> *, uint);
BOTH(float) BOTH(half) BOTH(int) BOTH(uint) BOTH(short) BOTH(ushort)

#define SAMPLE(name, type, call) \
  kernel void name(type t [[texture(0)]], sampler s [[sampler(0)]], device const Query *q [[buffer(0)]], \
                   device float4 *out [[buffer(1)]], uint i [[thread_position_in_grid]]) { \
    Query a = q[i]; out[i] = float4(call); }
SAMPLE(sample_1d, texture1d<float>, t.sample(s, a.coord.x))
SAMPLE(sample_1d_array, texture1d_array<float>, t.sample(s, a.coord.x, a.slice))
SAMPLE(sample_2d, texture2d<float>, t.sample(s, a.coord.xy))
SAMPLE(sample_2d_level, texture2d<float>, t.sample(s, a.coord.xy, level(a.level)))
SAMPLE(sample_2d_offset, texture2d<float>, t.sample(s, a.coord.xy, int2(-3, 5)))
SAMPLE(sample_2d_half, texture2d<half>, t.sample(s, a.coord.xy))
SAMPLE(sample_2d_array, texture2d_array<float>, t.sample(s, a.coord.xy, a.slice))
SAMPLE(sample_3d, texture3d<float>, t.sample(s, a.coord.xyz))
SAMPLE(sample_cube, texturecube<float>, t.sample(s, a.coord.xyz))
SAMPLE(sample_cube_array, texturecube_array<float>, t.sample(s, a.coord.xyz, a.slice))
SAMPLE(sample_uint, texture2d<uint>, t.sample(s, a.coord.xy))
SAMPLE(gather_red, texture2d<float>, t.gather(s, a.coord.xy))
SAMPLE(gather_blue, texture2d<float>, t.gather(s, a.coord.xy, int2(0), component::z))
SAMPLE(sample_depth, depth2d<float>, t.sample(s, a.coord.xy))
SAMPLE(compare_depth, depth2d<float>, t.sample_compare(s, a.coord.xy, a.coord.z))
SAMPLE(gather_depth, depth2d<float>, t.gather(s, a.coord.xy))
SAMPLE(gather_compare_depth, depth2d<float>, t.gather_compare(s, a.coord.xy, a.coord.z))
SAMPLE(sample_gradient, texture2d<float>, t.sample(s, a.coord.xy, gradient2d(float2(a.coord.z, 0), float2(0, a.coord.w))))

constexpr sampler fixed_linear(filter::linear, address::repeat);
constexpr sampler fixed_mirror(filter::linear, address::mirrored_repeat);
constexpr sampler fixed_pixel(coord::pixel, filter::nearest, address::clamp_to_edge);
constexpr sampler fixed_border(filter::linear, address::clamp_to_border, border_color::opaque_white);
constexpr sampler fixed_zero(filter::nearest, address::clamp_to_zero);
constexpr sampler fixed_mixed(mag_filter::linear, s_address::repeat, t_address::clamp_to_edge);
constexpr sampler fixed_mips(filter::linear, mip_filter::linear, address::clamp_to_edge);
SAMPLE(fixed_0, texture2d<float>, t.sample(fixed_linear, a.coord.xy))
SAMPLE(fixed_1, texture2d<float>, t.sample(fixed_mirror, a.coord.xy))
SAMPLE(fixed_2, texture2d<float>, t.sample(fixed_pixel, a.coord.xy))
SAMPLE(fixed_3, texture2d<float>, t.sample(fixed_border, a.coord.xy))
SAMPLE(fixed_4, texture2d<float>, t.sample(fixed_zero, a.coord.xy))
SAMPLE(fixed_5, texture2d<float>, t.sample(fixed_mixed, a.coord.xy))
SAMPLE(fixed_6, texture2d<float>, t.sample(fixed_mips, a.coord.xy, level(a.level)))

kernel void queries(texture1d<float> a [[texture(0)]], texture2d<half, access::read> b [[texture(1)]],
                    texture3d<int> c [[texture(2)]], texture2d_array<float> d [[texture(3)]],
                    texturecube_array<float> e [[texture(4)]], texture_buffer<float> f [[texture(5)]],
                    device uint *out [[buffer(0)]]) {
  uint n = 0;
  out[n++] = a.get_width();
  out[n++] = b.get_width(); out[n++] = b.get_height();
  out[n++] = b.get_width(2); out[n++] = b.get_height(2); out[n++] = b.get_num_mip_levels();
  out[n++] = c.get_width(); out[n++] = c.get_height(); out[n++] = c.get_depth();
  out[n++] = d.get_width(); out[n++] = d.get_array_size();
  out[n++] = e.get_width(); out[n++] = e.get_array_size();
  out[n++] = f.get_width();
}

kernel void every_shape(texture1d<float, access::read_write> a [[texture(0)]],
                        texture1d_array<float, access::read_write> b [[texture(1)]],
                        texture2d_array<float, access::read_write> c [[texture(2)]],
                        texture3d<float, access::read_write> d [[texture(3)]],
                        texturecube<float, access::read_write> e [[texture(4)]],
                        texture_buffer<float, access::read_write> f [[texture(5)]],
                        texture2d<float, access::read_write> g [[texture(6)]],
                        uint3 p [[thread_position_in_grid]]) {
  float4 one(1, 0, 0, 0);
  a.write(a.read(p.x) + one, p.x);
  b.write(b.read(p.x, p.z) + one, p.x, p.z);
  c.write(c.read(p.xy, p.z) + one, p.xy, p.z);
  d.write(d.read(p) + one, p);
  e.write(e.read(p.xy, p.z) + one, p.xy, p.z);
  f.write(f.read(p.x) + one, p.x);
  g.write(g.read(ushort2(p.xy)) + one, ushort2(p.xy));
  g.fence();
  g.write(g.read(p.xy) * 2.0f, p.xy);
}

struct Bundle {
  texture2d<float> image [[id(3)]];
  sampler filter [[id(1)]];
  device float *out [[id(0)]];
  array<texture2d<float, access::read>, 3> parts [[id(10)]];
  float scale [[id(20)]];
};
kernel void bundled(constant Bundle &b [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  b.out[i] = b.scale * b.image.sample(b.filter, float2(0.5f)).x + b.parts[i % 3].read(uint2(0)).x;
}
kernel void empty_parts(constant Bundle &b [[buffer(0)]]) {
  b.out[0] = is_null_texture(b.image) ? 1.0f : 2.0f;
  b.out[1] = b.image.read(uint2(0)).x + float(b.image.get_width());
}

constant bool has_mask [[function_constant(0)]];
kernel void gated(texture2d<float, access::read> image [[texture(0)]],
                  texture2d<float, access::read> mask [[texture(1), function_constant(has_mask)]],
                  device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  float v = image.read(uint2(i, 0)).x;
  if (has_mask) v *= mask.read(uint2(i, 0)).x;
  out[i] = v;
}

kernel void array_argument(array<texture2d<float, access::read>, 4> all [[texture(2)]],
                           device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i] = all[i].read(uint2(0)).x;
}
)";

struct Query {
  float u, v, w, last = 0;
  float level = 0;
  uint32_t slice = 0;
  int32_t offset[2] = {0, 0};
};

class KernelTexturesApi : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    static auto &made = *new std::map<MTL::Device *, MTL::Library *>();
    MTL::Library *&entry = made[device];
    if (!entry) {
      NS::Error *error = nullptr;
      entry = device->newLibrary(string(kSource), nullptr, &error);
      ASSERT_NE(entry, nullptr) << text(error);
    }
    library_ = entry;
  }

  NS::SharedPtr<MTL::ComputePipelineState>
  pipeline(const std::string &name, const MTL::FunctionConstantValues *values = nullptr) {
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(values ? library_->newFunction(string(name), values, &error)
                                           : library_->newFunction(string(name)));
    EXPECT_TRUE(function) << name << text(error);
    auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << name << ": " << text(error);
    return state;
  }

  NS::SharedPtr<MTL::Texture> texture(MTL::TextureType type, MTL::PixelFormat format, uint32_t width,
                                      uint32_t height = 1, uint32_t depth = 1, uint32_t layers = 1,
                                      uint32_t levels = 1) {
    auto *descriptor = MTL::TextureDescriptor::texture2DDescriptor(format, width, height, false);
    descriptor->setTextureType(type);
    descriptor->setDepth(depth);
    descriptor->setArrayLength(layers);
    descriptor->setMipmapLevelCount(levels);
    descriptor->setUsage(MTL::TextureUsageShaderRead | MTL::TextureUsageShaderWrite);
    auto made = NS::TransferPtr(device->newTexture(descriptor));
    EXPECT_TRUE(made);
    return made;
  }

  /// Random texels in every level and slice, also kept for the reference.
  Image image(const NS::SharedPtr<MTL::Texture> &t) {
    Image made;
    const bool cube = t->textureType() == MTL::TextureTypeCube ||
                      t->textureType() == MTL::TextureTypeCubeArray;
    const uint32_t slices = uint32_t(t->arrayLength()) * (cube ? 6 : 1);
    for (uint32_t level = 0; level < t->mipmapLevelCount(); ++level) {
      Image::Level l;
      l.width = std::max<uint32_t>(1, uint32_t(t->width()) >> level);
      l.height = std::max<uint32_t>(1, uint32_t(t->height()) >> level);
      l.depth = std::max<uint32_t>(1, uint32_t(t->depth()) >> level);
      l.slices = slices;
      std::uniform_real_distribution<float> values(0, 1);
      l.texels.resize(size_t(l.width) * l.height * l.depth * slices);
      for (auto &texel : l.texels)
        for (float &c : texel)
          c = values(random);
      const size_t row = l.width * sizeof(l.texels[0]), plane = row * l.height;
      for (uint32_t s = 0; s < slices; ++s)
        t->replaceRegion(MTL::Region(0, 0, 0, l.width, l.height, l.depth), level, s,
                         l.texels.data() + size_t(s) * l.width * l.height * l.depth, row, plane);
      made.levels.push_back(std::move(l));
    }
    return made;
  }

  NS::SharedPtr<MTL::SamplerState> sampler(const SamplerSettings &settings) {
    auto descriptor = NS::TransferPtr(MTL::SamplerDescriptor::alloc()->init());
    descriptor->setMinFilter(settings.linear ? MTL::SamplerMinMagFilterLinear
                                             : MTL::SamplerMinMagFilterNearest);
    descriptor->setMagFilter(settings.linear ? MTL::SamplerMinMagFilterLinear
                                             : MTL::SamplerMinMagFilterNearest);
    descriptor->setMipFilter(settings.mip);
    descriptor->setSAddressMode(settings.address[0]);
    descriptor->setTAddressMode(settings.address[1]);
    descriptor->setRAddressMode(settings.address[2]);
    descriptor->setBorderColor(settings.border);
    descriptor->setNormalizedCoordinates(settings.normalized);
    descriptor->setCompareFunction(settings.compare);
    return NS::TransferPtr(device->newSamplerState(descriptor.get()));
  }

  /// Runs a sampling kernel and returns what it stored.
  std::vector<Texel> sampled(const char *kernel, const NS::SharedPtr<MTL::Texture> &t,
                             const SamplerSettings &settings, const std::vector<Query> &queries) {
    auto in = bufferOf(queries);
    auto out = bufferOf(std::vector<Texel>(queries.size(), Texel{7e9f, 7e9f, 7e9f, 7e9f}));
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline(kernel).get());
    encoder->setTexture(t.get(), 0);
    encoder->setSamplerState(sampler(settings).get(), 0);
    encoder->setBuffer(in.get(), 0, 0);
    encoder->setBuffer(out.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(queries.size(), 1, 1), MTL::Size(64, 1, 1));
    encoder->endEncoding();
    finish(commands);
    return contentsOf<Texel>(out);
  }

  std::vector<Query> randomQueries(size_t count, float low, float high) {
    std::uniform_real_distribution<float> coordinate(low, high);
    std::vector<Query> queries(count);
    for (Query &q : queries)
      q = {coordinate(random), coordinate(random), coordinate(random)};
    return queries;
  }

  void expectNear(const std::vector<Texel> &got, const std::vector<std::array<double, 4>> &want,
                  double tolerance, const std::string &what) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      for (int c = 0; c < 4; ++c)
        ASSERT_NEAR(got[i][c], want[i][c], tolerance) << what << ", query " << i << ", channel " << c;
  }

  std::mt19937 random{std::random_device{}()};
  MTL::Library *library_ = nullptr;
};
PEWTER_EVERY_DEVICE(KernelTexturesApi);

constexpr uint32_t kWidth = 13, kHeight = 7;

std::vector<std::array<int32_t, 2>> placesAndOutside() {
  std::vector<std::array<int32_t, 2>> places;
  for (int y = 0; y < int(kHeight); ++y)
    for (int x = 0; x < int(kWidth); ++x)
      places.push_back({x, y});
  for (auto outside : {std::array{-1, 0}, {0, -1}, {int(kWidth), 0}, {0, int(kHeight)},
                       {1 << 30, 1 << 30}, {INT32_MIN, 3}, {65536, 0}})
    places.push_back(outside);
  return places;
}

TEST_P(KernelTexturesApi, ReadsEveryFormat) {
  if (!executes())
    return;
  const auto places = placesAndOutside();
  auto at = bufferOf(places);
  for (const FormatDefinition &format : kFormatDefinitions) {
    if (format.isDepth)
      continue;
    SCOPED_TRACE(format.name);
    auto t = texture(MTL::TextureType2D, format.format, kWidth, kHeight);
    std::vector<uint8_t> bytes(size_t(kWidth) * kHeight * format.bytes);
    for (uint8_t &b : bytes)
      b = uint8_t(random());
    t->replaceRegion(MTL::Region(0, 0, 0, kWidth, kHeight, 1), 0, bytes.data(), kWidth * format.bytes);
    for (const char *type : format.types()) {
      const bool isFloat = std::string(type) == "float";
      auto out = buffer(places.size() * 16);
      std::memset(out->contents(), 0xcd, out->length());
      auto *commands = queue->commandBuffer();
      auto *encoder = commands->computeCommandEncoder();
      encoder->setComputePipelineState(pipeline(std::string("read_") + type).get());
      encoder->setTexture(t.get(), 0);
      encoder->setBuffer(at.get(), 0, 0);
      encoder->setBuffer(out.get(), 0, 1);
      encoder->dispatchThreads(MTL::Size(places.size(), 1, 1), MTL::Size(64, 1, 1));
      encoder->endEncoding();
      finish(commands);
      for (size_t i = 0; i < places.size(); ++i) {
        const bool inside = i < kWidth * kHeight;
        for (int c = 0; c < 4; ++c) {
          const double want = inside ? format.decode(&bytes[i * format.bytes], c) : 0;
          if (isFloat) {
            const float got = contentsOf<float>(out)[i * 4 + c];
            ASSERT_TRUE(got == float(want) || (std::isnan(got) && std::isnan(want)))
                << "texel " << i << " channel " << c << ": " << got << ", not " << want;
          } else {
            const uint32_t bits = contentsOf<uint32_t>(out)[i * 4 + c];
            ASSERT_EQ(bits, uint32_t(int64_t(want))) << "texel " << i << " channel " << c;
          }
        }
      }
    }
  }
}

TEST_P(KernelTexturesApi, ReadsNarrowTypes) {
  if (!executes())
    return;
  const auto places = placesAndOutside();
  auto at = bufferOf(places);
  for (auto [format, type] : {std::pair{MTL::PixelFormatRGBA16Float, "half"},
                              {MTL::PixelFormatRGBA16Uint, "ushort"},
                              {MTL::PixelFormatRGBA16Sint, "short"}}) {
    auto t = texture(MTL::TextureType2D, format, kWidth, kHeight);
    std::vector<uint16_t> values(kWidth * kHeight * 4);
    for (uint16_t &v : values)
      v = uint16_t(random() & 0xbbff); // No NaN, which may change its bits.
    auto in = buffer(places.size() * 8);
    std::memcpy(in->contents(), values.data(), values.size() * 2);
    auto out = buffer(places.size() * 8);
    std::memset(out->contents(), 0xcd, out->length());
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline(std::string("write_") + type).get());
    encoder->setTexture(t.get(), 0);
    encoder->setBuffer(at.get(), 0, 0);
    encoder->setBuffer(in.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(places.size(), 1, 1), MTL::Size(64, 1, 1));
    encoder->setComputePipelineState(pipeline(std::string("read_") + type).get());
    encoder->setBuffer(out.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(places.size(), 1, 1), MTL::Size(64, 1, 1));
    encoder->endEncoding();
    finish(commands);
    auto got = contentsOf<uint16_t>(out);
    values.resize(places.size() * 4); // Outside: zeros.
    EXPECT_EQ(got, values) << type;
  }
}

TEST_P(KernelTexturesApi, WritesEveryFormat) {
  if (!executes())
    return;
  auto places = placesAndOutside();
  std::shuffle(places.begin(), places.end(), random);
  auto at = bufferOf(places);
  for (const FormatDefinition &format : kFormatDefinitions) {
    if (format.isDepth)
      continue;
    SCOPED_TRACE(format.name);
    for (const char *type : format.types()) {
      std::vector<std::array<uint32_t, 4>> values(places.size());
      for (auto &value : values)
        for (uint32_t &c : value) {
          if (std::string(type) == "float") {
            float v = std::uniform_real_distribution<float>(-1.5f, 1.5f)(random);
            if (random() % 16 == 0)
              v = std::array{0.0f, 1.0f, -1.0f, 1e9f, -1e9f, NAN}[random() % 6];
            std::memcpy(&c, &v, 4);
          } else {
            c = random() % 2 ? uint32_t(random()) : uint32_t(int32_t(random() % 300) - 150);
          }
        }
      auto t = texture(MTL::TextureType2D, format.format, kWidth, kHeight);
      auto in = bufferOf(values);
      auto *commands = queue->commandBuffer();
      auto *encoder = commands->computeCommandEncoder();
      encoder->setComputePipelineState(pipeline(std::string("write_") + type).get());
      encoder->setTexture(t.get(), 0);
      encoder->setBuffer(at.get(), 0, 0);
      encoder->setBuffer(in.get(), 0, 1);
      encoder->dispatchThreads(MTL::Size(places.size(), 1, 1), MTL::Size(64, 1, 1));
      encoder->endEncoding();
      finish(commands);
      std::vector<uint8_t> bytes(size_t(kWidth) * kHeight * format.bytes);
      t->getBytes(bytes.data(), kWidth * format.bytes, MTL::Region(0, 0, 0, kWidth, kHeight, 1), 0);
      for (size_t i = 0; i < places.size(); ++i) {
        auto [x, y] = places[i];
        if (uint32_t(x) >= kWidth || uint32_t(y) >= kHeight)
          continue;
        const uint8_t *texel = &bytes[(size_t(y) * kWidth + size_t(x)) * format.bytes];
        for (int c = 0; c < 4; ++c)
          EXPECT_EQ(format.problem(texel, c, values[i][c]), "")
              << "texel " << x << ", " << y << ", channel " << c;
        if (HasFailure())
          return;
      }
    }
  }
}

constexpr MTL::SamplerAddressMode kModes[] = {
    MTL::SamplerAddressModeClampToEdge, MTL::SamplerAddressModeMirrorClampToEdge,
    MTL::SamplerAddressModeRepeat,      MTL::SamplerAddressModeMirrorRepeat,
    MTL::SamplerAddressModeClampToZero, MTL::SamplerAddressModeClampToBorderColor};

TEST_P(KernelTexturesApi, SamplesEveryAddressMode) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatRGBA32Float, kWidth, kHeight);
  const Image reference = image(t);
  for (bool linear : {false, true})
    for (bool normalized : {true, false})
      for (auto mode : kModes) {
        const bool turns = mode != MTL::SamplerAddressModeClampToEdge && mode < MTL::SamplerAddressModeClampToZero;
        if (!normalized && turns)
          continue; // Metal does not have it.
        SamplerSettings settings;
        settings.linear = linear;
        settings.normalized = normalized;
        settings.border = MTL::SamplerBorderColorOpaqueWhite;
        std::ranges::fill(settings.address, mode);
        auto queries = randomQueries(300, normalized ? -3 : -20, normalized ? 4 : 30);
        std::vector<std::array<double, 4>> want;
        for (Query &q : queries) {
          avoidEdges(settings, reference.levels[0], q.u, q.v, q.w);
          want.push_back(sample(reference, settings, 2, q.u, q.v, q.w, 0, 0, {0, 0, 0}));
        }
        const std::string what = fmt::format("mode {} linear {} normalized {}", int(mode), linear, normalized);
        expectNear(sampled("sample_2d", t, settings, queries), want, linear ? 2e-5 : 0, what);
        want.clear();
        for (const Query &q : queries)
          want.push_back(sample(reference, settings, 2, q.u, q.v, q.w, 0, 0, {-3, 5, 0}));
        expectNear(sampled("sample_2d_offset", t, settings, queries), want, linear ? 2e-5 : 0,
                   what + " with an offset");
      }
}

TEST_P(KernelTexturesApi, SamplesBadCoordinates) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatRGBA32Float, kWidth, kHeight);
  image(t);
  std::vector<Query> queries;
  for (float bad : {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e10f})
    queries.push_back({bad, bad, bad});
  for (auto mode : kModes)
    for (bool linear : {false, true}) {
      SamplerSettings settings;
      settings.linear = linear;
      std::ranges::fill(settings.address, mode);
      for (const Texel &texel : sampled("sample_2d", t, settings, queries))
        for (float c : texel)
          EXPECT_TRUE(std::isnan(c) || (c >= 0 && c <= 1)) << c;
    }
}

TEST_P(KernelTexturesApi, SamplesEveryShape) {
  if (!executes())
    return;
  struct Shape {
    const char *kernel;
    MTL::TextureType type;
    int dimensions;
    uint32_t width, height, depth, layers;
  };
  for (const Shape &shape :
       {Shape{"sample_1d", MTL::TextureType1D, 1, 11, 1, 1, 1},
        Shape{"sample_1d_array", MTL::TextureType1DArray, 1, 11, 1, 1, 3},
        Shape{"sample_2d_array", MTL::TextureType2DArray, 2, 6, 5, 1, 4},
        Shape{"sample_3d", MTL::TextureType3D, 3, 5, 6, 7, 1},
        Shape{"sample_cube", MTL::TextureTypeCube, 4, 8, 8, 1, 1},
        Shape{"sample_cube_array", MTL::TextureTypeCubeArray, 4, 4, 4, 1, 3}}) {
    auto t = texture(shape.type, MTL::PixelFormatRGBA32Float, shape.width, shape.height, shape.depth,
                     shape.layers);
    const Image reference = image(t);
    for (bool linear : {false, true})
      for (auto mode : {MTL::SamplerAddressModeClampToEdge, MTL::SamplerAddressModeMirrorRepeat}) {
        SamplerSettings settings;
        settings.linear = linear;
        std::ranges::fill(settings.address, mode);
        auto queries = randomQueries(300, -2, 2);
        std::vector<std::array<double, 4>> want;
        for (Query &q : queries) {
          q.slice = uint32_t(random() % (shape.layers + 2)); // Clamped.
          avoidEdges(settings, reference.levels[0], q.u, q.v, q.w);
          want.push_back(sample(reference, settings, shape.dimensions, q.u, q.v, q.w, q.slice, 0,
                                {0, 0, 0}));
        }
        // A cube's corner directions may fall on either side of a texel's edge.
        auto got = sampled(shape.kernel, t, settings, queries);
        if (shape.dimensions == 4)
          forgiveEdges(reference, settings, queries, got, want);
        expectNear(got, want, 5e-5, fmt::format("{} linear {} mode {}", shape.kernel, linear, int(mode)));
      }
  }
}

TEST_P(KernelTexturesApi, SamplesLevels) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatRGBA32Float, 16, 8, 1, 1, 5);
  const Image reference = image(t);
  for (auto mip : {MTL::SamplerMipFilterNotMipmapped, MTL::SamplerMipFilterNearest,
                   MTL::SamplerMipFilterLinear}) {
    SamplerSettings settings;
    settings.linear = true;
    settings.mip = mip;
    auto queries = randomQueries(300, -0.2f, 1.2f);
    std::vector<std::array<double, 4>> want;
    for (Query &q : queries) {
      q.level = std::uniform_real_distribution<float>(-1, 6)(random);
      want.push_back(sample(reference, settings, 2, q.u, q.v, q.w, 0, q.level, {0, 0, 0}));
    }
    expectNear(sampled("sample_2d_level", t, settings, queries), want, 2e-5, fmt::format("mip {}", int(mip)));
    // Gradients of 2^n texels are level n.
    for (Query &q : queries) {
      const int n = int(random() % 5);
      q.w = float(1 << n) / 16;
      q.last = float(1 << n) / 8 / 2;
      q.level = float(n);
    }
    want.clear();
    for (const Query &q : queries)
      want.push_back(sample(reference, settings, 2, q.u, q.v, q.w, 0, q.level, {0, 0, 0}));
    expectNear(sampled("sample_gradient", t, settings, queries), want, 1e-4, "gradient");
  }
}

TEST_P(KernelTexturesApi, ConstantSamplersAreLikeArguments) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatRGBA32Float, 16, 8, 1, 1, 5);
  const Image reference = image(t);
  using enum MTL::SamplerAddressMode;
  std::vector<SamplerSettings> all(7);
  for (SamplerSettings &s : all)
    s.linear = true;
  std::ranges::fill(all[0].address, SamplerAddressModeRepeat);
  std::ranges::fill(all[1].address, SamplerAddressModeMirrorRepeat);
  all[2].linear = false;
  all[2].normalized = false;
  std::ranges::fill(all[3].address, SamplerAddressModeClampToBorderColor);
  all[3].border = MTL::SamplerBorderColorOpaqueWhite;
  all[4].linear = false;
  std::ranges::fill(all[4].address, SamplerAddressModeClampToZero);
  all[5].address[0] = SamplerAddressModeRepeat;
  all[6].mip = MTL::SamplerMipFilterLinear;
  for (size_t i = 0; i < all.size(); ++i) {
    auto queries = randomQueries(200, all[i].normalized ? -2 : -10, all[i].normalized ? 3 : 20);
    std::vector<std::array<double, 4>> want;
    for (Query &q : queries) {
      q.level = i == 6 ? std::uniform_real_distribution<float>(0, 4)(random) : 0;
      avoidEdges(all[i], reference.levels[0], q.u, q.v, q.w);
      want.push_back(sample(reference, all[i], 2, q.u, q.v, q.w, 0, q.level, {0, 0, 0}));
    }
    expectNear(sampled(fmt::format("fixed_{}", i).c_str(), t, {}, queries), want, 2e-5,
               fmt::format("fixed_{}", i));
  }
}

TEST_P(KernelTexturesApi, GathersAndCompares) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatRGBA32Float, kWidth, kHeight);
  const Image reference = image(t);
  SamplerSettings settings;
  settings.linear = true;
  auto queries = randomQueries(200, -0.5f, 1.5f);
  for (auto [kernel, channel] : {std::pair{"gather_red", 0}, {"gather_blue", 2}}) {
    std::vector<std::array<double, 4>> want;
    for (Query &q : queries) {
      SamplerSettings nearest = settings;
      nearest.linear = false;
      avoidEdges(settings, reference.levels[0], q.u, q.v, q.w);
      want.push_back(gather(reference, settings, q.u, q.v, channel));
    }
    expectNear(sampled(kernel, t, settings, queries), want, 0, kernel);
  }
  auto depth = texture(MTL::TextureType2D, MTL::PixelFormatDepth32Float, kWidth, kHeight);
  Image depths = reference;
  std::vector<float> values;
  for (Texel &texel : depths.levels[0].texels) {
    values.push_back(texel[0]);
    texel = {texel[0], texel[0], texel[0], texel[0]};
  }
  depth->replaceRegion(MTL::Region(0, 0, 0, kWidth, kHeight, 1), 0, values.data(), kWidth * 4);
  std::vector<std::array<double, 4>> want;
  for (const Query &q : queries)
    want.push_back(sample(depths, settings, 2, q.u, q.v, q.w, 0, 0, {0, 0, 0}));
  expectNear(sampled("sample_depth", depth, settings, queries), want, 2e-5, "depth");
  want.clear();
  for (const Query &q : queries)
    want.push_back(gather(depths, settings, q.u, q.v, 0));
  expectNear(sampled("gather_depth", depth, settings, queries), want, 0, "gathered depth");
  settings.compare = MTL::CompareFunctionGreater;
  for (size_t i = 0; i < queries.size(); ++i)
    for (double &d : want[i])
      d = queries[i].w > d;
  expectNear(sampled("gather_compare_depth", depth, settings, queries), want, 0, "gathered comparisons");
  for (int function = 0; function < 8; ++function) {
    settings.compare = static_cast<MTL::CompareFunction>(function);
    want.clear();
    for (const Query &q : queries) {
      Image results = depths;
      for (Texel &texel : results.levels[0].texels) {
        const float d = texel[0], r = q.w;
        const bool pass[8] = {false, r < d, r == d, r <= d, r > d, r != d, r >= d, true};
        texel.fill(pass[function] ? 1.0f : 0.0f);
      }
      want.push_back(sample(results, settings, 2, q.u, q.v, q.w, 0, 0, {0, 0, 0}));
    }
    expectNear(sampled("compare_depth", depth, settings, queries), want, 2e-5,
               fmt::format("compare {}", function));
  }
}

TEST_P(KernelTexturesApi, SamplesFormatsAndIntegers) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatBGRA8Unorm, 2, 1);
  const uint8_t texels[8] = {0, 51, 102, 255, 255, 204, 153, 0};
  t->replaceRegion(MTL::Region(0, 0, 0, 2, 1, 1), 0, texels, 8);
  SamplerSettings settings;
  settings.linear = true;
  const std::vector<Query> middle{{0.5f, 0.5f, 0}};
  auto got = sampled("sample_2d", t, settings, middle)[0];
  EXPECT_NEAR(got[0], 0.5, 1e-6);
  EXPECT_NEAR(got[1], 0.5, 1e-6);
  EXPECT_NEAR(got[2], 0.5, 1e-6);
  EXPECT_NEAR(got[3], 0.5, 1e-6);
  EXPECT_NEAR(sampled("sample_2d_half", t, settings, middle)[0][0], 0.5, 1e-3);
  // Outside, a channel that the format has is 0, and alpha is 1 where it has none.
  std::ranges::fill(settings.address, MTL::SamplerAddressModeClampToZero);
  const std::vector<Query> outside{{-4, 0.5f, 0}};
  EXPECT_EQ(sampled("sample_2d", t, settings, outside)[0], (Texel{0, 0, 0, 0}));
  auto red = texture(MTL::TextureType2D, MTL::PixelFormatR8Unorm, 2, 1);
  EXPECT_EQ(sampled("sample_2d", red, settings, outside)[0], (Texel{0, 0, 0, 1}));
  auto whole = texture(MTL::TextureType2D, MTL::PixelFormatRG32Uint, 2, 1);
  const uint32_t integers[4] = {5, 6, 70000, 8};
  whole->replaceRegion(MTL::Region(0, 0, 0, 2, 1, 1), 0, integers, 16);
  EXPECT_EQ(sampled("sample_uint", whole, {}, {{0.8f, 0.5f, 0}})[0], (Texel{70000, 8, 0, 1}));
}

TEST_P(KernelTexturesApi, ViewsSwizzle) {
  if (!executes())
    return;
  auto t = texture(MTL::TextureType2D, MTL::PixelFormatRGBA32Float, 1, 1);
  const float texel[4] = {1, 2, 3, 4};
  t->replaceRegion(MTL::Region(0, 0, 0, 1, 1, 1), 0, texel, 16);
  auto view = NS::TransferPtr(t->newTextureView(
      MTL::PixelFormatRGBA32Float, MTL::TextureType2D, NS::Range(0, 1), NS::Range(0, 1),
      MTL::TextureSwizzleChannels(MTL::TextureSwizzleAlpha, MTL::TextureSwizzleOne,
                                  MTL::TextureSwizzleRed, MTL::TextureSwizzleZero)));
  ASSERT_TRUE(view);
  EXPECT_EQ(sampled("sample_2d", view, {}, {{0.5f, 0.5f, 0}})[0], (Texel{4, 1, 1, 0}));
}

TEST_P(KernelTexturesApi, AnswersQueries) {
  auto a = texture(MTL::TextureType1D, MTL::PixelFormatR32Float, 17);
  auto b = texture(MTL::TextureType2D, MTL::PixelFormatRGBA16Float, 40, 20, 1, 1, 4);
  auto c = texture(MTL::TextureType3D, MTL::PixelFormatR32Sint, 5, 6, 7);
  auto d = texture(MTL::TextureType2DArray, MTL::PixelFormatR8Unorm, 9, 3, 1, 12);
  auto e = texture(MTL::TextureTypeCubeArray, MTL::PixelFormatR8Unorm, 4, 4, 1, 5);
  auto f = texture(MTL::TextureTypeTextureBuffer, MTL::PixelFormatR32Float, 100000);
  auto out = bufferOf(std::vector<uint32_t>(14, 99));
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline("queries").get());
  int slot = 0;
  for (auto *t : {&a, &b, &c, &d, &e, &f})
    encoder->setTexture(t->get(), slot++);
  encoder->setBuffer(out.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<uint32_t>(out),
              (std::vector<uint32_t>{17, 40, 20, 10, 5, 4, 5, 6, 7, 9, 12, 4, 5, 100000}));
}

TEST_P(KernelTexturesApi, ReadsAndWritesEveryShape) {
  constexpr uint32_t n = 5, layers = 3;
  std::vector<NS::SharedPtr<MTL::Texture>> all{
      texture(MTL::TextureType1D, MTL::PixelFormatR32Float, n),
      texture(MTL::TextureType1DArray, MTL::PixelFormatR32Float, n, 1, 1, layers),
      texture(MTL::TextureType2DArray, MTL::PixelFormatR32Float, n, n, 1, layers),
      texture(MTL::TextureType3D, MTL::PixelFormatR32Float, n, n, layers),
      texture(MTL::TextureTypeCube, MTL::PixelFormatR32Float, n, n),
      texture(MTL::TextureTypeTextureBuffer, MTL::PixelFormatR32Float, n),
      texture(MTL::TextureType2D, MTL::PixelFormatR32Float, n, n)};
  std::vector<float> start(n * n * layers);
  for (size_t i = 0; i < start.size(); ++i)
    start[i] = float(i);
  auto slicesOf = [](MTL::Texture *t) {
    return t->textureType() == MTL::TextureTypeCube ? 6 : uint32_t(t->arrayLength());
  };
  for (auto &t : all)
    for (uint32_t s = 0; s < slicesOf(t.get()); ++s)
      t->replaceRegion(MTL::Region(0, 0, 0, t->width(), t->height(), t->depth()), 0, s, start.data(),
                       t->width() * 4, t->width() * t->height() * 4);
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline("every_shape").get());
  for (size_t i = 0; i < all.size(); ++i)
    encoder->setTexture(all[i].get(), i);
  // One column of layers at a time: no two threads may write one texel.
  encoder->dispatchThreads(MTL::Size(n, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (!executes())
    return;
  for (size_t k = 0; k < all.size(); ++k) {
    MTL::Texture *t = all[k].get();
    for (uint32_t s = 0; s < slicesOf(t); ++s) {
      std::vector<float> got(t->width() * t->height() * t->depth());
      t->getBytes(got.data(), t->width() * 4, t->width() * t->height() * 4,
                  MTL::Region(0, 0, 0, t->width(), t->height(), t->depth()), 0, s);
      for (size_t i = 0; i < got.size(); ++i) {
        const bool written = s == 0 && i < n;
        const float want = start[i] + (written ? 1 : 0);
        EXPECT_EQ(got[i], k == 6 && written ? want * 2 : want) << "texture " << k << " slice " << s << " texel " << i;
      }
    }
  }
}

TEST_P(KernelTexturesApi, ArgumentBuffersHoldTextures) {
  auto function = NS::TransferPtr(library_->newFunction(string("bundled")));
  auto encoderOf = NS::TransferPtr(function->newArgumentEncoder(0));
  ASSERT_TRUE(encoderOf);
  auto arguments = buffer(encoderOf->encodedLength());
  std::memset(arguments->contents(), 0, arguments->length());
  encoderOf->setArgumentBuffer(arguments.get(), 0);
  auto one = [&](float value) {
    auto t = texture(MTL::TextureType2D, MTL::PixelFormatR32Float, 1, 1);
    t->replaceRegion(MTL::Region(0, 0, 0, 1, 1, 1), 0, &value, 4);
    return t;
  };
  auto image = one(4), p0 = one(100), p1 = one(200), p2 = one(300);
  auto out = bufferOf(std::vector<float>(6, -1));
  auto filter = sampler({});
  encoderOf->setTexture(image.get(), 3);
  encoderOf->setSamplerState(filter.get(), 1);
  encoderOf->setBuffer(out.get(), 0, 0);
  encoderOf->setTexture(p0.get(), 10);
  encoderOf->setTexture(p1.get(), 11);
  encoderOf->setTexture(p2.get(), 12);
  *static_cast<float *>(encoderOf->constantData(20)) = 2;
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline("bundled").get());
  encoder->setBuffer(arguments.get(), 0, 0);
  encoder->useResource(image.get(), MTL::ResourceUsageRead);
  encoder->dispatchThreads(MTL::Size(6, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<float>(out), (std::vector<float>{108, 208, 308, 108, 208, 308}));
  // A null texture reads as zeros.
  encoderOf->setTexture(nullptr, 3);
  commands = queue->commandBuffer();
  encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline("empty_parts").get());
  encoder->setBuffer(arguments.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<float>(out), (std::vector<float>{1, 0, 308, 108, 208, 308}));
}

TEST_P(KernelTexturesApi, ConstantsGateTextures) {
  auto image = texture(MTL::TextureType2D, MTL::PixelFormatR32Float, 4, 1);
  auto mask = texture(MTL::TextureType2D, MTL::PixelFormatR32Float, 4, 1);
  const float values[4] = {1, 2, 3, 4}, factors[4] = {10, 20, 30, 40};
  image->replaceRegion(MTL::Region(0, 0, 0, 4, 1, 1), 0, values, 16);
  mask->replaceRegion(MTL::Region(0, 0, 0, 4, 1, 1), 0, factors, 16);
  for (bool has : {false, true}) {
    auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    constants->setConstantValue(&has, MTL::DataTypeBool, NS::UInteger(0));
    auto out = bufferOf(std::vector<float>(4, -1));
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline("gated", constants.get()).get());
    encoder->setTexture(image.get(), 0);
    if (has || !executes()) // The null device does not look into kernels.
      encoder->setTexture(mask.get(), 1);
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
    encoder->endEncoding();
    finish(commands);
    if (executes())
      EXPECT_EQ(contentsOf<float>(out), has ? (std::vector<float>{10, 40, 90, 160})
                                            : (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST_P(KernelTexturesApi, ArgumentsMayBeArrays) {
  auto out = bufferOf(std::vector<float>(4, -1));
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline("array_argument").get());
  std::vector<NS::SharedPtr<MTL::Texture>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(texture(MTL::TextureType2D, MTL::PixelFormatR32Float, 1, 1));
    const float value = float(i * 11);
    all.back()->replaceRegion(MTL::Region(0, 0, 0, 1, 1, 1), 0, &value, 4);
    encoder->setTexture(all.back().get(), 2 + i);
  }
  encoder->setBuffer(out.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<float>(out), (std::vector<float>{0, 11, 22, 33}));
}

} // namespace
} // namespace pewter::test

// SPDX-License-Identifier: Apache-2.0
//
// A Gaussian blur: two passes over textures, one along rows and one along columns, from one PNG file to
// another. Without an input file it draws an image first and writes that too.
//   example_blur OUTPUT.png [INPUT.png]
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <png.h>
#include <string>
#include <vector>

static const char *const kSource = R"(
#include <metal_stdlib>
using namespace metal;

constexpr sampler pixels(coord::pixel, address::clamp_to_edge, filter::nearest);

kernel void blur(texture2d<float> source [[texture(0)]],
                 texture2d<float, access::write> target [[texture(1)]],
                 constant int2 &direction [[buffer(0)]], constant float &sigma [[buffer(1)]],
                 uint2 position [[thread_position_in_grid]]) {
  const int radius = int(ceil(3 * sigma));
  float4 sum = 0;
  float weights = 0;
  for (int i = -radius; i <= radius; ++i) {
    const float weight = exp(-float(i * i) / (2 * sigma * sigma));
    sum += weight * source.sample(pixels, float2(int2(position) + i * direction) + 0.5f);
    weights += weight;
  }
  target.write(sum / weights, position);
}
)";

struct Image {
  uint32_t width = 0, height = 0;
  std::vector<uint8_t> pixels; ///< RGBA, rows without gaps.
};

static Image drawing() {
  Image image{96, 64, std::vector<uint8_t>(96 * 64 * 4)};
  for (uint32_t y = 0; y < image.height; ++y)
    for (uint32_t x = 0; x < image.width; ++x) {
      uint8_t *pixel = &image.pixels[(y * image.width + x) * 4];
      const bool square = (x / 16 + y / 16) % 2 == 0;
      const bool ring = (x - 48) * (x - 48) + (y - 32) * (y - 32) < 400;
      pixel[0] = square ? 255 : 20;
      pixel[1] = static_cast<uint8_t>(x * 255 / image.width);
      pixel[2] = ring ? 250 : 40;
      pixel[3] = 255;
    }
  return image;
}

static bool readPng(const char *path, Image &image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, path))
    return false;
  png.format = PNG_FORMAT_RGBA;
  image = {png.width, png.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(png))};
  return png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr) != 0;
}

static bool writePng(const std::string &path, const Image &image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width;
  png.height = image.height;
  png.format = PNG_FORMAT_RGBA;
  return png_image_write_to_file(&png, path.c_str(), 0, image.pixels.data(), 0, nullptr) != 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s OUTPUT.png [INPUT.png]\n", argv[0]);
    return 2;
  }
  const std::string output = argv[1];
  Image image;
  if (argc > 2 ? !readPng(argv[2], image) : !writePng(output + ".input.png", image = drawing())) {
    std::fprintf(stderr, "The input cannot be read or written.\n");
    return 1;
  }

  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(
      device->newLibrary(NS::String::string(kSource, NS::UTF8StringEncoding), nullptr, &error));
  if (!library) {
    std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }
  auto function =
      NS::TransferPtr(library->newFunction(NS::String::string("blur", NS::UTF8StringEncoding)));
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  if (!pipeline) {
    std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }

  auto texture = [&](MTL::PixelFormat format) {
    auto *descriptor = MTL::TextureDescriptor::texture2DDescriptor(format, image.width, image.height, false);
    descriptor->setUsage(MTL::TextureUsageShaderRead | MTL::TextureUsageShaderWrite);
    return NS::TransferPtr(device->newTexture(descriptor));
  };
  auto source = texture(MTL::PixelFormatRGBA8Unorm), rows = texture(MTL::PixelFormatRGBA16Float),
       target = texture(MTL::PixelFormatRGBA8Unorm);
  const MTL::Region all = MTL::Region::Make2D(0, 0, image.width, image.height);
  source->replaceRegion(all, 0, image.pixels.data(), image.width * 4);

  auto queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  const float sigma = 3;
  encoder->setBytes(&sigma, sizeof(sigma), 1);
  for (int pass = 0; pass < 2; ++pass) {
    const int32_t direction[2] = {pass == 0, pass == 1};
    encoder->setBytes(direction, sizeof(direction), 0);
    encoder->setTexture(pass == 0 ? source.get() : rows.get(), 0);
    encoder->setTexture(pass == 0 ? rows.get() : target.get(), 1);
    encoder->dispatchThreads(MTL::Size::Make(image.width, image.height, 1), MTL::Size::Make(32, 8, 1));
  }
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();

  target->getBytes(image.pixels.data(), image.width * 4, all, 0);
  if (!writePng(output, image)) {
    std::fprintf(stderr, "%s cannot be written.\n", output.c_str());
    return 1;
  }
  std::printf("%u x %u pixels -> %s\n", image.width, image.height, output.c_str());
  return 0;
}

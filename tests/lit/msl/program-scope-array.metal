#include <metal_stdlib>
using namespace metal;
namespace state { static float history[16]; }
kernel void k(device float *o) {
  o[0] = state::history[1];
}

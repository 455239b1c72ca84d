#include <metal_stdlib>
using namespace metal;
constexpr int spin() {
  int n = 0;
  while (true)
    ++n;
  return n;
}
constant int value[spin()] = {};

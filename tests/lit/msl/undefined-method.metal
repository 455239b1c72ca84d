#include <metal_stdlib>
using namespace metal;
struct Counter {
  int next() const;
  int value;
};
kernel void k(device int *o) {
  Counter counter{1};
  o[0] = counter.next();
}

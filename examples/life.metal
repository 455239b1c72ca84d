// SPDX-License-Identifier: Apache-2.0
// Conway's game of life on a board whose edges meet.
#include <metal_stdlib>
using namespace metal;

kernel void life_step(texture2d<ushort, access::read> now [[texture(0)]],
                      texture2d<ushort, access::write> next [[texture(1)]],
                      uint2 p [[thread_position_in_grid]]) {
  const uint2 size(now.get_width(), now.get_height());
  int neighbours = 0;
  for (uint dy = 0; dy < 3; ++dy)
    for (uint dx = 0; dx < 3; ++dx)
      if (dx != 1 || dy != 1)
        neighbours += now.read((p + size - 1 + uint2(dx, dy)) % size).x;
  const bool lives = neighbours == 3 || (neighbours == 2 && now.read(p).x);
  next.write(ushort4(lives), p);
}

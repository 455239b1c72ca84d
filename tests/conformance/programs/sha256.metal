// SPDX-License-Identifier: Apache-2.0
// Hashes of messages of different lengths, one thread a message, in the manner of miners and of file checkers:
// macros for the rounds, tables in constant memory, bytes behind a struct of offsets.
#include <metal_stdlib>
using namespace metal;

#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
#define CH(x, y, z) (((x) & (y)) ^ (~(x) & (z)))
#define MAJ(x, y, z) (((x) & (y)) ^ ((x) & (z)) ^ ((y) & (z)))
#define EP0(x) (ROTR(x, 2) ^ ROTR(x, 13) ^ ROTR(x, 22))
#define EP1(x) (ROTR(x, 6) ^ ROTR(x, 11) ^ ROTR(x, 25))
#define SIG0(x) (rotate(x, 25u) ^ rotate(x, 14u) ^ ((x) >> 3))
#define SIG1(x) (rotate(x, 15u) ^ rotate(x, 13u) ^ ((x) >> 10))

constant uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct Span {
  uint offset;
  uint length;
};

class Sha256 {
public:
  Sha256() : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

  void block(thread const uint32_t *message) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
      w[i] = message[i];
    for (int i = 16; i < 64; i++)
      w[i] = SIG1(w[i - 2]) + w[i - 7] + SIG0(w[i - 15]) + w[i - 16];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll(8)
    for (int i = 0; i < 64; i++) {
      const uint32_t t1 = h + EP1(e) + CH(e, f, g) + K[i] + w[i];
      const uint32_t t2 = EP0(a) + MAJ(a, b, c);
      h = g, g = f, f = e, e = d + t1;
      d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }

  template <typename Bytes> void message(Bytes bytes, const uint length) {
    uint32_t w[16];
    const uint blocks = (length + 8) / 64 + 1;
    for (uint n = 0; n < blocks; ++n) {
      for (uint i = 0; i < 16; ++i) {
        uchar4 four = 0;
        for (uint k = 0; k < 4; ++k) {
          const uint at = n * 64 + i * 4 + k;
          four[k] = at < length ? bytes[at] : at == length ? 0x80 : 0;
        }
        w[i] = as_type<uint>(four.wzyx);
      }
      if (n + 1 == blocks) {
        const ulong bits = ulong(length) << 3;
        w[14] = uint(bits >> 32), w[15] = uint(bits);
      }
      block(w);
    }
  }

  uint32_t state[8];
};

kernel void sha256(device const uchar *data [[buffer(0)]], constant Span *spans [[buffer(1)]],
                   device uint *digests [[buffer(2)]], constant uint &count [[buffer(3)]],
                   uint gid [[thread_position_in_grid]]) {
  if (gid >= count)
    return;
  Sha256 hash;
  hash.message(data + spans[gid].offset, spans[gid].length);
  for (int i = 0; i < 8; ++i)
    digests[gid * 8 + i] = hash.state[i];
}

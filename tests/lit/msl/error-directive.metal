#include <metal_stdlib>
using namespace metal;
#if __METAL_VERSION__ < 900
#error "this shader needs Metal 9"
#endif

// What the kernels share. doc.go has their shapes, launches and orders of sums.
#pragma once
#ifndef FAKECUDA_HOST
#define DYNAMIC_SHARED(type, name)                                   \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];  \
    type *name = reinterpret_cast<type *>(dynamic_shared)
#endif

typedef long long i64;
typedef unsigned long long u64;

constexpr unsigned all_lanes = 0xffffffffu;

static __device__ __forceinline__ float minus_infinity() { return __uint_as_float(0xff800000u); }

// A bf16 is the upper half of a float32.
struct bf16 {
    unsigned short bits;
};

// The nearest bf16, ties to even; a NaN stays one.
static __device__ __forceinline__ unsigned narrow(float v) {
    const unsigned u = __float_as_uint(v);
    if ((u & 0x7fffffffu) > 0x7f800000u) return u >> 16 | 0x40u;
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}
static __device__ __forceinline__ void store(bf16 *to, float v) { to->bits = static_cast<unsigned short>(narrow(v)); }
static __device__ __forceinline__ void store(float *to, float v) { *to = v; }

// Eight numbers that lie side by side, as 16-byte loads bring them; zeros where there are none. Every
// width is a multiple of eight, and so are the places that are read.
template <class W> struct Eight;

template <> struct Eight<bf16> {
    uint4 raw;
    __device__ __forceinline__ void fetch(const bf16 *at, bool there) { raw = there ? __ldg(reinterpret_cast<const uint4 *>(at)) : make_uint4(0, 0, 0, 0); }
    __device__ __forceinline__ void unpack(float (&v)[8]) const {
        const unsigned pairs[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[2 * i] = __uint_as_float(pairs[i] << 16);
            v[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
        }
    }
};

static __device__ __forceinline__ float4 zeros() { return make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
static __device__ __forceinline__ float4 &four(float *at) { return *reinterpret_cast<float4 *>(at); }
static __device__ __forceinline__ const float4 &four(const float *at) { return *reinterpret_cast<const float4 *>(at); }

template <> struct Eight<float> {
    float4 low, high;
    __device__ __forceinline__ void fetch(const float *at, bool there) {
        low = there ? __ldg(&four(at)) : zeros();
        high = there ? __ldg(&four(at + 4)) : zeros();
    }
    __device__ __forceinline__ void unpack(float (&v)[8]) const {
        v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
        v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
    }
};

static __device__ __forceinline__ float4 scaled(float4 v, float scale, float4 w) {
    return make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
}
static __device__ __forceinline__ float square_sum(float4 v, float sum) {
    return fmaf(v.w, v.w, fmaf(v.z, v.z, fmaf(v.y, v.y, fmaf(v.x, v.x, sum))));
}

// The sum of all lanes, in every lane: pairs 16 apart first, then 8, 4, 2, 1.
static __device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart >>= 1) v += __shfl_xor_sync(all_lanes, v, apart);
    return v;
}
static __device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart >>= 1) v = fmaxf(v, __shfl_xor_sync(all_lanes, v, apart));
    return v;
}

// N sums at once, N a power of two up to 32, with N - 1 + log2(32 / N) shuffles instead of 5 N: at each
// step a lane hands away half of what it has. Lane l gets sum number l / (32 / N); every one is added in
// warp_sum's order. v is used up.
template <int N, int apart = 16, int all> static __device__ __forceinline__ float warp_sums(float (&v)[all]) {
    if constexpr (N > 1) {
        const bool upper = threadIdx.x & apart;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            const float away = upper ? v[i] : v[i + N / 2];
            const float kept = upper ? v[i + N / 2] : v[i];
            v[i] = kept + __shfl_xor_sync(all_lanes, away, apart);
        }
        return warp_sums<N / 2, apart / 2>(v);
    } else {
#pragma unroll
        for (int left = apart; left > 0; left /= 2) v[0] += __shfl_xor_sync(all_lanes, v[0], left);
        return v[0];
    }
}

// The sum over a block of whole warps, in every thread: each warp's, then those by warp_sum. part has 32
// floats of shared memory, which are free again when the block next meets.
static __device__ __forceinline__ float block_sum(float v, float *part) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    v = warp_sum(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    return warp_sum(lane < warps ? part[lane] : 0.0f);
}

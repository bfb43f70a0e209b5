// What CUDA C++ means on the host: build.py puts this file in front of every kernel source that it
// compiles for the fake driver. Every CUDA thread is a fiber; the blocks of a launch run one after the
// other on one OS thread, so nothing here is atomic or locked.
//
// A source that needs another text for the host asks `#ifdef FAKECUDA_HOST`. Two things it must:
//   dynamic shared memory   DYNAMIC_SHARED(float, name); is here, the device's text is the source's own
//   inline PTX (mma.sync)   a twin in C++; warp_all below gives a lane what all lanes hold
#pragma once
#define FAKECUDA_HOST 1
#include "fiber.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define threadIdx (fakecuda::running->thread)
#define blockIdx fakecuda::block_index
#define blockDim fakecuda::block_size
#define gridDim fakecuda::grid_size
#define warpSize 32

#ifdef FAKECUDA_LIST // build.py looks for the names of the kernels
#define __global__ FAKECUDA_KERNEL
#else
#define __global__
#endif
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("fakecuda_shared"), aligned(16)))
#define DYNAMIC_SHARED(type, name) type *name = reinterpret_cast<type *>(fakecuda::dynamic_shared)

// Where a barrier or a warp operation stands in the source.
#define FAKECUDA_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(FAKECUDA_SITE) { fakecuda::block_barrier({"__syncthreads", file, line}); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, FAKECUDA_SITE) { fakecuda::warp_meet(mask, nullptr, 0, {"__syncwarp", file, line}); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __trap(FAKECUDA_SITE) { fakecuda::trap("__trap", file, line); }
#undef assert
#define assert(condition) ((condition) ? (void)0 : fakecuda::trap("assert(" #condition ")", __FILE__, __LINE__))

namespace fakecuda {

// The values of all lanes of a warp, to be read before the next warp operation or barrier. A lane that
// is not in the mask or has exited has a value of ones (NaN, -1), as what CUDA leaves undefined.
template <class T> struct Lanes {
    T operator[](int lane) const {
        T value;
        memcpy(&value, lane_value(lane), sizeof value);
        return value;
    }
};

// One meeting of the warp at which every lane shows what it holds (at most lane_bytes): what a twin of a
// warp-wide instruction needs, for a fraction of what as many shuffles cost.
template <class T> static inline Lanes<T> warp_all(const T &mine, unsigned mask = 0xffffffffu, FAKECUDA_SITE) {
    static_assert(sizeof(T) <= lane_bytes && std::is_trivially_copyable<T>::value, "a lane shows at most lane_bytes");
    warp_meet(mask, &mine, sizeof mine, {"warp_all", file, line});
    return {};
}

template <class T> static inline T shuffle(unsigned mask, T mine, int from, Site site) {
    warp_meet(mask, &mine, sizeof mine, site);
    T value;
    memcpy(&value, lane_value(from), sizeof value);
    return value;
}

static inline int lane() { return running->index & 31; }
static inline int segment(int width) { return lane() & ~(width - 1); }

} // namespace fakecuda

template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32, FAKECUDA_SITE) {
    return fakecuda::shuffle(mask, v, fakecuda::segment(width) + (from & (width - 1)), {"__shfl_sync", file, line});
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32, FAKECUDA_SITE) {
    const int from = fakecuda::lane() ^ lanes;
    return fakecuda::shuffle(mask, v, from >= fakecuda::segment(width) + width ? fakecuda::lane() : from, {"__shfl_xor_sync", file, line});
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32, FAKECUDA_SITE) {
    const int from = fakecuda::lane() + static_cast<int>(by);
    return fakecuda::shuffle(mask, v, from >= fakecuda::segment(width) + width ? fakecuda::lane() : from, {"__shfl_down_sync", file, line});
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32, FAKECUDA_SITE) {
    const int from = fakecuda::lane() - static_cast<int>(by);
    return fakecuda::shuffle(mask, v, from < fakecuda::segment(width) ? fakecuda::lane() : from, {"__shfl_up_sync", file, line});
}

static inline unsigned __ballot_sync(unsigned mask, int vote, FAKECUDA_SITE) {
    const int mine = vote != 0;
    fakecuda::warp_meet(mask, &mine, sizeof mine, {"__ballot_sync", file, line});
    unsigned all = 0;
    for (int lane = 0; lane < 32; lane++) {
        int theirs;
        memcpy(&theirs, fakecuda::lane_value(lane), sizeof theirs);
        all |= static_cast<unsigned>(theirs == 1) << lane;
    }
    return all;
}
static inline int __any_sync(unsigned mask, int vote, FAKECUDA_SITE) { return __ballot_sync(mask, vote, file, line) != 0; }
static inline int __all_sync(unsigned mask, int vote, FAKECUDA_SITE) { return __ballot_sync(mask, !vote, file, line) == 0; }

template <class T, class F> static inline T fakecuda_reduce(unsigned mask, T v, F f, fakecuda::Site site) {
    fakecuda::warp_meet(mask, &v, sizeof v, site);
    T sum = v;
    for (int lane = 0; lane < 32; lane++)
        if ((mask >> lane & 1) && lane != fakecuda::lane() && fakecuda::lane_present(lane)) sum = f(sum, fakecuda::Lanes<T>()[lane]);
    return sum;
}
template <class T> static inline T __reduce_add_sync(unsigned mask, T v, FAKECUDA_SITE) {
    return fakecuda_reduce(mask, v, [](T a, T b) { return a + b; }, {"__reduce_add_sync", file, line});
}
template <class T> static inline T __reduce_max_sync(unsigned mask, T v, FAKECUDA_SITE) {
    return fakecuda_reduce(mask, v, [](T a, T b) { return a > b ? a : b; }, {"__reduce_max_sync", file, line});
}
template <class T> static inline T __reduce_min_sync(unsigned mask, T v, FAKECUDA_SITE) {
    return fakecuda_reduce(mask, v, [](T a, T b) { return a < b ? a : b; }, {"__reduce_min_sync", file, line});
}

template <class T> static inline T atomicExch(T *at, T v) { T old = *at; *at = v; return old; }
template <class T> static inline T atomicAdd(T *at, T v) { return atomicExch(at, static_cast<T>(*at + v)); }
template <class T> static inline T atomicMax(T *at, T v) { return atomicExch(at, v > *at ? v : *at); }
template <class T> static inline T atomicMin(T *at, T v) { return atomicExch(at, v < *at ? v : *at); }
template <class T> static inline T atomicOr(T *at, T v) { return atomicExch(at, static_cast<T>(*at | v)); }
template <class T> static inline T atomicAnd(T *at, T v) { return atomicExch(at, static_cast<T>(*at & v)); }
template <class T> static inline T atomicCAS(T *at, T expected, T v) { return atomicExch(at, *at == expected ? v : *at); }
static inline unsigned atomicInc(unsigned *at, unsigned limit) { return atomicExch(at, *at >= limit ? 0u : *at + 1); }

template <class T> static inline T __ldg(const T *at) { return *at; }
template <class T> static inline T __ldcs(const T *at) { return *at; }
template <class T> static inline T __ldcg(const T *at) { return *at; }
template <class T> static inline T __ldlu(const T *at) { return *at; }
template <class T> static inline void __stcs(T *at, T v) { *at = v; }
template <class T> static inline void __stcg(T *at, T v) { *at = v; }

template <class To, class From> static inline To fakecuda_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline float __uint_as_float(unsigned v) { return fakecuda_bits<float>(v); }
static inline float __int_as_float(int v) { return fakecuda_bits<float>(v); }
static inline unsigned __float_as_uint(float v) { return fakecuda_bits<unsigned>(v); }
static inline int __float_as_int(float v) { return fakecuda_bits<int>(v); }
static inline double __longlong_as_double(long long v) { return fakecuda_bits<double>(v); }
static inline long long __double_as_longlong(double v) { return fakecuda_bits<long long>(v); }
static inline int __float2int_rn(float v) { return static_cast<int>(rintf(v)); }

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define __expf(x) expf(x) // glibc has functions of these names
#define __logf(x) logf(x)
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
static inline int __ffs(int v) { return __builtin_ffs(v); }

#define FAKECUDA_MIN_MAX(type)                                          \
    static inline type min(type a, type b) { return a < b ? a : b; }    \
    static inline type max(type a, type b) { return a > b ? a : b; }
FAKECUDA_MIN_MAX(int)
FAKECUDA_MIN_MAX(unsigned)
FAKECUDA_MIN_MAX(long long)
FAKECUDA_MIN_MAX(unsigned long long)
FAKECUDA_MIN_MAX(long)
FAKECUDA_MIN_MAX(unsigned long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }

#define FAKECUDA_VECTOR(type, name)                                                                        \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                               \
    struct alignas(4 * sizeof(type)) name##4 { type x, y, z, w; };                                         \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
FAKECUDA_VECTOR(float, float)
FAKECUDA_VECTOR(int, int)
FAKECUDA_VECTOR(unsigned, uint)
FAKECUDA_VECTOR(short, short)
FAKECUDA_VECTOR(unsigned short, ushort)
FAKECUDA_VECTOR(unsigned char, uchar)

// FAKECUDA_REGISTER, which build.py writes behind the source, hands a kernel's name, the hash of its
// source, the sizes of its parameters and a way to call it to the fake driver.
namespace fakecuda {
template <auto kernel, class Signature> struct Caller;
template <auto kernel, class... Parameters> struct Caller<kernel, void (*)(Parameters...)> {
    template <size_t... i> static void call_with(void **arguments, std::index_sequence<i...>) {
        (void)arguments;
        kernel(*static_cast<std::remove_cv_t<Parameters> *>(arguments[i])...);
    }
    static void call(void **arguments) { call_with(arguments, std::index_sequence_for<Parameters...>{}); }
    static int register_as(const char *name, const char *hash) {
        register_kernel({name, hash, {sizeof(Parameters)...}, call});
        return 0;
    }
};
} // namespace fakecuda
#define FAKECUDA_REGISTER(name, hash) static const int fakecuda_##name = fakecuda::Caller<&name, decltype(&name)>::register_as(#name, hash);

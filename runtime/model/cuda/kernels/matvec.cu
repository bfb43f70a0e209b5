// Products of a matrix with few tokens: the weights are read once, at the speed of memory.
#include "device.cuh"

constexpr int warps = 8;
constexpr int chunk = 1024;   // columns of x in shared memory at a time
constexpr int in_flight = 4;  // Eights a lane has under way
constexpr int slab = 8;       // tokens a block multiplies with

struct Arguments {
    float *out;
    const void *w;
    const float *x, *norm;
    i64 rows, cols, tokens; // rows of out
    bool add;
    float eps;
};

// Where a chunk's column lies in shared memory, for one token. The lanes of a warp want columns 8 l to
// 8 l + 7 each: the first fours of all lanes lie side by side, the second fours behind them, so that a
// 16-byte read of a warp touches each bank as often as the others; and l ^ 4 there, so that writing them
// in the order of columns does, too.
static __device__ __forceinline__ int place(int column) {
    const int eight = column >> 3, second = column >> 2 & 1;
    return ((eight >> 5) * 64 + second * 32 + ((eight & 31) ^ (second * 4))) * 4;
}

// scales[t] = 1 / sqrt(mean of squares + eps) of each of T tokens; part has room for T * warps.
template <int T> static __device__ __forceinline__ void norm_scales(float *scales, float *part, const Arguments &a, i64 token, int count) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int t = 0; t < count; t++) {
        const float *x = a.x + (token + t) * a.cols;
        float sum = 0.0f;
        for (i64 i = 4 * threadIdx.x; i < a.cols; i += chunk) sum = square_sum(four(x + i), sum);
        sum = warp_sum(sum);
        if (lane == 0) part[t * warps + warp] = sum;
    }
    __syncthreads();
    if (warp < count) {
        const float sum = warp_sum(lane < warps ? part[warp * warps + lane] : 0.0f);
        if (lane == 0) scales[warp] = 1.0f / sqrtf(sum / static_cast<float>(a.cols) + a.eps);
    }
    __syncthreads();
}

// A chunk of the tokens' activations, normalized where the matrix wants that; zeros behind the last
// column, and for tokens that are not there.
template <int T> static __device__ __forceinline__ void stage(float *xs, const float *scales, const Arguments &a, i64 token, int count, i64 column) {
    const int at = 4 * threadIdx.x;
    const bool inside = column + at < a.cols;
#pragma unroll
    for (int t = 0; t < T; t++) {
        const bool there = inside && t < count;
        float4 v = there ? four(a.x + (token + t) * a.cols + column + at) : zeros();
        if (a.norm && there) v = scaled(v, scales[t], four(a.norm + column + at));
        four(xs + t * chunk + place(at)) = v;
    }
}

// R rows of weights for U times 8 columns, as a lane has them under way.
template <class W, int R, int U> struct Weights {
    Eight<W> eights[R][U];
    __device__ __forceinline__ void fetch(const W *const (&rows)[R], i64 column, i64 cols) {
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int r = 0; r < R; r++) eights[r][u].fetch(rows[r] + column + u * 256, column + u * 256 < cols);
    }
};

// sums[t * R + r] += the products of row r and token t in these columns, the columns one after the other.
template <class W, int T, int R, int U> static __device__ __forceinline__ void multiply(float (&sums)[T * R], const Weights<W, R, U> &weights, const float *xs, int column) {
#pragma unroll
    for (int u = 0; u < U; u++) {
        float w[R][8];
#pragma unroll
        for (int r = 0; r < R; r++) weights.eights[r][u].unpack(w[r]);
#pragma unroll
        for (int t = 0; t < T; t++) {
            const float4 low = four(xs + t * chunk + place(column + u * 256));
            const float4 high = four(xs + t * chunk + place(column + u * 256 + 4));
            const float x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int i = 0; i < 8; i++) sums[t * R + r] = fmaf(w[r][i], x[i], sums[t * R + r]);
        }
    }
}

// Lane l has sum l / (32 / N) of T tokens times R rows; where they are gates and ups in turn, the up of
// the same row is in the lanes of the next sum.
template <int T, int R, bool gated> static __device__ __forceinline__ void write(float sum, const Arguments &a, i64 row, i64 token, int count) {
    constexpr int share = 32 / (T * R);
    const int lane = threadIdx.x & 31, t = lane / share / R, r = lane / share % R;
    if (gated) {
        const float up = __shfl_xor_sync(all_lanes, sum, share);
        sum = sum / (1.0f + expf(-sum)) * up;
        row += r / 2;
    } else {
        row += r;
    }
    if (lane % share != 0 || (gated && r % 2 != 0) || t >= count || row >= a.rows) return;
    float *out = a.out + (token + t) * a.rows + row;
    *out = a.add ? *out + sum : sum;
}

// A warp makes R products a token at a time: R rows, or R / 2 gates and their ups.
template <class W, int T, int R, bool gated> static __device__ __forceinline__ void matvec(float *xs, float *scales, const Arguments &a) {
    constexpr int U = in_flight / R, step = 256 * U, made = gated ? R / 2 : R;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 token = static_cast<i64>(blockIdx.y) * slab, steps = (a.cols + step - 1) / step;
    const int count = static_cast<int>(min(a.tokens - token, static_cast<i64>(slab)));
    if (a.norm) norm_scales<T>(scales, xs, a, token, count);
    for (i64 block = blockIdx.x; block * warps * made < a.rows; block += gridDim.x) {
        const i64 row = (block * warps + warp) * made;
        const W *rows[R];
#pragma unroll
        for (int r = 0; r < R; r++) { // a row behind the last one is the last again, and is not written
            const i64 one = min(row + (gated ? r / 2 : r), a.rows - 1);
            rows[r] = static_cast<const W *>(a.w) + (gated && r % 2 ? a.rows + one : one) * a.cols + 8 * lane;
        }
        Weights<W, R, U> now, next;
        now.fetch(rows, 0, a.cols - 8 * lane);
        float sums[T * R] = {};
        for (i64 s = 0; s < steps; s++) {
            const i64 column = s * step;
            if (column % chunk == 0 && (a.cols > chunk || block == blockIdx.x)) {
                __syncthreads();
                stage<T>(xs, scales, a, token, count, column);
                __syncthreads();
            }
            if (s + 1 < steps) next.fetch(rows, column + step, a.cols - 8 * lane);
            multiply<W, T, R, U>(sums, now, xs, static_cast<int>(column % chunk) + 8 * lane);
            now = next;
        }
        write<T, R, gated>(warp_sums<T * R>(sums), a, row, token, count);
    }
}

// The tokens of a block, rounded up to a power of two.
template <class W, int R, bool gated> static __device__ __forceinline__ void matvec_tokens(float *xs, float *scales, const Arguments &a) {
    const i64 count = a.tokens - static_cast<i64>(blockIdx.y) * slab;
    if (count > 4) matvec<W, 8, R, gated>(xs, scales, a);
    else if (count > 2) matvec<W, 4, R, gated>(xs, scales, a);
    else if (count > 1) matvec<W, 2, R, gated>(xs, scales, a);
    else matvec<W, 1, R, gated>(xs, scales, a);
}

#define MATVEC(name, W, R, gated)                                                                                            \
    extern "C" __global__ void __launch_bounds__(32 * warps)                                                                 \
    name(float *out, const W *w, const float *x, const float *norm, i64 rows, i64 cols, i64 tokens, i64 add, float eps) {    \
        __shared__ float scales[slab];                                                                                       \
        DYNAMIC_SHARED(float, xs);                                                                                           \
        matvec_tokens<W, R, gated>(xs, scales, {out, w, x, norm, rows, cols, tokens, add != 0, eps});                        \
    }

MATVEC(matvec_bf16, bf16, 1, false)
MATVEC(matvec_wide_bf16, bf16, 4, false)
MATVEC(matvec_gated_bf16, bf16, 2, true)
MATVEC(matvec_f32, float, 1, false)
// For sm_80, with eight tokens:
// spills: matvec_gated_f32
MATVEC(matvec_gated_f32, float, 2, true)

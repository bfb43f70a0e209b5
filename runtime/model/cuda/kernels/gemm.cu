// Products of a matrix with many tokens.
#include "device.cuh"

// d += a b of 16 x 16 and 16 x 8 bf16 numbers, on the tensor cores. Lane l has of a the pairs (row l/4,
// columns 2(l%4) and 8 on from there), each also of row l/4 + 8; of b the pairs (column l/4, the same
// places down it); of d the pairs (rows l/4 and l/4 + 8, columns 2(l%4) and the next).
static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifndef FAKECUDA_HOST
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    struct Held {
        unsigned a[4], b[2];
    };
    const auto all = fakecuda::warp_all(Held{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
    const int group = (threadIdx.x & 31) / 4, member = threadIdx.x % 4;
    for (int k = 0; k < 16; k++) {
        const int holder = k % 8 / 2, upper = k / 8, shift = k % 2 * 16;
        const Held row = all[group * 4 + holder];
        const auto number = [&](unsigned pair) { return __uint_as_float((pair >> shift & 0xffffu) << 16); };
        for (int column = 0; column < 2; column++) {
            const float w = number(all[(2 * member + column) * 4 + holder].b[upper]);
            d[column] = fmaf(number(row.a[2 * upper]), w, d[column]);
            d[2 + column] = fmaf(number(row.a[2 * upper + 1]), w, d[2 + column]);
        }
    }
#endif
}

struct Product {
    float *out;
    const float *x;
    i64 rows, cols, tokens;
};

// Two numbers, each in three parts: the bf16 next to it, the one next to what that leaves, and the one next
// to what is left then. Together they are the number, all 24 bits of it, unless it is below 2^-110. Where the
// first is no number, nothing is left.
constexpr int parts = 3;
struct Pair {
    unsigned part[parts];
};
static __device__ __forceinline__ Pair pair(float first, float second) {
    Pair p;
#pragma unroll
    for (int i = 0; i < parts; i++) {
        const unsigned a = narrow(first), b = narrow(second);
        p.part[i] = a | b << 16;
        first = (a & 0x7f80u) == 0x7f80u ? 0.0f : first - __uint_as_float(a << 16);
        second = (b & 0x7f80u) == 0x7f80u ? 0.0f : second - __uint_as_float(b << 16);
    }
    return p;
}

// M tokens by N rows a block, its warps side by side in a grid of down by across, each of which makes m by
// n tiles of 16 tokens by 8 rows, depth columns at a time. The next columns come from memory while these are
// multiplied. In shared memory are the first parts of the tokens' numbers, the second, the third, then the
// rows, in lines so much longer than their words that eight of them touch all banks.
template <int down, int across, int m, int n, int depth> struct Tensor {
    static constexpr int threads = 32 * down * across, M = 16 * m * down, N = 8 * n * across, eights = depth / 8, stride = depth / 2 + 4;
    static constexpr int words = 2 * (parts * M + N) * stride; // of shared memory, for two turns
    static constexpr int xs = (M * eights + threads - 1) / threads, ws = N * eights / threads;

    Eight<float> x[xs];
    Eight<bf16> w[ws];
    float sums[m][n][4];

    __device__ __forceinline__ void fetch(const Product &a, const bf16 *weights, i64 column) {
        const i64 token = static_cast<i64>(blockIdx.y) * M, row = static_cast<i64>(blockIdx.x) * N;
#pragma unroll
        for (int i = 0; i < xs; i++) {
            const int at = threadIdx.x + i * threads, number = at % eights * 8;
            const i64 t = token + at / eights;
            x[i].fetch(a.x + t * a.cols + column + number, at < M * eights && t < a.tokens && column + number < a.cols);
        }
#pragma unroll
        for (int i = 0; i < ws; i++) {
            const int at = threadIdx.x + i * threads, number = at % eights * 8;
            const i64 r = row + at / eights;
            w[i].fetch(weights + r * a.cols + column + number, r < a.rows && column + number < a.cols);
        }
    }

    __device__ __forceinline__ void stage(unsigned *turn) const {
#pragma unroll
        for (int i = 0; i < xs; i++) {
            const int at = threadIdx.x + i * threads;
            if (at >= M * eights) break;
            float v[8];
            x[i].unpack(v);
            const Pair a = pair(v[0], v[1]), b = pair(v[2], v[3]), c = pair(v[4], v[5]), d = pair(v[6], v[7]);
            unsigned *to = turn + at / eights * stride + at % eights * 4;
#pragma unroll
            for (int p = 0; p < parts; p++) *reinterpret_cast<uint4 *>(to + p * M * stride) = make_uint4(a.part[p], b.part[p], c.part[p], d.part[p]);
        }
#pragma unroll
        for (int i = 0; i < ws; i++) {
            const int at = threadIdx.x + i * threads;
            *reinterpret_cast<uint4 *>(turn + (parts * M + at / eights) * stride + at % eights * 4) = w[i].raw;
        }
    }

    __device__ __forceinline__ void compute(const unsigned *turn) {
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane / 4, member = lane % 4;
        const unsigned *tokens = turn + (warp / across * 16 * m + group) * stride + member;
        const unsigned *rows = turn + (parts * M + warp % across * 8 * n + group) * stride + member;
#pragma unroll
        for (int k = 0; k < depth / 2; k += 8) {
            unsigned b[n][2];
#pragma unroll
            for (int j = 0; j < n; j++)
#pragma unroll
                for (int p = 0; p < 2; p++) b[j][p] = rows[8 * j * stride + k + 4 * p];
#pragma unroll
            for (int part = parts - 1; part >= 0; part--) { // the small ones first
                unsigned a[m][4];
#pragma unroll
                for (int i = 0; i < m; i++)
#pragma unroll
                    for (int p = 0; p < 4; p++) a[i][p] = tokens[(part * M + 16 * i + 8 * (p & 1)) * stride + k + 4 * (p >> 1)];
#pragma unroll
                for (int i = 0; i < m; i++)
#pragma unroll
                    for (int j = 0; j < n; j++) multiply(sums[i][j], a[i], b[j]);
            }
        }
    }

    __device__ __forceinline__ void write(const Product &a) const {
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        const i64 token = static_cast<i64>(blockIdx.y) * M + warp / across * 16 * m + lane / 4;
        const i64 row = static_cast<i64>(blockIdx.x) * N + warp % across * 8 * n + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < m; i++)
#pragma unroll
            for (int j = 0; j < n; j++)
#pragma unroll
                for (int lower = 0; lower < 2; lower++) {
                    const i64 t = token + 16 * i + 8 * lower, r = row + 8 * j;
                    if (t >= a.tokens || r >= a.rows) continue;
                    float *to = a.out + t * a.rows + r;
                    if (a.rows % 2 == 0) {
                        *reinterpret_cast<float2 *>(to) = make_float2(sums[i][j][2 * lower], sums[i][j][2 * lower + 1]);
                        continue;
                    }
                    to[0] = sums[i][j][2 * lower];
                    if (r + 1 < a.rows) to[1] = sums[i][j][2 * lower + 1];
                }
    }

    __device__ __forceinline__ void run(unsigned *shared, const Product &a, const bf16 *weights) {
#pragma unroll
        for (int i = 0; i < m; i++)
#pragma unroll
            for (int j = 0; j < n; j++) sums[i][j][0] = sums[i][j][1] = sums[i][j][2] = sums[i][j][3] = 0.0f;
        const i64 steps = (a.cols + depth - 1) / depth;
        fetch(a, weights, 0);
        stage(shared);
        __syncthreads();
        for (i64 s = 0; s < steps; s++) {
            if (s + 1 < steps) fetch(a, weights, (s + 1) * depth);
            compute(shared + (s & 1) * (words / 2));
            if (s + 1 < steps) stage(shared + (~s & 1) * (words / 2));
            __syncthreads();
        }
        write(a);
    }
};

typedef Tensor<2, 2, 2, 4, 32> Small; // 64 tokens by 64 rows
typedef Tensor<2, 4, 2, 4, 16> Large; // 64 by 128

#define GEMM(name, Shape)                                                                                              \
    extern "C" __global__ void __launch_bounds__(Shape::threads)                                                       \
    name(float *out, const bf16 *w, const float *x, i64 rows, i64 cols, i64 tokens) {                                  \
        __shared__ uint4 shared[Shape::words / 4];                                                                     \
        Shape shape;                                                                                                   \
        shape.run(reinterpret_cast<unsigned *>(shared), {out, x, rows, cols, tokens}, w);                              \
    }

GEMM(gemm_bf16, Small)
GEMM(gemm_large_bf16, Large)

constexpr int side = 64, deep = 16, pitch = side + 4;

// A block's 64 rows of 16 columns, turned so that four rows lie side by side.
static __device__ __forceinline__ void stage_turned(float *turned, const float *from, i64 first, i64 rows, i64 column, i64 cols) {
    const i64 row = first + threadIdx.x / 4, at = column + threadIdx.x % 4 * 4;
    const float4 v = row < rows && at < cols ? four(from + row * cols + at) : zeros();
    float *to = turned + threadIdx.x % 4 * 4 * pitch + threadIdx.x / 4;
    to[0] = v.x, to[pitch] = v.y, to[2 * pitch] = v.z, to[3 * pitch] = v.w;
}

// 64 tokens by 64 rows a block, 4 by 4 a thread, the columns one after the other.
extern "C" __global__ void __launch_bounds__(256) gemm_f32(float *out, const float *w, const float *x, i64 rows, i64 cols, i64 tokens) {
    __shared__ float xs[deep * pitch], ws[deep * pitch];
    const i64 token = static_cast<i64>(blockIdx.y) * side, row = static_cast<i64>(blockIdx.x) * side;
    const int t = threadIdx.x / 16 * 4, r = threadIdx.x % 16 * 4;
    float sums[4][4] = {};
    for (i64 column = 0; column < cols; column += deep) {
        __syncthreads();
        stage_turned(xs, x, token, tokens, column, cols);
        stage_turned(ws, w, row, rows, column, cols);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < deep; k++) {
            const float4 a = four(xs + k * pitch + t), b = four(ws + k * pitch + r);
            const float as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sums[i][j] = fmaf(as[i], bs[j], sums[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (token + t + i < tokens && row + r + j < rows) out[(token + t + i) * rows + row + r + j] = sums[i][j];
}

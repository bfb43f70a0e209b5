// Attention of many queries: those of a request that follow each other share the keys they read.
#include "device.cuh"

constexpr int warps = 4;
constexpr int tile = 32;      // tokens of a block, and keys at a time
constexpr int own = 8;        // tokens of a warp
constexpr int widest = 128;   // numbers of a head
constexpr float nothing = -3.0e38f; // below every score; finite, so that e^(nothing - nothing) is 1

struct Prompt {
    float *out;
    const float *qkv;
    const int *table;
    const i64 *tables;
    const int *positions;
    i64 tokens;
    int heads, kvheads, headdim;
    float scale;
};

// Keys or values of positions base and following as float32, in rows four numbers longer than a head, so
// that a warp can read its 32 rows side by side; zeros behind the last position.
template <class C> static __device__ __forceinline__ void stage(float *shared, const C *cache, const int *table, const Prompt &a, int kvhead, int base, int last) {
    const int eights = a.headdim / 8, stride = a.headdim + 4;
    for (int i = threadIdx.x; i < tile * eights; i += 32 * warps) {
        const int key = i / eights, number = i % eights * 8;
        Eight<C> eight;
        const bool there = base + key <= last;
        eight.fetch(cache + (static_cast<i64>(there ? table[base + key] : 0) * a.kvheads + kvhead) * a.headdim + number, there);
        float v[8];
        eight.unpack(v);
        four(shared + key * stride + number) = make_float4(v[0], v[1], v[2], v[3]);
        four(shared + key * stride + number + 4) = make_float4(v[4], v[5], v[6], v[7]);
    }
}

// What a warp knows of its tokens.
struct Rows {
    int position[own]; // -1 for a token that is not of the run at hand
    float top[own], sum[own];
    float4 value[own]; // four numbers a lane
};

// Scores of a warp's tokens with 32 keys, one a lane, made into shares of the softmax so far.
static __device__ __forceinline__ void score(Rows &rows, const float *queries, const float *keys, float *shares, int headdim, int base) {
    const int lane = threadIdx.x & 31;
    float s[own] = {};
    for (int i = 0; i < headdim; i += 4) {
        const float4 k = four(keys + lane * (headdim + 4) + i);
#pragma unroll
        for (int r = 0; r < own; r++) {
            const float4 q = four(queries + r * headdim + i);
            s[r] = fmaf(q.w, k.w, fmaf(q.z, k.z, fmaf(q.y, k.y, fmaf(q.x, k.x, s[r]))));
        }
    }
#pragma unroll
    for (int r = 0; r < own; r++) {
        if (base + lane > rows.position[r]) s[r] = minus_infinity();
        const float now = fmaxf(rows.top[r], warp_max(s[r])), before = expf(rows.top[r] - now), share = expf(s[r] - now);
        rows.top[r] = now;
        rows.sum[r] = fmaf(rows.sum[r], before, warp_sum(share));
        rows.value[r].x *= before, rows.value[r].y *= before, rows.value[r].z *= before, rows.value[r].w *= before;
        shares[r * tile + lane] = share;
    }
}

// Adds the values of 32 keys, one after the other, by their shares.
static __device__ __forceinline__ void add_values(Rows &rows, const float *shares, const float *values, int headdim) {
    const int number = (threadIdx.x & 31) * 4;
    if (number >= headdim) return;
    for (int key = 0; key < tile; key += 4) {
        float4 v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = four(values + (key + i) * (headdim + 4) + number);
#pragma unroll
        for (int r = 0; r < own; r++) {
            const float4 s = four(shares + r * tile + key);
            float4 &sum = rows.value[r];
            sum.x = fmaf(s.w, v[3].x, fmaf(s.z, v[2].x, fmaf(s.y, v[1].x, fmaf(s.x, v[0].x, sum.x))));
            sum.y = fmaf(s.w, v[3].y, fmaf(s.z, v[2].y, fmaf(s.y, v[1].y, fmaf(s.x, v[0].y, sum.y))));
            sum.z = fmaf(s.w, v[3].z, fmaf(s.z, v[2].z, fmaf(s.y, v[1].z, fmaf(s.x, v[0].z, sum.z))));
            sum.w = fmaf(s.w, v[3].w, fmaf(s.z, v[2].w, fmaf(s.y, v[1].w, fmaf(s.x, v[0].w, sum.w))));
        }
    }
}

// The scaled queries of the block's tokens for one head.
static __device__ __forceinline__ void stage_queries(float *queries, const Prompt &a, i64 first, int head) {
    const i64 width = static_cast<i64>(a.heads + 2 * a.kvheads) * a.headdim;
    for (int i = threadIdx.x; i < tile * a.headdim; i += 32 * warps) {
        const i64 token = first + i / a.headdim;
        queries[i] = token < a.tokens ? a.qkv[token * width + static_cast<i64>(head) * a.headdim + i % a.headdim] * a.scale : 0.0f;
    }
}

// Block (b, h): 32 tokens' queries of a head. Tokens of one request, which have one place in table, make a
// run; the block goes through the positions of each run that it has a part of.
template <class C> static __device__ __forceinline__ void attend(float *queries, float *cached, float *shares, const C *kcache, const C *vcache, const Prompt &a) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, head = blockIdx.y, kvhead = head / (a.heads / a.kvheads), mine = warp * own;
    const i64 first = static_cast<i64>(blockIdx.x) * tile;
    const int count = static_cast<int>(min(a.tokens - first, static_cast<i64>(tile)));
    stage_queries(queries, a, first, head);
    Rows rows;
#pragma unroll
    for (int r = 0; r < own; r++) rows.top[r] = nothing, rows.sum[r] = 0.0f, rows.value[r] = zeros();
    for (int from = 0, to; from < count; from = to) {
        const i64 start = a.tables[first + from];
        int last = a.positions[first + from], furthest = -1;
        for (to = from + 1; to < count && a.tables[first + to] == start; to++) last = max(last, a.positions[first + to]);
#pragma unroll
        for (int r = 0; r < own; r++) {
            rows.position[r] = mine + r >= from && mine + r < to ? a.positions[first + mine + r] : -1;
            furthest = max(furthest, rows.position[r]);
        }
        for (int base = 0; base <= last; base += tile) {
            __syncthreads();
            stage(cached, kcache, a.table + start, a, kvhead, base, last);
            __syncthreads();
            if (base <= furthest) score(rows, queries + mine * a.headdim, cached, shares + mine * tile, a.headdim, base);
            __syncthreads();
            stage(cached, vcache, a.table + start, a, kvhead, base, last);
            __syncthreads();
            if (base <= furthest) add_values(rows, shares + mine * tile, cached, a.headdim);
        }
    }
#pragma unroll
    for (int r = 0; r < own; r++) {
        if (mine + r >= count || lane * 4 >= a.headdim) continue;
        float4 v = rows.value[r];
        v.x /= rows.sum[r], v.y /= rows.sum[r], v.z /= rows.sum[r], v.w /= rows.sum[r];
        four(a.out + ((first + mine + r) * a.heads + head) * a.headdim + lane * 4) = v;
    }
}

#define ATTEND(name, C)                                                                                                                            \
    extern "C" __global__ void __launch_bounds__(32 * warps)                                                                                       \
    name(float *out, const float *qkv, const C *kcache, const C *vcache, const int *table, const i64 *tables, const int *positions, i64 tokens,    \
         i64 heads, i64 kvheads, i64 headdim, float scale) {                                                                                       \
        __shared__ float queries[tile * widest], cached[tile * (widest + 4)], shares[tile * tile];                                                 \
        attend<C>(queries, cached, shares, kcache, vcache,                                                                                         \
                  {out, qkv, table, tables, positions, tokens, static_cast<int>(heads), static_cast<int>(kvheads), static_cast<int>(headdim), scale}); \
    }

ATTEND(attend_bf16, bf16)
// For sm_80, where float32 is not what is served:
// spills: attend_f32
ATTEND(attend_f32, float)

// Attention of one query a request to all that is in the cache: split over the positions, then joined.
#include "device.cuh"

constexpr int warps = 4;
constexpr int split = 128;    // positions of a block
constexpr int in_flight = 4;  // keys, and as many values, a lane has under way
constexpr int widest = 128;   // numbers of a head
constexpr float nothing = -3.0e38f; // below every score; finite, so that e^(nothing - nothing) is 1

struct Query {
    const float *q; // the first head's
    const int *table;
    int kvheads, kvhead, headdim, heads; // heads that share the keys here
    float scale;
};

// The softmax so far of G heads over the positions that a group of lanes has seen; of the values' sum a
// lane has eight numbers.
template <int G> struct Running {
    float top[G], sum[G], value[G][8];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int g = 0; g < G; g++) {
            top[g] = nothing, sum[g] = 0.0f;
#pragma unroll
            for (int i = 0; i < 8; i++) value[g][i] = 0.0f;
        }
    }

    // Takes in scores and values of in_flight positions; a score of -inf is a position that is not there.
    __device__ __forceinline__ void take(int g, const float (&scores)[in_flight], const float (&values)[in_flight][8]) {
        float now = top[g];
#pragma unroll
        for (int u = 0; u < in_flight; u++) now = fmaxf(now, scores[u]);
        const float before = expf(top[g] - now);
        top[g] = now;
        sum[g] *= before;
#pragma unroll
        for (int i = 0; i < 8; i++) value[g][i] *= before;
#pragma unroll
        for (int u = 0; u < in_flight; u++) {
            const float share = expf(scores[u] - now);
            sum[g] += share;
#pragma unroll
            for (int i = 0; i < 8; i++) value[g][i] = fmaf(share, values[u][i], value[g][i]);
        }
    }

    // Takes in what the lanes so far apart have, which are of another group of lanes.
    __device__ __forceinline__ void join(int apart) {
#pragma unroll
        for (int g = 0; g < G; g++) {
            const float other = __shfl_xor_sync(all_lanes, top[g], apart), now = fmaxf(top[g], other);
            const float mine = expf(top[g] - now), theirs = expf(other - now);
            top[g] = now;
            sum[g] = sum[g] * mine + __shfl_xor_sync(all_lanes, sum[g], apart) * theirs;
#pragma unroll
            for (int i = 0; i < 8; i++) value[g][i] = value[g][i] * mine + __shfl_xor_sync(all_lanes, value[g][i], apart) * theirs;
        }
    }
};

// A warp's part of the positions from begin to end. A group of lanes, a power of two of them with eight
// numbers each, does a key: lanes is how many.
template <class C, int G>
static __device__ __forceinline__ void scan(Running<G> &running, const C *kcache, const C *vcache, const Query &query, int begin, int end, int lanes) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, number = lane % lanes * 8, keys = 32 / lanes;
    const bool live = number < query.headdim;
    float q[G][8];
#pragma unroll
    for (int g = 0; g < G; g++)
#pragma unroll
        for (int i = 0; i < 8; i++) q[g][i] = live && g < query.heads ? query.q[g * query.headdim + number + i] * query.scale : 0.0f;
    for (int base = begin; base < end; base += in_flight * warps * keys) {
        Eight<C> k[in_flight], v[in_flight];
        bool there[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; u++) {
            const int position = base + (u * warps + warp) * keys + lane / lanes;
            there[u] = position < end;
            const i64 at = (static_cast<i64>(query.table[there[u] ? position : begin]) * query.kvheads + query.kvhead) * query.headdim + number;
            k[u].fetch(kcache + at, live);
            v[u].fetch(vcache + at, live);
        }
        float scores[G][in_flight], values[in_flight][8];
#pragma unroll
        for (int u = 0; u < in_flight; u++) {
            float key[8];
            k[u].unpack(key);
            v[u].unpack(values[u]);
#pragma unroll
            for (int g = 0; g < G; g++) {
                float score = 0.0f;
#pragma unroll
                for (int i = 0; i < 8; i++) score = fmaf(q[g][i], key[i], score);
                for (int apart = lanes >> 1; apart > 0; apart >>= 1) score += __shfl_xor_sync(all_lanes, score, apart);
                scores[g][u] = there[u] ? score : minus_infinity();
            }
        }
#pragma unroll
        for (int g = 0; g < G; g++) running.take(g, scores[g], values);
    }
    for (int apart = lanes; apart < 32; apart <<= 1) running.join(apart);
}

// Joins what the warps have, in their order, and writes it: at is the first head's place among all heads'
// splits, apart how far the next head's is from it.
template <int G>
static __device__ __forceinline__ void write(float *partial, float *maxima, float *sums, const Running<G> &running, float *shared, int headdim, int heads, i64 at, i64 apart) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, number = threadIdx.x;
    float *tops = shared, *weights = tops + warps * G, *values = weights + warps * G;
#pragma unroll
    for (int g = 0; g < G; g++) {
        if (lane == 0) tops[warp * G + g] = running.top[g], weights[warp * G + g] = running.sum[g];
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (lane * 8 < headdim) values[(warp * G + g) * widest + lane * 8 + i] = running.value[g][i];
    }
    __syncthreads();
    for (int g = 0; g < heads; g++) {
        float top = nothing, sum = 0.0f, value = 0.0f;
        for (int w = 0; w < warps; w++) top = fmaxf(top, tops[w * G + g]);
        for (int w = 0; w < warps; w++) {
            const float share = expf(tops[w * G + g] - top);
            sum = fmaf(weights[w * G + g], share, sum);
            if (number < headdim) value = fmaf(values[(w * G + g) * widest + number], share, value);
        }
        if (number < headdim) partial[(at + g * apart) * headdim + number] = value;
        if (number == 0) maxima[at + g * apart] = top, sums[at + g * apart] = sum;
    }
}

struct Work {
    float *partial, *maxima, *sums;
    const float *qkv;
    const void *kcache, *vcache;
    const int *table;
    const i64 *starts;
    const int *lengths;
    i64 heads, kvheads, headdim, splits;
    float scale;
};

// Block (s, h, w): positions from s * split on of work w, for G of the heads that share keys.
template <class C, int G> static __device__ __forceinline__ void attend_split(float *shared, const Work &a) {
    const i64 work = blockIdx.z, group = a.heads / a.kvheads, turns = (group + G - 1) / G;
    const i64 kvhead = blockIdx.y / turns, first = blockIdx.y % turns * G;
    const int begin = blockIdx.x * split, end = min(a.lengths[work], begin + split);
    if (begin >= end) return;
    const int headdim = static_cast<int>(a.headdim), heads = static_cast<int>(min(group - first, static_cast<i64>(G)));
    int lanes = 1;
    while (lanes * 8 < headdim) lanes *= 2;
    const i64 head = kvhead * group + first;
    const Query query = {a.qkv + (work * (a.heads + 2 * a.kvheads) + head) * headdim, a.table + a.starts[work], static_cast<int>(a.kvheads), static_cast<int>(kvhead), headdim, heads, a.scale};
    Running<G> running;
    running.clear();
    scan<C, G>(running, static_cast<const C *>(a.kcache), static_cast<const C *>(a.vcache), query, begin, end, lanes);
    write<G>(a.partial, a.maxima, a.sums, running, shared, headdim, heads, (work * a.heads + head) * a.splits + blockIdx.x, a.splits);
}

#define ATTEND_SPLIT(name, C, G)                                                                                                              \
    extern "C" __global__ void __launch_bounds__(32 * warps)                                                                                  \
    name(float *partial, float *maxima, float *sums, const float *qkv, const C *kcache, const C *vcache, const int *table, const i64 *starts, \
         const int *lengths, i64 heads, i64 kvheads, i64 headdim, i64 splits, float scale) {                                                  \
        __shared__ float shared[warps * G * (widest + 2)];                                                                                    \
        attend_split<C, G>(shared, {partial, maxima, sums, qkv, kcache, vcache, table, starts, lengths, heads, kvheads, headdim, splits, scale}); \
    }

ATTEND_SPLIT(attend_split1_bf16, bf16, 1)
ATTEND_SPLIT(attend_split2_bf16, bf16, 2)
ATTEND_SPLIT(attend_split4_bf16, bf16, 4)
ATTEND_SPLIT(attend_split1_f32, float, 1)
ATTEND_SPLIT(attend_split2_f32, float, 2)
ATTEND_SPLIT(attend_split4_f32, float, 4)

// Block (h, w): the splits of a head of a work, a warp every fourth; then the warps in their order.
extern "C" __global__ void __launch_bounds__(32 * warps)
attend_join(float *out, const float *partial, const float *maxima, const float *sums, const int *lengths, i64 heads, i64 headdim, i64 splits) {
    __shared__ float values[warps * widest], weights[warps];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, used = (lengths[blockIdx.y] + split - 1) / split;
    const i64 head = blockIdx.y * heads + blockIdx.x, at = head * splits;
    float top = nothing;
    for (int s = lane; s < used; s += 32) top = fmaxf(top, maxima[at + s]);
    top = warp_max(top);
    float sum = 0.0f;
    float4 value = zeros();
    for (int s = warp; s < used; s += warps) {
        const float share = expf(maxima[at + s] - top);
        sum = fmaf(sums[at + s], share, sum);
        if (lane * 4 >= headdim) continue;
        const float4 v = four(partial + (at + s) * headdim + lane * 4);
        value.x = fmaf(v.x, share, value.x), value.y = fmaf(v.y, share, value.y);
        value.z = fmaf(v.z, share, value.z), value.w = fmaf(v.w, share, value.w);
    }
    if (lane == 0) weights[warp] = sum;
    four(values + warp * widest + lane * 4) = value;
    __syncthreads();
    if (threadIdx.x >= headdim) return;
    float all = 0.0f, result = 0.0f;
    for (int w = 0; w < warps; w++) all += weights[w], result += values[w * widest + threadIdx.x];
    out[head * headdim + threadIdx.x] = result / all;
}

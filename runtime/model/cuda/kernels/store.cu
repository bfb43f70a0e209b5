// What becomes of a token's queries, keys and values between their product and attention.
#include "device.cuh"

constexpr int pairs_held = 2; // of a head, by each lane: heads of up to 128 numbers

// sin and cos of angle, which is reduced to a quarter turn in float64. The polynomials are Cephes' sinf
// and cosf; within 2 units in the last place, and the same bits wherever they are computed.
static __device__ __forceinline__ void sine_cosine(float angle, float *sine, float *cosine) {
    const double wide = angle, quarters = rint(wide * 0.63661977236758134308);
    double rest = fma(quarters, -1.57079632679489655800, wide);
    rest = fma(quarters, -6.12323399573676603587e-17, rest);
    const float r = static_cast<float>(rest), z = r * r;
    const float s = fmaf(fmaf(fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f) * z, r, r);
    const float c = fmaf(fmaf(fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f), z, 4.166664568298827e-2f), z * z, fmaf(-0.5f, z, 1.0f));
    const int turn = static_cast<int>(static_cast<i64>(quarters) & 3);
    *sine = turn & 1 ? c : s;
    *cosine = turn & 1 ? s : c;
    if (turn & 2) *sine = -*sine;
    if (turn == 1 || turn == 2) *cosine = -*cosine;
}

struct Rotation {
    const float *weight, *frequencies;
    int headdim, position;
    bool interleaved;
    float eps;
};

// Normalizes a head, where it has a weight, and turns its pairs: a warp's work. Written to head, and to
// cache where there is one.
template <class C> static __device__ __forceinline__ void rotate(float *head, bool keep, C *cache, const Rotation &q) {
    const int lane = threadIdx.x & 31, half = q.headdim / 2;
    float a[pairs_held], b[pairs_held], sum = 0.0f;
#pragma unroll
    for (int n = 0; n < pairs_held; n++) {
        const int pair = lane + 32 * n;
        if (pair >= half) break;
        a[n] = head[q.interleaved ? 2 * pair : pair];
        b[n] = head[q.interleaved ? 2 * pair + 1 : pair + half];
        sum = fmaf(b[n], b[n], fmaf(a[n], a[n], sum));
    }
    if (q.weight) sum = warp_sum(sum);
    const float scale = 1.0f / sqrtf(sum / static_cast<float>(q.headdim) + q.eps);
#pragma unroll
    for (int n = 0; n < pairs_held; n++) {
        const int pair = lane + 32 * n;
        if (pair >= half) break;
        const int first = q.interleaved ? 2 * pair : pair, second = q.interleaved ? 2 * pair + 1 : pair + half;
        if (q.weight) {
            a[n] = a[n] * scale * q.weight[first];
            b[n] = b[n] * scale * q.weight[second];
        }
        float sine, cosine;
        sine_cosine(static_cast<float>(q.position) * q.frequencies[pair], &sine, &cosine);
        const float x = a[n] * cosine - b[n] * sine, y = b[n] * cosine + a[n] * sine;
        if (keep) head[first] = x, head[second] = y;
        if (cache) store(cache + first, x), store(cache + second, y);
    }
}

// A warp a head of a token: its queries, its keys, its values, which lie in this order.
template <class C>
static __device__ __forceinline__ void qkv_store(float *qkv, const float *qweight, const float *kweight, C *kcache, C *vcache, const int *slots, const int *positions,
                                                 const float *frequencies, int heads, int kvheads, int headdim, bool interleaved, float eps) {
    const int lane = threadIdx.x & 31, number = blockIdx.y * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (number >= heads + 2 * kvheads) return;
    const i64 token = blockIdx.x, slot = slots[token];
    float *head = qkv + (token * (heads + 2 * kvheads) + number) * headdim;
    if (number < heads) {
        rotate<C>(head, true, nullptr, {qweight, frequencies, headdim, positions[token], interleaved, eps});
    } else if (number < heads + kvheads) {
        C *cache = kcache + (slot * kvheads + number - heads) * headdim;
        rotate<C>(head, false, cache, {kweight, frequencies, headdim, positions[token], interleaved, eps});
    } else {
        C *cache = vcache + (slot * kvheads + number - heads - kvheads) * headdim;
        for (int i = lane; i < headdim; i += 32) store(cache + i, head[i]);
    }
}

#define QKV_STORE(name, C)                                                                                                                \
    extern "C" __global__ void name(float *qkv, const float *qweight, const float *kweight, C *kcache, C *vcache, const int *slots,        \
                                    const int *positions, const float *frequencies, i64 heads, i64 kvheads, i64 headdim, i64 interleaved, \
                                    float eps) {                                                                                          \
        qkv_store<C>(qkv, qweight, kweight, kcache, vcache, slots, positions, frequencies, static_cast<int>(heads),                       \
                     static_cast<int>(kvheads), static_cast<int>(headdim), interleaved != 0, eps);                                        \
    }

QKV_STORE(qkv_store_bf16, bf16)
QKV_STORE(qkv_store_f32, float)

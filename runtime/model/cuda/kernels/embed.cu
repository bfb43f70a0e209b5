// Rows of a table, by number.
#include "device.cuh"

template <class W> static __device__ __forceinline__ void copy_row(float *to, const W *from, i64 dim) {
    for (i64 i = 8 * static_cast<i64>(threadIdx.x); i < dim; i += 8 * blockDim.x) {
        Eight<W> eight;
        float v[8];
        eight.fetch(from + i, true);
        eight.unpack(v);
        four(to + i) = make_float4(v[0], v[1], v[2], v[3]);
        four(to + i + 4) = make_float4(v[4], v[5], v[6], v[7]);
    }
}

extern "C" __global__ void embed_bf16(float *out, const bf16 *table, const i64 *ids, i64 dim) {
    copy_row(out + blockIdx.x * dim, table + ids[blockIdx.x] * dim, dim);
}

extern "C" __global__ void embed_f32(float *out, const float *table, const i64 *ids, i64 dim) {
    copy_row(out + blockIdx.x * dim, table + ids[blockIdx.x] * dim, dim);
}

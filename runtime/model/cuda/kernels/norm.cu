// What is done to each number between the products.
#include "device.cuh"

constexpr int kept = 4; // float4 of a row that a thread holds in registers

// x += delta, where there is one; out = x / sqrt(mean of squares + eps) * weight. A block a token.
extern "C" __global__ void __launch_bounds__(1024)
add_norm(float *x, const float *delta, const float *weight, float *out, i64 dim, float eps) {
    __shared__ float part[32];
    const i64 row = blockIdx.x * dim, stride = 4 * static_cast<i64>(blockDim.x), first = 4 * static_cast<i64>(threadIdx.x);
    float4 v[kept];
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < kept; n++) {
        const i64 i = first + n * stride;
        if (i >= dim) break;
        v[n] = four(x + row + i);
        if (delta) {
            const float4 d = four(delta + row + i);
            v[n].x += d.x, v[n].y += d.y, v[n].z += d.z, v[n].w += d.w;
            four(x + row + i) = v[n];
        }
        sum = square_sum(v[n], sum);
    }
    sum = block_sum(sum, part);
    const float scale = 1.0f / sqrtf(sum / static_cast<float>(dim) + eps);
#pragma unroll
    for (int n = 0; n < kept; n++) {
        const i64 i = first + n * stride;
        if (i >= dim) break;
        four(out + row + i) = scaled(v[n], scale, four(weight + i));
    }
}

// out = gate / (1 + e^-gate) * up, of rows that have the gates first and the ups behind them.
extern "C" __global__ void silu_mul(float *out, const float *gateup, i64 tokens, i64 inner) {
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < tokens * inner; i += static_cast<i64>(gridDim.x) * blockDim.x) {
        const float *row = gateup + i / inner * 2 * inner + i % inner;
        const float gate = row[0];
        out[i] = gate / (1.0f + expf(-gate)) * row[inner];
    }
}

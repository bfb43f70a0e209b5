// Kernels that show what a driver does: two that are right, and one for each fault that the fake one has
// to catch. The tests of package driver run them.
#ifndef FAKECUDA_HOST
#define DYNAMIC_SHARED(type, name)                                \
    extern __shared__ __align__(16) unsigned char dynamic_bytes[]; \
    type *name = reinterpret_cast<type *>(dynamic_bytes)
#endif

// y[i] = a*x[i] + y[i], n of them.
extern "C" __global__ void axpy(float *__restrict__ y, const float *__restrict__ x, long long n, float a) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

// out[block] = the sum of the block's x, n in all; a block is at most 1024 threads, in whole warps.
extern "C" __global__ void block_sum(float *__restrict__ out, const float *__restrict__ x, long long n) {
    __shared__ float sums[32];
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0.0f;
        for (int w = 0; w < warps; w++) all += sums[w];
        out[blockIdx.x] = all;
    }
}

// The threads' numbers in the other order, through dynamic shared memory.
extern "C" __global__ void reversed(float *out) {
    DYNAMIC_SHARED(float, numbers);
    numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

// The same without its barrier.
extern "C" __global__ void reversed_without_barrier(float *out) {
    DYNAMIC_SHARED(float, numbers);
    numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
    out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void divergent_barrier(float *out) {
    if (threadIdx.x < 16) __syncthreads();
    out[threadIdx.x] = 1.0f;
    if (threadIdx.x >= 16) __syncthreads();
}

extern "C" __global__ void early_exit(float *out) {
    if (threadIdx.x >= 16) return;
    __syncthreads();
    out[threadIdx.x] = 1.0f;
}

extern "C" __global__ void divergent_shuffle(float *out) {
    float value = 1.0f;
    if (threadIdx.x < 16) value = __shfl_xor_sync(0xffffffffu, value, 1);
    __syncthreads();
    out[threadIdx.x] = value;
}

// Every thread writes the i-th float from its own on.
extern "C" __global__ void write_at(float *out, long long i) { out[i + threadIdx.x] = 1.0f; }

extern "C" __global__ void read_at(float *out, const float *x, long long i) { out[threadIdx.x] = x[i + threadIdx.x]; }

extern "C" __global__ void misaligned(float4 *out, const float *x) { *out = *reinterpret_cast<const float4 *>(x + 1); }

extern "C" __global__ void trapped(float *out) {
    out[threadIdx.x] = 1.0f;
    if (threadIdx.x == 3) __trap();
}

// What is chosen from logits. Numbers are compared as a float's order has them, -0 equal to 0, a NaN above
// all; of equals the lowest id is first.
#include "device.cuh"

constexpr int threads = 1024;
constexpr int copies = 32;  // of a count, so that the lanes of a warp never meet in one
constexpr int digits = 256; // of a key, eight bits at a time
constexpr int most = 1024;  // k

// Larger for a larger number, never 0.
static __device__ __forceinline__ unsigned key_of(float v) {
    if (v != v) return 0xffffffffu;
    const unsigned u = v == 0.0f ? 0u : __float_as_uint(v);
    return u >> 31 ? ~u : u | 0x80000000u;
}

// Larger for a larger number, then for a lower id; no two are equal.
static __device__ __forceinline__ u64 order_of(unsigned key, i64 id) { return static_cast<u64>(key) << 32 | (0xffffffffu - static_cast<unsigned>(id)); }
static __device__ __forceinline__ i64 id_of(u64 order) { return 0xffffffffu - static_cast<unsigned>(order); }

static __device__ __forceinline__ u64 warp_first(u64 v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart >>= 1) v = max(v, __shfl_xor_sync(all_lanes, v, apart));
    return v;
}

// The first of a row in that order, in every thread; part has 32 numbers, free when the block next meets.
static __device__ __forceinline__ u64 first_of(const float *row, i64 vocabulary, u64 *part) {
    u64 first = 0;
    for (i64 id = threadIdx.x; id < vocabulary; id += threads) first = max(first, order_of(key_of(row[id]), id));
    first = warp_first(first);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = first;
    __syncthreads();
    return warp_first(part[threadIdx.x & 31]);
}

// A block a row.
extern "C" __global__ void __launch_bounds__(threads) argmax(float *values, i64 *ids, const float *logits, i64 vocabulary, i64 stride) {
    __shared__ u64 part[32];
    const float *row = logits + blockIdx.x * stride;
    const i64 id = id_of(first_of(row, vocabulary, part));
    if (threadIdx.x == 0) ids[blockIdx.x] = id, values[blockIdx.x] = row[id];
}

// What is known of the k-th key: those whose bits from shift on are prefix are `equal`, of which `wanted`
// are among the k; all that are above are, too.
struct Search {
    u64 prefix;
    unsigned wanted, equal;
    int shift;
};

// Counts the row's next digits, of the keys that have the prefix.
static __device__ __forceinline__ void count_digits(unsigned *counts, const float *row, i64 vocabulary, const Search &s) {
    for (int i = threadIdx.x; i < digits * copies; i += threads) counts[i] = 0;
    __syncthreads();
    for (i64 id = threadIdx.x; id < vocabulary; id += threads) {
        const u64 key = key_of(row[id]);
        if (key >> s.shift == s.prefix) atomicAdd(counts + (key >> (s.shift - 8) & 255u) * copies + threadIdx.x % copies, 1u);
    }
    __syncthreads();
    unsigned sum = 0;
    if (threadIdx.x < digits) // the copies in an order in which no two lanes meet in a bank
        for (int i = 0; i < copies; i++) sum += counts[threadIdx.x * copies + (threadIdx.x + i) % copies];
    __syncthreads();
    if (threadIdx.x < digits) counts[threadIdx.x] = sum;
    __syncthreads();
}

// Adds the digit at which, from the largest down, those wanted are reached. One warp, eight digits a lane.
static __device__ __forceinline__ void choose_digit(Search *search, const unsigned *counts) {
    const int lane = threadIdx.x, largest = digits - 1 - 8 * lane;
    unsigned mine = 0;
    for (int i = 0; i < 8; i++) mine += counts[largest - i];
    unsigned upto = mine;
    for (int apart = 1; apart < 32; apart <<= 1) {
        const unsigned before = __shfl_up_sync(all_lanes, upto, apart);
        if (lane >= apart) upto += before;
    }
    unsigned wanted = search->wanted, above = upto - mine;
    __syncwarp();
    if (above >= wanted || upto < wanted) return;
    int digit = largest;
    for (; above + counts[digit] < wanted; digit--) above += counts[digit];
    *search = {search->prefix << 8 | static_cast<u64>(digit), wanted - above, counts[digit], search->shift - 8};
}

// Takes those above, and the equal ones where all of them are wanted, in any order.
static __device__ __forceinline__ void take_above(u64 *taken, unsigned *count, const float *row, i64 vocabulary, const Search &s) {
    for (i64 id = threadIdx.x; id < vocabulary; id += threads) {
        const unsigned key = key_of(row[id]);
        const u64 bits = static_cast<u64>(key) >> s.shift;
        if (bits > s.prefix || (bits == s.prefix && s.equal == s.wanted)) taken[atomicAdd(count, 1u)] = order_of(key, id);
    }
}

// Takes the wanted ones of more equals, by their ids.
static __device__ __forceinline__ void take_equals(u64 *taken, unsigned *part, const float *row, i64 vocabulary, const Search &s) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned before = 0;
    for (i64 base = 0; base < vocabulary && before < s.wanted; base += threads) {
        const i64 id = base + threadIdx.x;
        const unsigned key = id < vocabulary ? key_of(row[id]) : 0;
        const bool equal = static_cast<u64>(key) >> s.shift == s.prefix && id < vocabulary;
        const unsigned votes = __ballot_sync(all_lanes, equal);
        if (lane == 0) part[warp] = __popc(votes);
        __syncthreads();
        unsigned place = before + __popc(votes & ((1u << lane) - 1));
        for (int w = 0; w < threads / 32; w++) {
            if (w < warp) place += part[w];
            before += part[w];
        }
        if (equal && place < s.wanted) taken[place] = order_of(key, id);
        __syncthreads();
    }
}

// Sorts the first n, a power of two, the largest to the front.
static __device__ __forceinline__ void sort(u64 *taken, int n) {
    for (int run = 2; run <= n; run *= 2)
        for (int apart = run / 2; apart > 0; apart /= 2) {
            __syncthreads();
            const int i = threadIdx.x, other = i ^ apart;
            if (i >= n || other < i) continue;
            const u64 a = taken[i], b = taken[other];
            if ((a < b) == ((i & run) == 0)) taken[i] = b, taken[other] = a;
        }
    __syncthreads();
}

// log of the sum of e^(logit * inverse) of a row whose largest logit is top.
static __device__ __forceinline__ float log_sum(const float *row, i64 vocabulary, float top, float inverse, float *part) {
    float sum = 0.0f;
    for (i64 id = threadIdx.x; id < vocabulary; id += threads) sum += expf(row[id] * inverse - top * inverse);
    return top * inverse + logf(block_sum(sum, part));
}

// A block a row.
extern "C" __global__ void __launch_bounds__(threads)
top_k(float *values, i64 *ids, float *sums, const float *logits, i64 vocabulary, i64 stride, i64 k, float inverse) {
    __shared__ unsigned counts[digits * copies], count;
    __shared__ u64 taken[most], first[32];
    __shared__ float part[32];
    __shared__ Search search;
    const float *row = logits + blockIdx.x * stride;
    const float top = row[id_of(first_of(row, vocabulary, first))];
    const float all = log_sum(row, vocabulary, top, inverse, part);
    if (threadIdx.x == 0) sums[blockIdx.x] = all, search = {0, static_cast<unsigned>(k), 0, 32}, count = 0;
    taken[threadIdx.x] = 0;
    __syncthreads();
    for (int turn = 0; turn < 4 && search.equal != search.wanted; turn++) {
        count_digits(counts, row, vocabulary, search);
        if (threadIdx.x < 32) choose_digit(&search, counts);
        __syncthreads();
    }
    const Search found = search;
    take_above(taken, &count, row, vocabulary, found);
    __syncthreads();
    if (found.equal != found.wanted) take_equals(taken + count, counts, row, vocabulary, found);
    int n = 2;
    while (n < k) n *= 2;
    sort(taken, n);
    if (threadIdx.x < k) {
        const i64 id = id_of(taken[threadIdx.x]);
        ids[blockIdx.x * k + threadIdx.x] = id, values[blockIdx.x * k + threadIdx.x] = row[id];
    }
}

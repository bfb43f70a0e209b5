// Package kernels has a decoder's kernels for NVIDIA devices of compute capability 8.0 and
// later: their sources in CUDA C++, the PTX made of them, and with the build tag cuda a [Set]
// whose methods launch them. Without the tag it has only shapes and the arithmetic below.
//
// # Memory
//
// Activations are float32, [tokens, width], row by row; weights [rows, cols] as they lie in
// their files. The suffix of a kernel, bf16 or f32, is the type of the weights, or of the keys
// and values. A cache is [slots, kvheads, headdim]; a slot is one token's, and a table (int32)
// has the slots of a work's positions. Every width (dim, cols, headdim) is a multiple of 8 and
// every address one of 16, so that memory is read 16 bytes at a time; rows, tokens and the
// vocabulary are any numbers. Headdim is up to 128, add_norm's dim up to 16384.
//
// Sums are float32, made with explicit fmaf; a product and a sum that are not are rounded one
// by one (--fmad=false). bf16 is rounded to the nearest, ties to even.
//
// # Kernels
//
// The grids have x, y, z; T is min(tokens, 8) rounded up to a power of two.
//
//	kernel              grid                                 block     shared    one block's work
//	embed               tokens                               dim/8*    0         a row
//	add_norm            tokens                               dim/4*    128       a row; 16 numbers a thread
//	silu_mul            tokens·inner/256, at most 8 SMs      256       0
//	matvec              rows/8, at most 4 SMs; tokens/8      256       4096·T    8 rows, one a warp, at a time
//	matvec_wide         rows/32, at most 4 SMs; tokens/8     256       4096·T    32 rows, four a warp
//	matvec_gated        rows/8, at most 4 SMs; tokens/8      256       4096·T    8 gates and their ups, one of each a warp
//	gemm_bf16           rows/64; tokens/64                   128       40960     64 tokens by 64 rows, tensor cores
//	gemm_large_bf16     rows/128; tokens/64                  256       30720     64 by 128, tensor cores
//	gemm_f32            rows/64; tokens/64                   256       8704      64 by 64, 4 by 4 a thread
//	qkv_store           tokens; (heads+2·kvheads)/4          128       0         four heads, one a warp
//	attend_split1, 2, 4 splits; kvheads·group/N; works       128       2080·N    128 positions for N heads that share keys
//	attend_join         heads; works                         128       2064      a head
//	attend              tokens/32; heads                     128       37376     32 tokens' queries of a head
//	argmax              rows                                 1024      256       a row of logits
//	top_k               rows                                 1024      41372     a row of logits
//
// (* in whole warps, at most 256 and 1024.) wide is for bf16 matrices of 16384 rows and more,
// large where there are enough of its blocks to fill the device. group is heads/kvheads; N is
// group up to 2, otherwise 4.
//
// matvec normalizes its activations first where it gets weights for that, and adds to its
// output where it is asked to: with matvec_gated, a decoding layer has no kernels for norms,
// sums and SiLU. A warp holds two steps of 2 KB of weights, one being multiplied, one under way.
// The activations lie in shared memory in an order in which a warp's 16-byte reads touch all
// banks alike; so do the tiles of gemm (rows of 20 words, of the large one 12) and attend (rows of headdim+4).
//
// Tensor cores multiply bf16 with bf16, and an activation rounded to it is off by up to 2^-8. So
// gemm_bf16 has each in three parts, the nearest bf16, the one nearest to what that leaves and the
// one nearest to the rest, and multiplies all: three times the tensor cores' work, for logits of a
// prompt that are those of its tokens decoded one by one but for the order of sums. It can reach a
// third of the cores' peak.
//
// top_k finds the k-th key by radix, eight bits at a time from the top, as soon as all that
// have the bits are wanted; counts are held 32 times, one for each lane, because logits share
// few exponents. It reads the logits four to seven times.
//
// # Order of sums
//
// A token's result is the same bit for bit whatever other tokens are in the launch, in all
// kernels. What differs between kernels, and so between a token that is decoded and the same
// one in a prompt:
//
//	add_norm       squares: thread i takes numbers 4i to 4i+3, then those a block's width on;
//	               lanes in pairs 16, 8, 4, 2, 1 apart; then warps the same way
//	matvec         lane l takes columns 8l to 8l+7, then 256 on; lanes in pairs 16, 8, 4, 2, 1
//	               apart. matvec, wide and gated are alike, up to SiLU. Its norm's squares:
//	               thread i takes 4i to 4i+3, then 1024 on
//	gemm_f32       the columns one after the other
//	gemm_bf16      16 columns at a time, the smallest parts first, in the tensor cores' own
//	               order, which NVIDIA does not document; large is alike
//	qkv_store      squares: lane l takes pairs l and l+32; lanes in pairs 16, 8, 4, 2, 1 apart
//	attend_split   each group of headdim/8 lanes (a power of two) takes every n-th key of the
//	               128, four at a time, then the groups, then the warps
//	attend_join    warp w takes parts w, w+4, ...; then the warps
//	attend         a key after the other, 32 between two changes of the softmax's maximum
//
// The exponential is the platform's expf, so the host's and the device's differ in their last
// bits. Sine and cosine are this package's own: the angle is position·frequency in float32, as
// in package qwen3, reduced in float64.
//
// # NaN
//
// NaNs go through as arithmetic has them. argmax and top_k take a NaN for the largest of all, so
// it shows in the value.
//
// # What a step costs
//
// [Decoder.Step] counts, for a step of decoding, the bytes that must come from the device's
// memory and the launches: embed; in each layer matvec (norm, then q, k, v), qkv_store,
// attend_split, attend_join, matvec (o, added), matvec_gated (norm, then gate and up), matvec
// (down, added); matvec (norm, then the head), argmax. For Qwen3-0.6B in bf16 on an H200, 4.8
// TB/s, with the bar that a first run is held to, 60 % of that:
//
//	works  context  weights MB  cache MB  between MB  launches  bound µs  bar µs
//	1      1        1191.7     0.2       4.4      199       248    413
//	1      1000     1191.7     114.8     7.7      199       272    453
//	1      8000     1191.7     917.6     33.3     199       439    732
//	8      1000     1191.7     918.4     61.5     199       439    732
//	8      8000     1191.7     7340.9    266.6    199       1777   2962
//
// What kernels hand to each other ("between") stays in the L2 cache, a layer's at a time. Up to
// 8 works read the weights once. At context 1 the bar leaves 2 µs a launch: whoever launches
// must not be slower than that.
package kernels

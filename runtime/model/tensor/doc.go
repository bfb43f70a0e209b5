// Package tensor holds a model's numbers as they lie in its file: a name, a dtype, a
// shape and the bytes, which are a part of the file's mapping and not a copy.
//
// # Dtypes
//
// Sources: the safetensors format; for the blocks, the reference code of GGML and of
// Python's gguf. All numbers are little-endian.
//
//	F32   4 bytes, IEEE 754
//	F16   2 bytes, IEEE 754 half: 5 bits of exponent, 10 of fraction
//	BF16  2 bytes, the upper half of a float32
//	Q8_0  32 numbers in 34 bytes: d as F16, 32 int8 q;              d·q
//	Q4_0  32 numbers in 18 bytes: d as F16, 16 bytes of two q each;  d·(q−8)
//	Q4_1  32 numbers in 20 bytes: d and m as F16, 16 bytes as above; d·q + m
//
// The low halves of a block's 16 bytes are its numbers 0 to 15, the high ones 16 to
// 31. Blocks lie along a row: the last dimension is a multiple of 32 then.
//
// Every dtype becomes float32 exactly, but for Q4_1, whose sum is rounded once, as in
// the sources: d·q has at most 15 bits, so that it makes no difference whether a
// compiler joins the two operations.
//
// # Shapes
//
// Row by row, the last dimension beside each other; a matrix is [out, in]. GGUF's
// files name the dimensions the other way round: its reader turns them.
//
// # Mappings
//
// [Map] maps a file for reading, so that its pages are shared with whoever else reads
// it and come in as they are touched. Nobody may read a tensor after the mapping was
// closed. A file that is cut short while it is mapped ends the process with a SIGBUS.
// That is the price of not copying it; it is not caught.
package tensor

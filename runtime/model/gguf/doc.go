// Package gguf reads a GGUF file where it lies: the file is mapped, its tensors are
// parts of the mapping.
//
// # Format
//
// Source: GGML's description of GGUF and Python's gguf. All numbers are little-endian.
//
//	4 bytes   "GGUF"
//	u32       the version: 2 or 3, which are the same here; 1 had shorter numbers
//	u64 u64   how many tensors, how many keys
//	keys      each a string, a u32 type and a value
//	tensors   each a string, a u32 of dimensions, so many u64 beginning with the one
//	          that lies closest, a u32 type, a u64 offset
//	padding   to a multiple of the alignment: general.alignment, 32 without it
//	the rest  the tensors' bytes; offsets count from here, each aligned
//
//	string    a u64 length and its bytes
//	types     0 u8, 1 i8, 2 u16, 3 i16, 4 u32, 5 i32, 6 f32, 7 bool, 8 string,
//	          9 array: a u32 type, a u64 length, the values; 10 u64, 11 i64, 12 f64
//	          arrays of arrays are refused, as by llama.cpp
//
// Types of tensors: 0 F32, 1 F16, 2 Q4_0, 3 Q4_1, 8 Q8_0, 30 BF16; any other is
// refused by its name. Shapes are given with the last dimension closest, as
// everywhere in this project.
//
// # Checks
//
// All of the file is checked before anything of it is given, but for the tensors'
// numbers: names that stand twice, tensors that overlap or reach past the end. Errors
// name the file, the key or tensor and what was expected. A count is compared with
// the bytes that are left before anything is made for it, and a value stays where it
// lies until it is asked for.
//
// Files that were split into several are refused: nothing here joins them.
package gguf

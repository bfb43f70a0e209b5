// Package kernels has the inner loops of a decoder on a CPU: matrices times
// activations, attention, and what is done to each number between. Where the processor
// has AVX2, FMA and F16C they are assembly, elsewhere plain Go loops; which is decided
// once, when the program starts. GODEBUG=cpu.avx2=off chooses the plain loops.
//
// Nothing here starts a goroutine: whoever has several cores gives each of them rows of
// [Multiply] or heads of [Attention].
//
// # Matrices
//
// A [Matrix] is weights [Rows, Cols], row by row, little-endian, as they lie in a file; at
// any address. Q8 is GGML's Q8_0: 32 numbers in 34 bytes, the factor d as F16 and then 32
// int8 q, each number being d·q.
//
// # Activations
//
// Activations are float32, [Tokens, Cols]. An [Input] has them in the order in which a
// format's kernel wants them:
//
//	F32, F16  as they are
//	BF16      in every whole 16 columns first the even ones, then the odd ones: 32 bytes of
//	          bf16 become two vectors of float32 with one shift and one AND
//	Q8        int8 blocks of 32 with a factor each, as [Quantize] makes them, but that the
//	          factor stays float32 and halves are rounded to the even number
//
// # One order of sums
//
// Every product of a row with a token's activation is made in one order, whatever the
// number of tokens, the token's place among them, and the rows that are asked for with it.
// So logits are equal bit for bit however requests are batched. There are eight sums, S0
// to S7, each a chain of fused multiplications and additions from 0:
//
//	F32, F16  Sj takes the columns j, 8+j, 16+j, ...
//	BF16      Sj takes the columns 2j, 2j+1, 16+2j, 16+2j+1, ...
//	Q8        Sj takes for each block the token's d · (the row's d · the sum of the
//	          products of columns 4j to 4j+3, which is an integer)
//
// and the product is ((S0+S1)+(S2+S3)) + ((S4+S5)+(S6+S7)). Columns behind the last whole
// eight (F32, F16) or sixteen (BF16) are added to that one by one. The plain loops keep
// this order too, but round each product before it is added.
//
// # How it is laid out
//
// A tile is four rows and up to three tokens (two for Q8): twelve sums of eight lanes in
// sixteen registers, so that the arithmetic and not the loads is what bounds it. One token
// takes the same path, since four rows keep more additions under way than one row can with
// the order above. With few tokens memory is the bound: while four rows are multiplied the
// four behind them are fetched, line after line, in the order in which they lie. Tried and
// left: no fetching, and fetching the four rows side by side (both read out of order what
// is one stretch of memory, and reach less of what it gives); sums of their own for the odd
// numbers of BF16 (twice the registers); BF16 widened into a buffer first (no quicker).
//
// # Errors
//
// [NewMatrix] says what does not fit. The others are called once for every few rows and
// panic, with the values, where their arguments do not fit each other: that is a fault of
// the calling code. NaNs and infinities go through as arithmetic has them; for Q8, all of
// a block that has one counts as NaN.
package kernels

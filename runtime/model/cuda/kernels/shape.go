package kernels

// Format is the type of weights and of the cache.
type Format int

// The formats that kernels have.
const (
	BF16 Format = iota
	F32
)

func (f Format) String() string {
	if f == BF16 {
		return "bf16"
	}
	return "f32"
}

// Bytes of one number.
func (f Format) Bytes() int {
	if f == BF16 {
		return 2
	}
	return 4
}

// HeadShape is one of attention: Heads queries a token, KVHeads keys and values, of Dim numbers.
type HeadShape struct{ Heads, KVHeads, Dim int }

// What the kernels have room for.
const (
	HeadDimStep = 8     // every width is a multiple of it: memory is read 8 numbers at a time
	MostHeadDim = 128   // numbers of a head
	MostHidden  = 16384 // numbers of a row that AddNorm normalizes
	MostTopK    = 1024

	SplitPositions = 128 // of a context, that one block of AttendSplit attends to
	MatVecTokens   = 8   // that MatVec multiplies with W at once; more read it again
)

// The shapes that the sources have, too.
const (
	matvecWarps = 8
	matvecChunk = 1024  // columns of a token's activations in shared memory
	wideRows    = 16384 // of a matrix from which on a warp makes four rows
	gemmTile    = 64    // rows and tokens of a block; the large one has twice as many rows
)

// Splits is how many parts AttendSplit makes of so many positions.
func Splits(positions int) int { return blocks(positions, SplitPositions) }

// blocks of so many that n are in.
func blocks(n, each int) int { return (n + each - 1) / each }

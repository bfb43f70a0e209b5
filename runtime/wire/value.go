package wire

// Value is any MessagePack value: nil, bool, int64, uint64 (only beyond the
// range of int64), float64, [Float32], string, []byte, []Value, [Map] or [Ext].
type Value = any

// Float32 is a number that came as a MessagePack float32. It is a type of its
// own so that a Value encodes to the bytes it was decoded from.
type Float32 float32

// Pair is one entry of a Map.
type Pair struct{ Key, Value Value }

// Map is a map in wire order, so that encoding it again gives the same bytes.
// A nil Map is null.
type Map []Pair

// Get returns the value of the first entry with the given text key.
func (m Map) Get(key string) (Value, bool) {
	for _, p := range m {
		if k, ok := p.Key.(string); ok && k == key {
			return p.Value, true
		}
	}
	return nil, false
}

// Ext is a MessagePack extension: a tensor, an ndarray or an unknown type.
type Ext struct {
	Type int8
	Data []byte
}

// IntArray is an integer array of Python's array module (ext type 1). The zero
// Typecode stands for 'q'; b B h H i I l L q Q are supported.
type IntArray struct {
	Typecode byte
	Values   []int64
}

// Opt is a scalar that may be null; the zero Opt is null.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some is the Opt that holds v.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Somes wraps each of vs, for a whole column; nil stays nil.
func Somes[T any](vs []T) []Opt[T] {
	if vs == nil {
		return nil
	}
	out := make([]Opt[T], len(vs))
	for i, v := range vs {
		out[i] = Some(v)
	}
	return out
}

package wire

// Message is a batch of rows of any class.
type Message interface {
	Class() string
	Rows() int
}

// Field is one field of a class, for receipts. Opaque fields hold an *Opaque.
type Field struct {
	Name   string
	Opaque bool
}

// Opaque is an opaque metadata column. With Wrapper "PickleWrapper" or
// "MsgpackWrapper" Data holds the wrapped bytes; with Wrapper "" the column is
// the value Native itself, as the native transport sends it.
type Opaque struct {
	Wrapper string
	Data    []byte
	Native  Value
}

// Opener decodes a wrapped column, as Opaque.OpenRows does; Take calls it once a
// non-null wrapped column. It may return a value it keeps: Take never changes
// what it returned, but a *pickle.Column is not for two goroutines at once.
type Opener func(field string, o *Opaque) (Value, error)

// MatchKind says what a finish reason's "matched" holds.
type MatchKind uint8

// The kinds of match.
const (
	MatchNone  MatchKind = iota // absent or null
	MatchText                   // a stop string
	MatchToken                  // a stop token id
	MatchOther                  // anything else, such as a list of token ids
)

// Matched is what a finish reason says was matched. Text and Raw point into the
// frame.
type Matched struct {
	Kind  MatchKind
	Text  []byte // the stop string
	Token int64  // the stop token id
	Raw   []byte // the value as MessagePack, nil with MatchNone
}

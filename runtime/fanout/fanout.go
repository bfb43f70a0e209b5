package fanout

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Sender is one HTTP worker's PUSH. transport.Push is one.
type Sender interface {
	// Send queues or writes one message. It does not keep frame.
	Send(frame []byte) error
	// Flush returns nil when every message sent has been written.
	Flush() error
}

// Dial connects to the HTTP worker that http_worker_ipcs calls ipc.
type Dial func(ipc string) (Sender, error)

// Counters add up over all batches of a Strategy. Read them between batches.
type Counters struct {
	OpaqueDecodes int64 // calls that opened a wrapped column
	Messages      int64 // taken by a Sender
	Bytes         int64 // of these messages
	FailedRows    int64 // rows that were not sent
}

// Config is what a Strategy works with. Detokenizer and Dial are needed.
type Config struct {
	Detokenizer *detokenizer.Detokenizer
	Dial        Dial
	Counters    *Counters // nil: the Strategy counts for itself
	// Open opens a wrapped column; nil means (*wire.Opaque).OpenRows. Each call
	// counts as one of OpaqueDecodes.
	Open func(*wire.Opaque) (wire.Value, error)
}

// Strategy is one way to cut batches and send the parts.
type Strategy interface {
	// Batch sends the rows of one received frame: of a BatchTokenIDOutput, which
	// it detokenizes, or of a BatchEmbeddingOutput. What it returns has been
	// flushed or is in the error.
	Batch(frame []byte) error
}

// Prepared is a Strategy with Info.NeedsPrepared.
type Prepared interface {
	Strategy
	// Prepare takes input frames that Batch will be called for, in order, after
	// those of earlier calls.
	Prepare(frames [][]byte) error
}

// Info describes a Strategy.
type Info struct {
	Name          string
	Summary       string
	NeedsPrepared bool // it implements Prepared, and Batch works only on what was prepared
}

// registry holds every strategy: one line each.
var registry = []struct {
	info Info
	make func(*line) Strategy
}{
	{Info{Name: "per-row", Summary: "a message a row; every row decodes the opaque columns anew"}, newPerRow},
	{Info{Name: "reuse", Summary: "a message a row; the opaque columns are decoded for row 0 and once for all others"}, newReuse},
	{Info{Name: "grouped", Summary: "a message a consumer; the opaque columns are decoded for each consumer"}, newGrouped},
	{Info{Name: "splice", Summary: "a message a row cut from the batch's bytes; nothing is decoded"}, newSplice},
	{Info{Name: "grouped-splice", Summary: "a message a consumer cut from the batch's bytes; nothing is decoded"}, newGroupedSplice},
	{Info{Name: "floor", Summary: "sends frames made beforehand; what no worker can beat", NeedsPrepared: true}, newFloor},
}

// List describes the strategies in the order of the registry.
func List() []Info {
	list := make([]Info, len(registry))
	for i, r := range registry {
		list[i] = r.info
	}
	return list
}

// New makes the strategy of that name.
func New(name string, c Config) (Strategy, error) {
	switch {
	case c.Detokenizer == nil:
		return nil, errors.New("fanout: Config.Detokenizer is nil, expected one")
	case c.Dial == nil:
		return nil, errors.New("fanout: Config.Dial is nil, expected a function")
	}
	names := make([]string, len(registry))
	for i, r := range registry {
		if r.info.Name == name {
			return r.make(newLine(c)), nil
		}
		names[i] = r.info.Name
	}
	return nil, fmt.Errorf("fanout: no strategy %q, expected one of %s", name, strings.Join(names, ", "))
}

// line is what all strategies are made of.
type line struct {
	detok    *detokenizer.Detokenizer
	post     *post
	counters *Counters
	open     func(*wire.Opaque) (wire.Value, error)
}

func newLine(c Config) *line {
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	if c.Open == nil {
		c.Open = (*wire.Opaque).OpenRows
	}
	return &line{detok: c.Detokenizer, post: newPost(c.Dial, c.Counters), counters: c.Counters, open: c.Open}
}

// decodeAnew is the wire.Opener that opens a column at every call.
func (l *line) decodeAnew(_ string, o *wire.Opaque) (wire.Value, error) {
	l.counters.OpaqueDecodes++
	return l.open(o)
}

package fanout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

var errRefused = errors.New("refused by the test")

// memory is a Sender that keeps what it is given, and fails where it is told to.
type memory struct {
	ipc       string
	events    *[]string // of all memories of one run, in order
	frames    [][]byte
	queued    int
	failSend  func(nth int, frame []byte) bool
	failFlush func(nth int) bool
	sends     int
	flushes   int
}

func (m *memory) Send(frame []byte) error {
	m.sends++
	if m.failSend != nil && m.failSend(m.sends-1, frame) {
		return errRefused
	}
	*m.events = append(*m.events, "send "+m.ipc)
	m.frames = append(m.frames, slices.Clone(frame))
	m.queued++
	return nil
}

func (m *memory) Flush() error {
	m.flushes++
	if m.failFlush != nil && m.failFlush(m.flushes-1) {
		return errRefused
	}
	*m.events = append(*m.events, fmt.Sprintf("flush %s %d", m.ipc, m.queued))
	m.queued = 0
	return nil
}

// rig is a strategy with memories for consumers.
type rig struct {
	Strategy
	name     string
	counters Counters
	dialled  []string
	to       map[string]*memory
	events   []string
	// set before the first batch
	setup   func(*memory)
	failing map[string]error // dialling
}

// setting is what a rig's Config gets.
type setting struct {
	detok    *detokenizer.Detokenizer // nil: one of the fixture's vocabulary
	capacity int
	open     func(*wire.Opaque) (wire.Value, error)
}

func newRig(t testing.TB, name string, s setting) *rig {
	t.Helper()
	r := &rig{name: name, to: map[string]*memory{}, failing: map[string]error{}}
	if s.detok == nil {
		s.detok = detokenizer.New(fixtureDecoder(t), detokenizer.Options{Capacity: s.capacity})
	}
	var err error
	r.Strategy, err = New(name, Config{
		Detokenizer: s.detok,
		Counters:    &r.counters,
		Open:        s.open,
		Dial: func(ipc string) (Sender, error) {
			r.dialled = append(r.dialled, ipc)
			if err := r.failing[ipc]; err != nil {
				return nil, err
			}
			m := &memory{ipc: ipc, events: &r.events}
			if r.setup != nil {
				r.setup(m)
			}
			r.to[ipc] = m
			return m, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fixtureDecoder(t testing.TB) *tokenizer.WordLevel {
	t.Helper()
	d, err := tokenizer.NewWordLevel([]tokenizer.Token{
		{ID: 0, Bytes: []byte("[UNK]")}, {ID: 1, Bytes: []byte("a")},
		{ID: 2, Bytes: []byte("b")}, {ID: 3, Bytes: []byte("c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// play prepares the frames if the strategy wants that, and gives it each.
func (r *rig) play(t testing.TB, frames ...[]byte) error {
	t.Helper()
	if p, ok := r.Strategy.(Prepared); ok {
		if err := p.Prepare(frames); err != nil {
			return err
		}
	}
	var errs []error
	for _, f := range frames {
		before := slices.Clone(f)
		errs = append(errs, r.Batch(f))
		if !slices.Equal(f, before) {
			t.Fatalf("%s changed the received frame", r.name)
		}
	}
	return errors.Join(errs...)
}

// delivered unpacks what a consumer got: rows as values, in order, without
// http_worker_ipcs, which must be null on a row alone and name the consumer on
// a grouped message.
func (r *rig) delivered(t testing.TB, ipc string) []map[string]wire.Value {
	t.Helper()
	var out []map[string]wire.Value
	if r.to[ipc] == nil {
		return nil
	}
	for k, frame := range r.to[ipc].frames {
		m, err := wire.Decode(frame)
		if err != nil {
			t.Fatalf("%s: message %d to %s: %v", r.name, k, ipc, err)
		}
		ipcs, columns := open(t, m)
		r.checkIPCs(t, m.Rows(), ipcs, ipc)
		opened := map[string]wire.Value{}
		for name, o := range columns {
			if opened[name], err = openAny(o); err != nil {
				t.Fatalf("%s: message %d to %s: %s: %v", r.name, k, ipc, name, err)
			}
		}
		for i := range m.Rows() {
			row, err := wire.Row(m, i, opened)
			if err != nil {
				t.Fatalf("%s: message %d to %s, row %d: %v", r.name, k, ipc, i, err)
			}
			delete(row, "http_worker_ipcs")
			row["class"] = m.Class()
			out = append(out, row)
		}
	}
	return out
}

// open gives what the two classes that go to consumers have in common.
func open(t testing.TB, m wire.Message) (ipcs []wire.Opt[string], columns map[string]*wire.Opaque) {
	t.Helper()
	switch m := m.(type) {
	case *wire.BatchStrOutput:
		return m.HTTPWorkerIPCs, map[string]*wire.Opaque{"customized_info": m.CustomizedInfo, "time_stats": m.TimeStats}
	case *wire.BatchEmbeddingOutput:
		return m.HTTPWorkerIPCs, map[string]*wire.Opaque{"time_stats": m.TimeStats}
	}
	t.Fatalf("a consumer got a %s", m.Class())
	return nil, nil
}

func (r *rig) checkIPCs(t testing.TB, rows int, ipcs []wire.Opt[string], ipc string) {
	t.Helper()
	if !isGrouped(r.name) {
		if ipcs != nil || rows != 1 {
			t.Fatalf("%s: %d rows with http_worker_ipcs %v, want one with null", r.name, rows, ipcs)
		}
		return
	}
	for i := range rows {
		if i >= len(ipcs) || ipcs[i] != wire.Some(ipc) {
			t.Fatalf("%s: http_worker_ipcs %v of a message to %s", r.name, ipcs, ipc)
		}
	}
}

func isGrouped(name string) bool { return name == "grouped" || name == "grouped-splice" }

// each runs a test over the registry.
func each(t *testing.T, test func(t *testing.T, info Info)) {
	for _, info := range List() {
		t.Run(info.Name, func(t *testing.T) { test(t, info) })
	}
}

// sglangFrame reads a frame that SGLang's own processes sent.
func sglangFrame(t testing.TB, name string) []byte {
	t.Helper()
	frame, err := os.ReadFile(filepath.Join("..", "wire", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// sglangFrames reads a file of frames behind 4-byte lengths.
func sglangFrames(t testing.TB, name string) (frames [][]byte) {
	t.Helper()
	for b := sglangFrame(t, name); len(b) > 0; {
		n := int(binary.BigEndian.Uint32(b))
		frames = append(frames, b[4:4+n])
		b = b[4+n:]
	}
	return frames
}

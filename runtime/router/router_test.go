package router

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

func TestTarget(t *testing.T) {
	if crc("123456789") != 0xcbf43926 { // the check value of the algorithm
		t.Fatal("the twin is wrong")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		key := make([]byte, rng.IntN(40))
		for i := range key {
			key[i] = byte(rng.Uint32())
		}
		n := 1 + rng.IntN(64)
		if got, want := Target(key, n), int(crc(string(key))%uint32(n)); got != want {
			t.Errorf("%q of %d: target %d, want %d", key, n, got, want)
		}
	}
}

// Every strategy brings every row, whole and in order, to the target that its
// rule names, which is worked out here for one row at a time.
func TestStrategies(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		rule, n := rules[rng.IntN(2)], 1+rng.IntN(5)
		var frames [][]byte
		want := make([][]map[string]wire.Value, n)
		lost := 0
		for range 1 + rng.IntN(3) {
			var m wire.Message
			var rids []string
			var ipcs []wire.Opt[string]
			if rows := 1 + rng.IntN(20); rng.IntN(3) > 0 {
				tokens := random(t, rng, rows)
				m, rids, ipcs = tokens, tokens.RIDs, tokens.HTTPWorkerIPCs
			} else {
				vectors := embeddings(t, rng, rows)
				m, rids, ipcs = vectors, vectors.RIDs, vectors.HTTPWorkerIPCs
			}
			frames = append(frames, encode(t, m))
			for i := range m.Rows() {
				key := rids[i]
				if rule == ByIPC {
					if key = ipcs[i].V; !ipcs[i].OK {
						lost++
						continue
					}
				}
				to := crc(key) % uint32(n)
				want[to] = append(want[to], row(t, m, i))
			}
		}
		groups := map[string][][]byte{}
		for _, info := range List() {
			where := fmt.Sprintf("seed %d, %s by %s to %d", seed, info.Name, rule, n)
			list, senders := targets(n)
			var c Counters
			s, err := New(info.Name, Config{Rule: rule, Targets: senders, Counters: &c})
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range frames {
				kept := bytes.Clone(frame)
				noKeyOnly(t, where, s.Batch(frame))
				if !bytes.Equal(frame, kept) {
					t.Fatalf("%s: the received frame was changed", where)
				}
			}
			for k, to := range list {
				sameRows(t, fmt.Sprintf("%s, target %d", where, k), to.rows(t), want[k])
				groups[info.Name] = append(groups[info.Name], to.frames...)
			}
			if c.FailedRows != int64(lost) {
				t.Errorf("%s: %d rows failed, want %d", where, c.FailedRows, lost)
			}
		}
		if g, s := bytes.Join(groups["grouped"], nil), bytes.Join(groups["grouped-splice"], nil); !bytes.Equal(g, s) {
			t.Errorf("seed %d: the messages of grouped and grouped-splice differ", seed)
		}
	}
}

// noKeyOnly wants no error but that of rows without an ipc.
func noKeyOnly(t *testing.T, where string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var r *RowError
		if !errors.As(e, &r) || r.Err != errNoIPC || r.Rows != 1 || r.RID == "" {
			t.Fatalf("%s: %v", where, e)
		}
	}
}

// What each strategy does with a batch of 32 rows with both metadata fields for
// four detokenizers.
func TestCounters(t *testing.T) {
	want := map[string][2]int64{"per-row": {64, 32}, "grouped": {8, 4}, "grouped-splice": {0, 4}}
	m := random(t, rand.New(rand.NewPCG(1, 1)), 32)
	rows := make([]wire.Value, 32)
	m.CustomizedInfo, m.TimeStats = wrapped(t, wire.Map{{Key: "k", Value: rows}}), wrapped(t, rows)
	for _, info := range List() {
		list, senders := targets(4)
		var c Counters
		s, err := New(info.Name, Config{Rule: ByRID, Targets: senders, Counters: &c})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Batch(encode(t, m)); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, to := range list {
			size += len(bytes.Join(to.frames, nil))
		}
		if got := [2]int64{c.OpaqueDecodes, c.Messages}; got != want[info.Name] || c.Bytes != int64(size) {
			t.Errorf("%s: decodes and messages %d, want %d; %d bytes, want %d", info.Name, got, want[info.Name], c.Bytes, size)
		}
	}
}

// An idle batch goes to every detokenizer as it is.
func TestIdle(t *testing.T) {
	frame := encode(t, &wire.BatchTokenIDOutput{RIDs: []string{}})
	for _, info := range List() {
		list, senders := targets(3)
		list[1].refuses = true
		s, err := New(info.Name, Config{Rule: ByIPC, Targets: senders})
		if err != nil {
			t.Fatal(err)
		}
		var failed *SendError
		if err := s.Batch(frame); !errors.As(err, &failed) || failed.Target != 1 {
			t.Errorf("%s: %v, want the failure of detokenizer 1", info.Name, err)
		}
		for i, to := range list {
			if i != 1 && (len(to.frames) != 1 || !bytes.Equal(to.frames[0], frame)) {
				t.Errorf("%s: detokenizer %d got %q, want the batch", info.Name, i, to.frames)
			}
		}
	}
}

// A detokenizer that fails loses its rows, named and counted, and nobody else's;
// in the next batch it is tried again.
func TestSendErrors(t *testing.T) {
	m := random(t, rand.New(rand.NewPCG(4, 4)), 30)
	for _, info := range List() {
		for _, op := range []string{"send", "flush"} {
			list, senders := targets(3)
			list[1].refuses, list[1].chokes = op == "send", op == "flush"
			var c Counters
			s, err := New(info.Name, Config{Rule: ByRID, Targets: senders, Counters: &c})
			if err != nil {
				t.Fatal(err)
			}
			first, rows := -1, 0
			for i, rid := range m.RIDs {
				if crc(rid)%3 == 1 {
					rows++
					if first < 0 {
						first = i
					}
				}
			}
			err = s.Batch(encode(t, m))
			var e *SendError
			if !errors.As(err, &e) || !errors.Is(err, errGone) || e.Target != 1 || e.Op != op || e.Row != first || e.RID != m.RIDs[first] || e.Rows != rows {
				t.Fatalf("%s: %v, want %d rows from %d (%s) lost in %s", info.Name, err, rows, first, m.RIDs[first], op)
			}
			if got := len(list[0].rows(t)) + len(list[2].rows(t)); got != m.Rows()-rows || c.FailedRows != int64(rows) {
				t.Errorf("%s: %d rows to the others, want %d; %d failed", info.Name, got, m.Rows()-rows, c.FailedRows)
			}
			list[1].refuses, list[1].chokes, list[1].frames = false, false, nil
			if err := s.Batch(encode(t, m)); err != nil || len(list[1].rows(t)) != rows {
				t.Errorf("%s: the next batch gives %v", info.Name, err)
			}
		}
	}
}

// Frames that cannot be split as a whole.
func TestBadFrames(t *testing.T) {
	m := random(t, rand.New(rand.NewPCG(5, 5)), 6)
	m.TimeStats = &wire.Opaque{Wrapper: "PickleWrapper", Data: []byte(".")}
	for want, frame := range map[string][]byte{
		"PickleWrapper":  encode(t, m),
		"BatchStrOutput": encode(t, &wire.BatchStrOutput{}),
		"wire":           []byte("no message"),
	} {
		for _, info := range List() {
			list, senders := targets(2)
			s, err := New(info.Name, Config{Rule: ByRID, Targets: senders})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Batch(frame); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", info.Name, err, want)
			}
			if n := len(list[0].frames) + len(list[1].frames); n != 0 {
				t.Errorf("%s: %d messages of a bad frame", info.Name, n)
			}
		}
	}
}

func TestNewErrors(t *testing.T) {
	_, two := targets(2)
	for want, try := range map[string]func() (Strategy, error){
		`no rule "luck", expected one of rid, ipc`: func() (Strategy, error) { return New("grouped", Config{Rule: "luck", Targets: two}) },
		"Targets is empty":                         func() (Strategy, error) { return New("grouped", Config{Rule: ByRID}) },
		`no strategy "all"`:                        func() (Strategy, error) { return New("all", Config{Rule: ByRID, Targets: two}) },
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// quietSender keeps nothing.
type quietSender struct{}

func (quietSender) Send([]byte) error { return nil }
func (quietSender) Flush() error      { return nil }

func TestSpliceAllocations(t *testing.T) {
	m := random(t, rand.New(rand.NewPCG(6, 6)), 310)
	m.HTTPWorkerIPCs = wire.Somes(m.RIDs)
	frame := encode(t, m)
	for _, rule := range rules {
		s, err := New("grouped-splice", Config{Rule: rule, Targets: []Sender{quietSender{}, quietSender{}, quietSender{}}})
		if err != nil {
			t.Fatal(err)
		}
		batch := func() {
			if err := s.Batch(frame); err != nil {
				t.Fatal(err)
			}
		}
		batch()
		if n := testing.AllocsPerRun(20, batch); n > 0 {
			t.Errorf("by %s: %v allocations a batch, want none", rule, n)
		}
	}
}

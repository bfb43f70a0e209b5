package fanout

import (
	"fmt"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// TestDecodes counts how often columns are opened, of 32 rows for four
// consumers with both opaque columns.
func TestDecodes(t *testing.T) {
	want := map[string]int64{"per-row": 64, "reuse": 4, "grouped": 8, "splice": 0, "grouped-splice": 0, "floor": 0}
	one := map[string]int64{"per-row": 2, "reuse": 2, "grouped": 2, "splice": 0, "grouped-splice": 0, "floor": 0}
	each(t, func(t *testing.T, info Info) {
		for _, c := range []struct {
			name  string
			batch *wire.BatchTokenIDOutput
			want  int64
		}{
			{"rich 32", rich(t, 0, 32), want[info.Name]},
			{"rich 1", rich(t, 0, 1), one[info.Name]},
			{"pickled 32", decoded(t, pickled(t, 0)), want[info.Name]},
			{"native 32", native(0, 32), 0},
			{"plain 32", published(0, 32), 0},
		} {
			calls := int64(0)
			r := newRig(t, info.Name, setting{open: func(o *wire.Opaque) (wire.Value, error) {
				calls++
				return o.OpenRows()
			}})
			if err := r.play(t, encode(t, c.batch)); err != nil {
				t.Fatal(err)
			}
			if r.counters.OpaqueDecodes != c.want || calls != c.want {
				t.Errorf("%s: counted %d decodes, Open was called %d times, want %d", c.name, r.counters.OpaqueDecodes, calls, c.want)
			}
		}
	})
}

// TestCounters: messages and bytes are those that the senders took.
func TestCounters(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		if err := r.play(t, encode(t, rich(t, 0, 32)), encode(t, rich(t, 1, 32)), encode(t, rich(t, 2, 32))); err != nil {
			t.Fatal(err)
		}
		messages, size := int64(0), int64(0)
		for _, m := range r.to {
			messages += int64(len(m.frames))
			for _, f := range m.frames {
				size += int64(len(f))
			}
		}
		want := int64(96)
		if isGrouped(info.Name) {
			want = 12
		}
		if messages != want || r.counters.Messages != want || r.counters.Bytes != size || r.counters.FailedRows != 0 {
			t.Errorf("sent %d messages of %d bytes, want %d messages; counted %+v", messages, size, want, r.counters)
		}
	})
}

// nothing is a Sender that takes everything.
type nothing struct{}

func (nothing) Send([]byte) error { return nil }
func (nothing) Flush() error      { return nil }

// player gives a strategy the published stream again and again.
type player struct {
	rig    *rig
	frames [3][]byte
	step   int
	ready  int // batches prepared
}

func newPlayer(t testing.TB, name string, rows int) *player {
	t.Helper()
	p := newPlayerOf(t, name)
	for step := range p.frames {
		p.frames[step] = encode(t, rich(t, step, rows))
	}
	return p
}

// newPlayerOf is a player without frames.
func newPlayerOf(t testing.TB, name string) *player {
	t.Helper()
	p := &player{rig: newRig(t, name, setting{})}
	p.rig.Strategy.(interface{ setDial(Dial) }).setDial(func(string) (Sender, error) { return nothing{}, nil })
	return p
}

func (l *line) setDial(d Dial) { l.post.dial = d }

func (p *player) prepare(t testing.TB, streams int) {
	prepared, ok := p.rig.Strategy.(Prepared)
	for ; ok && p.ready < 3*streams; p.ready += 3 {
		if err := prepared.Prepare(p.frames[:]); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *player) batch(t testing.TB) {
	if err := p.rig.Batch(p.frames[p.step%3]); err != nil {
		t.Fatal(err)
	}
	p.step++
	p.ready--
}

// TestNoAllocationARow: what splicing allocates does not grow with the rows.
func TestNoAllocationARow(t *testing.T) {
	for _, name := range []string{"splice", "grouped-splice", "floor"} {
		t.Run(name, func(t *testing.T) {
			perBatch := func(rows int) float64 {
				p := newPlayer(t, name, rows)
				p.prepare(t, 20)
				for range 9 {
					p.batch(t)
				}
				return testing.AllocsPerRun(30, func() { p.batch(t) })
			}
			// The rids of a batch are one string, made by the View.
			if few, many := perBatch(4), perBatch(310); few > 1 || many > 1 {
				t.Errorf("%v allocations a batch of 4 rows, %v of 310, want at most 1", few, many)
			}
		})
	}
}

// BenchmarkBatch is one batch of 310 rows with both opaque columns; what is sent
// is discarded.
func BenchmarkBatch(b *testing.B) {
	const rows = 310
	for _, info := range List() {
		b.Run(info.Name, func(b *testing.B) { newPlayer(b, info.Name, rows).benchmark(b, info, rows) })
	}
}

// BenchmarkPickled is the same with the pickled columns of SGLang's own frames.
// The ratio says how many of its batches take the time of one of per-row, of the
// same run.
func BenchmarkPickled(b *testing.B) {
	const rows = 310
	perRow := 0.0
	for _, info := range List() {
		b.Run(info.Name, func(b *testing.B) {
			p := newPlayerOf(b, info.Name)
			for step := range p.frames {
				p.frames[step] = sglangFrame(b, fmt.Sprintf("in-rich-310-step%d.bin", step))
			}
			p.benchmark(b, info, rows)
			mean := b.Elapsed().Seconds() / float64(b.N)
			if info.Name == "per-row" {
				perRow = mean
			}
			if perRow > 0 {
				b.ReportMetric(perRow/mean, "per-row/this")
			}
		})
	}
}

func (p *player) benchmark(b *testing.B, info Info, rows int) {
	const chunk = 20
	p.prepare(b, chunk)
	b.ReportAllocs()
	for b.Loop() {
		if info.NeedsPrepared && p.ready == 0 {
			b.StopTimer()
			p.prepare(b, chunk)
			b.StartTimer()
		}
		p.batch(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
	p.prepare(b, chunk)
	b.ReportMetric(testing.AllocsPerRun(6, func() { p.batch(b) })/float64(rows), "allocs/row")
}

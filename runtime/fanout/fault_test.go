package fanout

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// rids are those of delivered rows, in order.
func (r *rig) rids(t *testing.T, ipc string) (out []string) {
	t.Helper()
	for _, row := range r.delivered(t, ipc) {
		out = append(out, row["rids"].(string))
	}
	return out
}

// ridsOf are the rids of a published batch for one of four consumers.
func ridsOf(c, n int) (out []string) {
	for i := c; i < n; i += 4 {
		out = append(out, fmt.Sprint("rid-", i))
	}
	return out
}

// wantSendError checks the only error in err, which must be a SendError.
func wantSendError(t *testing.T, err error, want SendError) {
	t.Helper()
	var got *SendError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want a SendError", err)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 1 {
		t.Errorf("got %v, want one error joined", err)
	}
	if !errors.Is(err, errRefused) {
		t.Errorf("%v does not wrap its cause", err)
	}
	got.Err = nil
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	for _, part := range []string{want.Consumer, want.RID, fmt.Sprint("row ", want.Row), want.Op} {
		if !strings.Contains(got.Error(), part) {
			t.Errorf("%q does not name %q", got.Error(), part)
		}
	}
}

// TestSendFails: the third send to consumer 1 of a batch of 20 fails. Rows before
// stay sent, later ones to that consumer fail, others get all of theirs, and the
// next batch goes to everyone.
func TestSendFails(t *testing.T) {
	const n = 20
	each(t, func(t *testing.T, info Info) {
		third := 2
		if isGrouped(info.Name) {
			third = 0 // there is one message
		}
		r := newRig(t, info.Name, setting{})
		r.setup = func(m *memory) {
			if m.ipc == worker(1) {
				m.failSend = func(nth int, _ []byte) bool { return nth == third }
			}
		}
		err := r.play(t, encode(t, rich(t, 0, n)))
		first, sent := 9, 2
		if isGrouped(info.Name) {
			first, sent = 1, 0
		}
		wantSendError(t, unjoin(t, err), SendError{Consumer: worker(1), Op: "send", Row: first, RID: fmt.Sprint("rid-", first), Rows: 5 - sent})
		if r.counters.FailedRows != int64(5-sent) {
			t.Errorf("counted %d failed rows, want %d", r.counters.FailedRows, 5-sent)
		}
		if got, want := r.rids(t, worker(1)), ridsOf(1, n)[:sent]; len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("consumer 1 got %q, want %q", got, want)
		}
		if r.to[worker(1)].queued != 0 {
			t.Errorf("%d messages before the failed one were not flushed", r.to[worker(1)].queued)
		}
		for _, c := range []int{0, 2, 3} {
			if got := r.rids(t, worker(c)); !reflect.DeepEqual(got, ridsOf(c, n)) {
				t.Errorf("consumer %d got %q, want all", c, got)
			}
		}
		if err := r.play(t, encode(t, rich(t, 1, n))); err != nil {
			t.Errorf("the next batch: %v", err)
		}
		if got := len(r.rids(t, worker(1))); got != sent+5 {
			t.Errorf("consumer 1 has %d rows after the next batch, want %d", got, sent+5)
		}
	})
}

// unjoin takes the one batch's error out of what play returns.
func unjoin(t *testing.T, err error) error {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 1 {
		t.Fatalf("got %v, want the error of one batch", err)
	}
	return joined.Unwrap()[0]
}

// TestFlushFails: what was queued counts as failed, from its first row on.
func TestFlushFails(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		r.setup = func(m *memory) {
			if m.ipc == worker(2) {
				m.failFlush = func(int) bool { return true }
			}
		}
		err := r.play(t, encode(t, rich(t, 0, 20)))
		wantSendError(t, unjoin(t, err), SendError{Consumer: worker(2), Op: "flush", Row: 2, RID: "rid-2", Rows: 5})
		if r.counters.FailedRows != 5 {
			t.Errorf("counted %d failed rows, want 5", r.counters.FailedRows)
		}
	})
}

// TestSendAndFlushFail: a poisoned connection loses what it had queued as well.
func TestSendAndFlushFail(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		if info.Name != "splice" && info.Name != "floor" {
			return // the others never queue two messages
		}
		r := newRig(t, info.Name, setting{})
		r.setup = func(m *memory) {
			if m.ipc == worker(2) {
				m.failSend = func(nth int, _ []byte) bool { return nth == 3 }
				m.failFlush = func(int) bool { return true }
			}
		}
		err := r.play(t, encode(t, rich(t, 0, 20)))
		wantSendError(t, unjoin(t, err), SendError{Consumer: worker(2), Op: "send and flush", Row: 2, RID: "rid-2", Rows: 5})
		if r.counters.FailedRows != 5 {
			t.Errorf("counted %d failed rows, want 5", r.counters.FailedRows)
		}
	})
}

// TestDialFails: as a send that fails; the next batch dials again.
func TestDialFails(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		r.failing[worker(3)] = errRefused
		err := r.play(t, encode(t, rich(t, 0, 20)))
		wantSendError(t, unjoin(t, err), SendError{Consumer: worker(3), Op: "dial", Row: 3, RID: "rid-3", Rows: 5})
		for c := range 3 {
			if got := r.rids(t, worker(c)); !reflect.DeepEqual(got, ridsOf(c, 20)) {
				t.Errorf("consumer %d got %q, want all", c, got)
			}
		}
		delete(r.failing, worker(3))
		if err := r.play(t, encode(t, rich(t, 1, 20))); err != nil {
			t.Errorf("the next batch: %v", err)
		}
		if got := len(r.rids(t, worker(3))); got != 5 || len(r.dialled) != 5 {
			t.Errorf("consumer 3 has %d rows, %q dialled, want 5 and one more dial", got, r.dialled)
		}
	})
}

// TestTwoConsumersFail: one error each, in the order of first appearance, behind
// the rows that failed by themselves.
func TestTwoConsumersFail(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		r.failing[worker(2)], r.failing[worker(0)] = errRefused, errRefused
		m := rich(t, 0, 12)
		m.HTTPWorkerIPCs[5] = wire.Opt[string]{}
		err := unjoin(t, r.play(t, encode(t, m)))
		errs := err.(interface{ Unwrap() []error }).Unwrap()
		if len(errs) != 3 {
			t.Fatalf("got %d errors, want 3: %v", len(errs), err)
		}
		var row *RowError
		if !errors.As(errs[0], &row) || row.Row != 5 || row.RID != "rid-5" || row.Rows != 1 || !errors.Is(row, ErrNoConsumer) {
			t.Errorf("got %v, want row 5 without a consumer", errs[0])
		}
		for k, c := range []int{0, 2} {
			var e *SendError
			if !errors.As(errs[k+1], &e) || e.Consumer != worker(c) || e.Rows != 3 {
				t.Errorf("error %d: got %v, want consumer %d and 3 rows", k+1, errs[k+1], c)
			}
		}
		if r.counters.FailedRows != 7 {
			t.Errorf("counted %d failed rows, want 7", r.counters.FailedRows)
		}
		if got := r.rids(t, worker(1)); !reflect.DeepEqual(got, []string{"rid-1", "rid-9"}) {
			t.Errorf("consumer 1 got %q", got)
		}
	})
}

// TestRowWithoutConsumerStillDecodes: its request's state goes on and ends.
func TestRowWithoutConsumerStillDecodes(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		lost := published(1, 4)
		lost.HTTPWorkerIPCs = nil
		if err := r.play(t, encode(t, published(0, 4)), encode(t, lost), encode(t, published(2, 4))); err == nil {
			t.Error("no error for four rows without a consumer")
		}
		rows := r.delivered(t, worker(1))
		if len(rows) != 2 || rows[0]["output_strs"] != "a" || rows[1]["output_strs"] != " c" {
			t.Errorf("got %v, want the texts of the first and the last step", rows)
		}
	})
}

// TestEvictedRowAborts: the row of an evicted state becomes an abort.
func TestEvictedRowAborts(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{capacity: 3})
		if err := r.play(t, encode(t, rich(t, 0, 4)), encode(t, rich(t, 2, 4))); err != nil {
			t.Fatal(err)
		}
		row := r.delivered(t, worker(0))[1]
		reason := row["finished_reasons"].(wire.Map)
		message, _ := reason.Get("message")
		want := wire.Map{{Key: "type", Value: "abort"}, {Key: "message", Value: message}, {Key: "status_code", Value: int64(500)}, {Key: "err_type", Value: "InternalServerError"}}
		if text, _ := message.(string); !reflect.DeepEqual(reason, want) || !strings.Contains(text, `"rid-0"`) || !strings.Contains(text, "evicted") {
			t.Errorf("finish reason %v, want %v with rid and reason in the message", reason, want)
		}
		if row["output_strs"] != "" {
			t.Errorf("text %q, want none", row["output_strs"])
		}
		for c := 1; c < 4; c++ {
			rows := r.delivered(t, worker(c))
			if kind, _ := rows[1]["finished_reasons"].(wire.Map).Get("type"); kind != "length" || rows[1]["output_strs"] != " c" {
				t.Errorf("consumer %d: got %v %v, want its row unharmed", c, kind, rows[1]["output_strs"])
			}
		}
		if r.counters.FailedRows != 0 {
			t.Errorf("counted %d failed rows, want 0", r.counters.FailedRows)
		}
	})
}

// TestRefusedRowAborts: a row that cannot be detokenized goes on as an abort that
// says so, its neighbours as they are. Without a consumer it is lost.
func TestRefusedRowAborts(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		m := rich(t, 0, 8)
		m.DecodeIDs[1] = wire.Opt[wire.IntArray]{}
		m.ReadOffsets[2] = wire.Some(int64(1000))
		m.ReadOffsets[4], m.HTTPWorkerIPCs[4] = wire.Opt[int64]{}, wire.Opt[string]{}
		errs := unjoin(t, r.play(t, encode(t, m))).(interface{ Unwrap() []error }).Unwrap()
		if len(errs) != 3 {
			t.Fatalf("got %d errors, want 3: %v", len(errs), errs)
		}
		for k, i := range []int{1, 2, 4} {
			var row *RowError
			lost := i == 4
			if !errors.As(errs[k], &row) || row.Row != i || row.RID != fmt.Sprint("rid-", i) || row.Aborted == lost || (row.Rows == 1) != lost || errors.Is(row, ErrNoConsumer) != lost {
				t.Errorf("error %d: got %+v, want row %d, lost %t", k, errs[k], i, lost)
			}
		}
		if r.counters.FailedRows != 1 {
			t.Errorf("counted %d failed rows, want 1", r.counters.FailedRows)
		}
		for c, want := range []int{1, 2, 2, 2} {
			rows := r.delivered(t, worker(c))
			if len(rows) != want {
				t.Fatalf("consumer %d got %d rows, want %d", c, len(rows), want)
			}
			first := rows[0]
			reason, _ := first["finished_reasons"].(wire.Map)
			status, _ := reason.Get("status_code")
			message, _ := reason.Get("message")
			text, _ := message.(string)
			aborted := status == int64(500) && first["output_strs"] == "" && strings.Contains(text, fmt.Sprintf("%q: a row of it cannot be detokenized", first["rids"]))
			if aborted != (c == 1 || c == 2) {
				t.Errorf("consumer %d: got %v %q", c, reason, first["output_strs"])
			}
		}
	})
}

// TestColumnThatCannotBeCut: rows that were decoded but cannot be cut fail with
// the first of them, counted.
func TestColumnThatCannotBeCut(t *testing.T) {
	refuse := func(*wire.Opaque) (wire.Value, error) { return nil, errRefused }
	for name, first := range map[string]int{"per-row": 1, "reuse": 1, "grouped": 1} {
		r := newRig(t, name, setting{open: refuse})
		m := rich(t, 0, 8)
		m.HTTPWorkerIPCs[0] = wire.Opt[string]{}
		err := unjoin(t, r.play(t, encode(t, m)))
		errs := err.(interface{ Unwrap() []error }).Unwrap()
		var row *RowError
		if len(errs) != 2 || !errors.As(errs[1], &row) || row.Row != first || row.Rows != 7 || !errors.Is(row, errRefused) {
			t.Errorf("%s: got %v, want row %d and 7 rows", name, err, first)
		}
		if r.counters.FailedRows != 8 || r.counters.Messages != 0 {
			t.Errorf("%s: counted %+v, want 8 failed rows and no message", name, r.counters)
		}
	}
}

package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

func TestCloseAbortsWhatHasNotFinished(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("a", "x"), item("b", "x"), item("c", "x"))
	k.rows(row{rid: "b", number: int64(0), finish: stopped()})
	c.Close()
	if got := k.router.aborts(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got the aborts %q", got)
	}
	for _, m := range k.router.sent()[3:] {
		if a := m.(*request.AbortReq); a.HTTPWorkerIPC != ipc || a.AbortAll || a.AbortMessage != "the client left" {
			t.Errorf("got %+v", a)
		}
	}
	c.Close()
	if got := k.router.aborts(); len(got) != 2 {
		t.Errorf("a second Close sent %q", got)
	}
	if u, err := tryNext(c); !errors.Is(err, errClosed) {
		t.Errorf("got %+v, %v", u, err)
	}
	k.counts("num_aborted_requests_total=2")
}

func TestLateRowsAreDroppedAndTheLastOneForgets(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("a", "x"))
	c.Close()
	k.rows(at0("a", "late"))
	if k.InFlight() != 1 {
		t.Error("the state went before the scheduler's last word")
	}
	k.rows(row{rid: "a", number: int64(1), finish: reason("abort")})
	if k.InFlight() != 0 {
		t.Error("the state is left after the scheduler's last word")
	}
	k.counts("rows_dropped_request_ended=2", "rows_dropped_unknown=0", "rows_delivered=0", "rows_missing=0", "num_aborted_requests_total=1")
	k.submit(1, item("a", "x"))
}

func TestRowsAreNumberedAlsoAfterTheClientLeft(t *testing.T) {
	k := start(t, nil)
	k.submit(1, item("a", "x")).Close()
	k.rows(at0("a", ""))
	k.rows(at0("a", ""))
	k.rows(row{rid: "a", number: int64(3), finish: stopped()})
	k.counts("rows_dropped_request_ended=2", "rows_doubled=1", "rows_missing=2")
	if got := k.router.aborts(); len(got) != 1 {
		t.Errorf("got the aborts %q, want one", got)
	}
}

func TestFailTellsEveryone(t *testing.T) {
	k := start(t, nil)
	calls := []Call{k.submit(1, item("a", "x"), item("b", "x")), k.submit(1, item("c", "x"))}
	k.rows(row{rid: "b", number: int64(0), text: "done", finish: stopped()}, at0("a", "half"))
	var waiting sync.WaitGroup
	for _, c := range calls {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			readToEnd(t, c)
		}()
	}
	asked := make(chan error, 1)
	go func() {
		_, err := k.InternalState(context.Background())
		asked <- err
	}()
	k.router.until(t, "the question", func(sent []request.Message) bool { return len(sent) == 4 })
	k.Fail(errors.New("a detokenizer died"))
	k.Fail(errors.New("a second error"))
	waiting.Wait()
	if err := <-asked; status(err) != 503 {
		t.Errorf("InternalState: %v", err)
	}
	<-k.Failed()
	_, submitted := k.Submit(context.Background(), []Item{item("", "x")}, 1)
	_, _, flushed := k.FlushCache(context.Background(), 0)
	for _, err := range []error{submitted, flushed, k.Abort(context.Background(), "a", false, "")} {
		if status(err) != 503 || err.Error() != "the server ends: a detokenizer died" {
			t.Errorf("got %v", err)
		}
	}
	for _, c := range calls {
		c.Close()
	}
	if got := k.router.aborts(); len(got) != 0 {
		t.Errorf("aborts %q were sent after the end", got)
	}
}

// readToEnd reads a call on which Fail came: every index has one finish, a 503
// but for what had finished before.
func readToEnd(t *testing.T, c Call) {
	finishes := map[string]int{}
	for {
		u, err := tryNext(c)
		if err != nil {
			break
		}
		if u.Finish == nil {
			continue
		}
		finishes[u.RID]++
		want := "abort 503 the server ends: a detokenizer died"
		if u.RID == "b" {
			want = "stop 0 "
		}
		if got := fmt.Sprintf("%s %d %s", u.Finish.Type, u.Finish.StatusCode, u.Finish.Message); got != want {
			t.Errorf("%s: got %q, want %q", u.RID, got, want)
		}
	}
	for i := range c.(*call).slots {
		if rid := c.(*call).slots[i].rid; finishes[rid] != 1 {
			t.Errorf("%s: %d finishes, want 1", rid, finishes[rid])
		}
	}
}

func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return -1
}

// TestManyAtOnce has calls that are read, left and refused while rows come; it is
// for the race detector, and for what must hold at the end.
func TestManyAtOnce(t *testing.T) {
	k := start(t, nil)
	rows := make(chan row, 64)
	k.router.reply = func(m request.Message) {
		switch m := m.(type) {
		case *request.TokenizedGenerateReqInput:
			rows <- at0(m.RID, "a")
		case *request.AbortReq:
			rows <- row{rid: m.RID, number: int64(1), finish: reason("abort")}
		}
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		for r := range rows {
			k.rows(r)
		}
	}()
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			for i := range 50 {
				c, err := k.Submit(context.Background(), []Item{item(fmt.Sprintf("%d-%d", n, i), "x")}, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 > 0 {
					if u, err := tryNext(c); err != nil || u.Text != "a" {
						t.Errorf("got %+v, %v", u, err)
					}
				}
				c.Close()
			}
		}()
	}
	clients.Wait()
	close(rows)
	<-received
	if k.InFlight() != 0 {
		t.Errorf("%d states are left", k.InFlight())
	}
	delivered, left := k.set.Counter("rows_delivered").Value(), k.set.Counter("rows_dropped_request_ended").Value()
	if delivered+left != 800 || delivered < 8*33 {
		t.Errorf("%d rows delivered and %d dropped, want 800 in all, at least %d delivered", delivered, left, 8*33)
	}
	k.counts("num_aborted_requests_total=400", "rows_dropped_unknown=0", "rows_missing=0", "rows_doubled=0")
}

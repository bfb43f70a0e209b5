package detok

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// The variables that make the test binary a process of a server: they hold the
// endpoint of a worker, or a part.
const (
	workerVariable = "DETOK_TEST_WORKER"
	partVariable   = "DETOK_TEST_PART"
)

// TestMain is a test, or a process of one.
func TestMain(m *testing.M) {
	var err error
	if endpoint := os.Getenv(workerVariable); endpoint != "" {
		err = beWorker(endpoint)
	} else if described := os.Getenv(partVariable); described != "" {
		err = bePart(described)
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// beWorker prints each row that it gets as a line of JSON, after one line when its
// socket is there.
func beWorker(endpoint string) error {
	pull, err := transport.Bind("zmtp", endpoint, transport.Options{})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode("bound"); err != nil {
		return err
	}
	for {
		frame, err := pull.Recv(context.Background())
		if err != nil {
			return err
		}
		m, err := wire.DecodeStr(frame)
		if err != nil {
			return err
		}
		for _, rid := range m.RIDs {
			if err := out.Encode(rid); err != nil {
				return err
			}
		}
	}
}

// process is a worker or part of its own; it prints a line when it is ready.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

func startProcess(t *testing.T, variable string) *process {
	t.Helper()
	w := &process{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 1000)}
	w.cmd.Env = append(os.Environ(), variable)
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	t.Cleanup(w.kill)
	w.await(1)
	return w
}

func (w *process) await(n int) {
	w.t.Helper()
	for range n {
		select {
		case _, ok := <-w.lines:
			if !ok {
				w.t.Fatal("the process ended")
			}
		case <-time.After(parttest.Patience):
			w.t.Fatal("no line of the process in time")
		}
	}
}

// kill ends the process with SIGKILL, and waits until it is gone.
func (w *process) kill() {
	_ = w.cmd.Process.Kill() // it may be gone already
	_ = w.cmd.Wait()         // says that it was killed
}

// TestKilledWorker: a worker process is killed in mid-stream. The other workers
// get all their rows, and of the killed one's every row after its death is counted
// as dropped: built = delivered + dropped, to the row.
func TestKilledWorker(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		d := one(t, a, testOptions())
		list, ipcs := inboxes(t, d.Env, 2)
		doomed := d.Env.Endpoint("worker-2")
		worker := startProcess(t, workerVariable+"="+doomed)
		batches := traffic(3, 30, append(ipcs, doomed), texts)
		push := d.Connect("detokenizer-0")
		half := len(batches) / 2
		postBatches(t, push, batches[:half])
		delivered := len(twin(t, batches[:half])[doomed])
		worker.await(delivered)
		worker.kill()
		postBatches(t, push, batches[half:])
		want := twin(t, batches)
		for i, b := range list {
			got := take(t, b, len(want[ipcs[i]]))
			sameRows(t, ipcs[i], got, want[ipcs[i]])
			delivered += len(got)
		}
		built := count(batches)
		d.AwaitCount("rows", uint64(built))
		d.AwaitCount("rows_dropped_detokenizer", uint64(built-delivered))
		d.AwaitCount("rows_unreachable", uint64(built-delivered))
		if log := d.Log.String(); !strings.Contains(log, "worker-2") {
			t.Errorf("the log does not name worker-2:\n%s", log)
		}
		d.Stop("detokenizer-0")
	})
}

// TestAbsentWorker: the rows of a worker that cannot be connected to are dropped,
// then and later, without another try; the others' arrive.
func TestAbsentWorker(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		d := one(t, a, testOptions())
		absent := d.Env.Endpoint("worker-9")
		file := filepath.Join(d.Env.Folder, "worker-9")
		if err := os.Symlink("worker-9", file); err != nil { // a loop: refused at once
			t.Fatal(err)
		}
		push := d.Connect("detokenizer-0")
		postBatches(t, push, [][]row{{{rid: "a", ipc: absent, ids: []int64{'a'}}, {rid: "b", ipc: absent, ids: []int64{'b'}}}})
		d.AwaitCount("rows_dropped_detokenizer", 2)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		late := parttest.Bind(t, d.Env, "worker-9")
		list, ipcs := inboxes(t, d.Env, 1)
		postBatches(t, push, [][]row{{{rid: "a", ipc: absent, number: 1, ids: []int64{'a'}}, {rid: "c", ipc: ipcs[0], ids: []int64{'c'}}}})
		take(t, list[0], 1)
		late.Nothing()
		d.AwaitCount("rows_dropped_detokenizer", 3)
		d.AwaitCount("rows_unreachable", 3)
		if log := d.Log.String(); !strings.Contains(log, "worker-9") || !strings.Contains(log, "not tried again") {
			t.Errorf("the log does not tell of worker-9:\n%s", log)
		}
		d.Stop("detokenizer-0")
	})
}

// TestWorkerTimeout: a worker without a socket is waited for, and then given up.
func TestWorkerTimeout(t *testing.T) {
	o := testOptions()
	o.workerTimeout = 20 * time.Millisecond
	d := one(t, defaultArgs(), o)
	postBatches(t, d.Connect("detokenizer-0"), [][]row{{{rid: "a", ipc: d.Env.Endpoint("worker-9"), ids: []int64{'a'}}}})
	d.AwaitCount("rows_dropped_detokenizer", 1)
	if log := d.Log.String(); !strings.Contains(log, "nobody accepted within 20ms") {
		t.Errorf("the log does not tell of the time-out:\n%s", log)
	}
	d.Stop("detokenizer-0")
}

// TestGoneForGood: a part ends some time after it could not reach another, since
// clients whose rows were dropped would wait for ever.
func TestGoneForGood(t *testing.T) {
	o := testOptions()
	o.workerTimeout, o.grace = 20*time.Millisecond, 20*time.Millisecond
	d := one(t, defaultArgs(), o)
	postBatches(t, d.Connect("detokenizer-0"), [][]row{{{rid: "a", ipc: d.Env.Endpoint("worker-9"), ids: []int64{'a'}}}})
	if err := d.Result(); err == nil || !strings.Contains(err.Error(), "worker-9") {
		t.Errorf("got %v, want that worker-9 cannot be reached", err)
	}

	a := defaultArgs()
	a.DetokenizerWorkerNum = 1
	left := one(t, a, testOptions())
	r := start(t, left.Env.Folder, part.ID{Kind: part.DetokenizerRouter}, a, o)
	r.AwaitReady()
	left.Stop("detokenizer-0")
	push := r.Connect("detokenizer-router")
	frame := batch(t, []row{{rid: "a", ids: []int64{'a'}}})
	ended := make(chan struct{})
	go func() { // the first rows may still be taken by the kernel
		defer close(ended)
		for push.Send(frame) == nil && push.Flush() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	if err := r.Result(); err == nil || !strings.Contains(err.Error(), "detokenizer 0") {
		t.Errorf("got %v, want that detokenizer 0 cannot be reached", err)
	}
	<-ended
}

// TestEndsWhileItDials: a worker that is waited for does not keep the end.
func TestEndsWhileItDials(t *testing.T) {
	o := testOptions()
	o.workerTimeout = 100 * parttest.Patience
	d := one(t, defaultArgs(), o)
	postBatches(t, d.Connect("detokenizer-0"), [][]row{{{rid: "a", ipc: d.Env.Endpoint(part.ID{Kind: part.Worker}.String()), ids: []int64{'a'}}}})
	for d.Read("loop").State != counters.Busy {
		time.Sleep(time.Millisecond)
	}
	d.Stop("detokenizer-0")
}

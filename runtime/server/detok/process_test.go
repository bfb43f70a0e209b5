package detok

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// described is what a part's process is told.
type described struct {
	ID     part.ID
	Args   args.Args
	Folder string
}

// bePart runs a part until SIGTERM, and prints a line when it is ready.
func bePart(text string) error {
	var d described
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return run(ctx, part.Env{
		ID: d.ID, Args: d.Args, Folder: d.Folder, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Ready: func() { fmt.Println("ready") },
	}, testOptions())
}

func startPart(t *testing.T, d described) *process {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return startProcess(t, partVariable+"="+string(text))
}

// TestProcesses: the router and its detokenizers as processes of their own. Rows
// are what they are in one process; SIGTERM ends each with code 0 and without a
// socket file; and what a killed one had counted can be read.
func TestProcesses(t *testing.T) {
	a := defaultArgs()
	a.DetokenizerWorkerNum = 2
	folder := parttest.Folder(t)
	ids := []part.ID{{Kind: part.Detokenizer, Index: 0}, {Kind: part.Detokenizer, Index: 1}, {Kind: part.DetokenizerRouter}}
	var all []*process
	for _, id := range ids { // each is ready before the next
		all = append(all, startPart(t, described{id, a, folder}))
	}
	list, ipcs := inboxes(t, part.Env{Args: a, Folder: folder}, 3)
	batches := traffic(8, 60, ipcs, texts)
	push, err := transport.Connect(t.Context(), a.ZMQ, part.Endpoint(folder, "detokenizer-router"), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	postBatches(t, push, batches)
	want := twin(t, batches)
	for i, b := range list {
		for rid, text := range join(t, take(t, b, len(want[ipcs[i]]))) {
			checkText(t, rid, text)
		}
	}
	if err := push.Close(); err != nil {
		t.Error(err)
	}
	n := uint64(count(batches))
	for deadline := time.Now().Add(parttest.Patience); rowsIn(t, folder, ids[:2]...) != n && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	all[0].kill()
	all[1].terminate(filepath.Join(folder, ids[1].String()))
	all[2].terminate(filepath.Join(folder, ids[2].String()))
	if detoks, router := rowsIn(t, folder, ids[:2]...), rowsIn(t, folder, ids[2]); detoks != n || router != n {
		t.Errorf("the detokenizers have counted %d rows, the router %d, want %d", detoks, router, n)
	}
}

// rowsIn adds up the rows that parts have counted.
func rowsIn(t *testing.T, folder string, ids ...part.ID) (n uint64) {
	t.Helper()
	for _, id := range ids {
		values, err := counters.Read(part.CountersPath(folder, id))
		if err != nil {
			t.Fatal(err)
		}
		n += values["rows"].Count
	}
	return n
}

// terminate ends a process with SIGTERM: code 0, and the socket's file is gone.
func (w *process) terminate(socket string) {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	for range w.lines { // until it closes its output
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("%s: %v, want code 0", socket, err)
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		w.t.Errorf("the socket file %s is left: %v", socket, err)
	}
}

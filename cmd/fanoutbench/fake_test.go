package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/controller"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// line is a line of the protocol as its keys.
type line = map[string]any

// mutes are controllers that are wrong in place of their first answer.
var mutes = map[string]func() int{
	"silent": func() int {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	},
	"deaf": func() int { // to all but SIGKILL
		signal.Ignore(syscall.SIGTERM)
		never, mine, err := os.Pipe()
		if err != nil {
			return 1
		}
		defer mine.Close()
		_, _ = io.Copy(io.Discard, never)
		return 0
	},
	"dies at once": func() int { return 7 },
	"half a line": func() int {
		fmt.Print(`{"type":"rece`)
		return 0
	},
	"garbage": func() int {
		fmt.Println("ready when you are")
		return 0
	},
	"orphan": func() int { // its child holds its output and its log open
		self, err := os.Executable()
		if err != nil {
			return 1
		}
		c := exec.Command(self, fakeCommand, "deaf")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if c.Start() != nil {
			return 1
		}
		return 7
	},
}

// edits are controllers that answer as the real one does, but for one thing.
var edits = map[string]func(l line, dir string) error{
	"honest":  func(line, string) error { return nil },
	"version": on(protocol.TypeReceipt, func(l line) { l["version"] = 2 }),
	"transport": on(protocol.TypeReceipt, func(l line) {
		l["transport"] = protocol.TransportNative
	}),
	"claims": on(protocol.TypeReceipt, func(l line) { l["transports"] = []string{protocol.TransportPickle} }),
	"unknown key": on(protocol.TypeReceipt, func(l line) {
		l["hurry"] = true
	}),
	"moody": func(l line, dir string) error {
		if l["type"] == protocol.TypeReceipt && !strings.HasSuffix(dir, "-0") {
			l["strategy"] = "another one"
		}
		return nil
	},
	"another control": func(l line, dir string) error {
		if l["type"] == protocol.TypeReceipt && armIn(dir) == results.Control {
			l["strategy"] = "another one"
		}
		return nil
	},
	"takes 10":         taking(map[string]float64{results.Reference: 0.01, results.Candidate: 0.01, results.Control: 0.01}),
	"takes 20":         taking(map[string]float64{results.Reference: 0.02, results.Candidate: 0.02, results.Control: 0.02}),
	"also takes 20":    taking(map[string]float64{results.Reference: 0.02, results.Candidate: 0.02, results.Control: 0.02}),
	"slow control":     taking(map[string]float64{results.Reference: 0.02, results.Control: 0.04}),
	"two detokenizers": on(protocol.TypeReceipt, func(l line) { l["detokenizers"], l["router"] = 2, protocol.RouterRID }),
	"threads":          on(protocol.TypeReceipt, func(l line) { delete(l, "consumers") }),
	"texts": on(protocol.TypeReceipt, func(l line) {
		l["messages"].([]any)[0].(line)["name"] = "BatchStrOutput"
	}),
	"decode_ids changed": onRows(func(rows []protocol.Row) []protocol.Row {
		rows[0].Fields["decode_ids"] = json.RawMessage("[17]")
		return rows
	}),
	"mute in trial": on(protocol.TypeResult, func(line) { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }),
	"dies in trial": on(protocol.TypeResult, func(line) { os.Exit(7) }),
	"half a result": on(protocol.TypeResult, func(line) { fmt.Print(`{"type":"result","id`); os.Exit(0) }),
	"another trial": on(protocol.TypeResult, func(l line) { l["id"] = "9.9.9.rich" }),
	"no counter":    on(protocol.TypeResult, func(l line) { delete(l["counters"].(line), protocol.CounterMessages) }),
	"slow clock":    on(protocol.TypeResult, func(l line) { l["metrics"].(line)["complete_ms"] = 1e9 }),
	"clock runs backwards": on(protocol.TypeResult, func(l line) {
		l["metrics"].(line)["complete_ms"] = -1
	}),
	"late first": on(protocol.TypeResult, func(l line) { l["metrics"].(line)["first_ms"] = 1e6 }),
	"lacks a field": func(l line, dir string) error {
		on(protocol.TypeReceipt, func(l line) {
			m := l["messages"].([]any)[0].(line)
			m["fields"] = slices.DeleteFunc(m["fields"].([]any), func(f any) bool { return f.(line)["name"] == "customized_info" })
		})(l, dir)
		return onRows(func(rows []protocol.Row) []protocol.Row {
			for _, r := range rows {
				delete(r.Fields, "customized_info")
			}
			return rows
		})(l, dir)
	},
	"stalled":    on(protocol.TypeResult, func(l line) { l["stalled"] = "tired" }),
	"wrong hash": on(protocol.TypeResult, func(l line) { l["rows"].(line)["sha256"] = strings.Repeat("0", 64) }),
	"row missing": onRows(func(rows []protocol.Row) []protocol.Row {
		return rows[:len(rows)-1]
	}),
	"field changed": onRows(func(rows []protocol.Row) []protocol.Row {
		rows[0].Fields["completion_tokens"] = json.RawMessage("17")
		return rows
	}),
	"error": on(protocol.TypeResult, func(l line) {
		clear(l)
		l["type"], l["message"] = protocol.TypeError, "out of sorts"
	}),
	"no stopped": on(protocol.TypeStopped, func(l line) { l["type"] = "going" }),
	"encore":     on(protocol.TypeStopped, func(line) { fmt.Println(`{"type":"stopped"}`) }),
	"bad exit":   on(protocol.TypeStopped, func(line) { fmt.Println(`{"type":"stopped"}`); os.Exit(3) }),
}

func on(kind string, edit func(line)) func(line, string) error {
	return func(l line, _ string) error {
		if l["type"] == kind {
			edit(l)
		}
		return nil
	}
}

// armIn is the arm whose folder a hello names.
func armIn(dir string) string {
	name, _, _ := strings.Cut(filepath.Base(dir), "-")
	return name
}

// taking says of every trial that it took so many milliseconds, by the arm, whatever
// it took.
func taking(ms map[string]float64) func(line, string) error {
	return func(l line, dir string) error {
		if l["type"] == protocol.TypeResult {
			for name := range l["metrics"].(line) {
				l["metrics"].(line)[name] = ms[armIn(dir)]
			}
		}
		return nil
	}
}

// onRows changes the rows file of a result and describes it rightly. The full
// stream passes, so that it is found in a trial.
func onRows(edit func([]protocol.Row) []protocol.Row) func(line, string) error {
	return func(l line, dir string) error {
		if l["type"] != protocol.TypeResult || l["id"] == "full" {
			return nil
		}
		path := l["rows"].(line)["path"].(string)
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var d protocol.Delivery
		if err := json.Unmarshal(b, &d); err != nil {
			return err
		}
		d.Rows = edit(d.Rows)
		l["rows"], err = protocol.WriteFile(filepath.Join(dir, "edited.json"), d)
		return err
	}
}

// fake is a controller of that kind; it returns its exit status.
func fake(kind string) int {
	fmt.Fprintln(os.Stderr, "a fake controller:", kind)
	if mute, ok := mutes[kind]; ok {
		return mute()
	}
	edit, ok := edits[kind]
	if !ok {
		fmt.Fprintf(os.Stderr, "no fake controller %q\n", kind)
		return 2
	}
	if err := edited(edit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// edited runs the real controller with its answers changed on their way out.
func edited(edit func(line, string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	hello := make(chan string, 1)
	in, heard := io.Pipe()
	out, said := io.Pipe()
	go func() {
		heard.CloseWithError(listen(heard, hello))
	}()
	done := make(chan error, 1)
	go func() {
		err := controller.Run(context.Background(), in, said, controller.Config{
			Worker: []string{self, arm.WorkerCommand}, Consumer: []string{self, arm.ConsumerCommand}, Strategy: "per-row", Log: os.Stderr,
		})
		done <- err
		said.CloseWithError(io.EOF)
	}()
	lines := json.NewDecoder(out)
	lines.UseNumber()
	dir := ""
	for {
		var l line
		if err := lines.Decode(&l); err != nil {
			return <-done
		}
		if dir == "" {
			dir = <-hello
		}
		if err := edit(l, dir); err != nil {
			return err
		}
		if err := protocol.NewConn(nil, os.Stdout).Send(l); err != nil {
			return err
		}
	}
}

// listen passes standard input on and tells the folder that hello names.
func listen(to io.Writer, hello chan<- string) error {
	d := json.NewDecoder(os.Stdin)
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		var h struct{ Type, Dir string }
		if err := json.Unmarshal(raw, &h); err != nil {
			return err
		}
		if h.Type == protocol.TypeHello {
			hello <- h.Dir
		}
		if _, err := to.Write(append(raw, '\n')); err != nil {
			return err
		}
	}
}

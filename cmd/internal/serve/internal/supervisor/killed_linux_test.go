package supervisor

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// sglang#15165, vllm#32116, vllm PR 11115: a supervisor that is killed leaves no
// process, no socket and no folder, and its port is free for the next. Also where
// the children cannot react before their input ends: a stopped child that goes on.
func TestKilledSupervisor(t *testing.T) {
	for name, stopped := range map[string]bool{"running": false, "with a stopped child": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			text, err := json.Marshal(settings(false))
			if err != nil {
				t.Fatal(err)
			}
			out := &log{}
			cmd := exec.Command(os.Args[0], serverCommand, string(text), dir)
			cmd.Stderr = out
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the server to serve", func() bool { return strings.Contains(out.String(), "fired up") })
			url := findURL(t, out.String())
			asked, _ := get(t, url+"/wait")
			pids := findPIDs(out.String())
			if stopped {
				if err := syscall.Kill(pids["scheduler"], syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if got := rest(asked); got != "error: the supervisor of the server is gone\n" {
				t.Errorf("the client got %q, want the reason", got)
			}
			if stopped {
				if err := syscall.Kill(pids["scheduler"], syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // it was killed; its children held its standard error until now
			if len(pids) != 8 {
				t.Errorf("%d parts in the log, want 8:\n%s", len(pids), out)
			}
			nothingLeft(t, out.String(), dir)
		})
	}
}

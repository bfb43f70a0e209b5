package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	for name, d := range map[string]Death{"starts one to be killed": DieWithParent, "starts one to be ended": TermWithParent} {
		roles[name] = func() { // a child that waits for nothing but a signal
			self, err := os.Executable()
			if err != nil {
				os.Exit(1)
			}
			if err := os.Setenv(envRole, "term"); err != nil {
				os.Exit(1)
			}
			c, err := Start([]string{self}, d, io.Discard)
			if err != nil {
				os.Exit(1)
			}
			<-c.lines // it is up
			fmt.Println(c.PID())
			forever()
		}
	}
}

// A child that does not watch its input dies with its parent all the same.
func TestDeathOfTheParent(t *testing.T) {
	for _, role := range []string{"starts one to be killed", "starts one to be ended"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			parent := exec.Command(self)
			parent.Env = append(os.Environ(), envRole+"="+role)
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			var child int
			if _, err := fmt.Fscan(bufio.NewReader(out), &child); err != nil {
				t.Fatal(err)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // it was killed
			deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for alive(child) {
				select {
				case <-tick.C:
				case <-deadline:
					_ = syscall.Kill(child, syscall.SIGKILL)
					t.Fatalf("child %d outlives its parent", child)
				}
			}
		})
	}
}

// alive is false of a zombie that nobody waits for, too.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

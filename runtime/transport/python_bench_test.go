//go:build python

package transport_test

import (
	"os"
	"os/exec"
	"testing"
)

func init() { engineLanes[pyzmq] = pyzmqLane }

// pyzmqLane has pyzmq on both sides; a byte to the sender starts a burst. The rows are the sender's own:
// as many and as long as here.
func pyzmqLane(b *testing.B, _ []byte) lane {
	at := endpoint(b)
	reader := exec.Command(interpreter(b), "testdata/pipe.py", "burst-pull", "bind", at)
	reader.Stderr = os.Stderr
	answer, err := reader.StdoutPipe()
	must(b, err)
	must(b, reader.Start())
	b.Cleanup(func() { must(b, reader.Wait()) })
	sender := exec.Command(interpreter(b), "testdata/pipe.py", "burst-push", "connect", at)
	sender.Stderr = os.Stderr
	trigger, err := sender.StdinPipe()
	must(b, err)
	must(b, sender.Start())
	b.Cleanup(func() { must(b, trigger.Close()); must(b, sender.Wait()) })
	return lane{answer: answer, send: func() error {
		_, err := trigger.Write([]byte{1})
		return err
	}}
}

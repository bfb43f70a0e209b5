package worker

import (
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

func TestDelayIsChecked(t *testing.T) {
	for us, wrong := range map[int]string{
		0: "", 1: "", protocol.MaxDelayUS: "",
		-1: "delay_us is -1", protocol.MaxDelayUS + 1: "delay_us is 1000001, want 0 to 1000000",
	} {
		p := open(t, t.Context())
		c := p.configure()
		c.DelayUS = us
		p.ask(c, protocol.TypeReady, &protocol.Ready{}, wrong)
	}
}

// Never shorter than asked for; how much longer is the machine's affair.
func TestBusyFor(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 3 * time.Millisecond} {
		start := time.Now()
		busyFor(d)
		if took := time.Since(start); took < d {
			t.Errorf("busy for %v, want at least %v", took, d)
		}
	}
}

package controller

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Only the answer of a worker that does not know the key is no fault.
func TestUnprofiled(t *testing.T) {
	var old struct {
		Type string `json:"type"`
	}
	line := protocol.Line{Type: protocol.TypePrepare, Raw: []byte(`{"type":"prepare","profile":"x"}`)}
	err := line.Decode(&old)
	if err == nil {
		t.Fatal("an older reader takes the key")
	}
	for _, k := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("asked: %w", &protocol.PeerError{Message: err.Error()}), true},
		{&protocol.PeerError{Message: "worker: profile: file exists"}, false},
		{errors.New(err.Error()), false}, // not the worker's
		{nil, false},
	} {
		if got := unprofiled(k.err); got != k.want {
			t.Errorf("%v: %v, want %v", k.err, got, k.want)
		}
	}
}

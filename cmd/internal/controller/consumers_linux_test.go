package controller

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// What a consumer's process is told and cannot do, it answers with an error, and
// ends; a controller that leaves is none.
func TestConsumerLines(t *testing.T) {
	dir := t.TempDir()
	bind := fmt.Sprintf(`{"type":"bind","number":3,"zmq":"zmtp","endpoint":"ipc://%s","consumer":"decode","class":"BatchStrOutput"}`, filepath.Join(dir, "c"))
	for name, k := range map[string]struct{ in, want string }{
		"nothing":        {"", ""},
		"begin first":    {`{"type":"begin","rows":1}`, `a line of type \"begin\", want \"bind\" once`},
		"bound twice":    {bind + "\n" + bind, `a line of type \"bind\", want \"bind\" once`},
		"another engine": {strings.Replace(bind, "zmtp", "zmq9", 1), "zmq9"},
		"no folder":      {strings.Replace(bind, dir, dir+"/none", 1), "none"},
		"unknown key":    {`{"type":"bind","engine":"zmtp"}`, "unknown field"},
		"no line":        {"bind", "not a JSON object"},
		"collected":      {bind + "\n" + `{"type":"begin","rows":1}` + "\n" + fmt.Sprintf(`{"type":"collect","path":%q}`, filepath.Join(dir, "rows")), ""},
		"no place":       {bind + "\n" + fmt.Sprintf(`{"type":"collect","path":%q}`, filepath.Join(dir, "none", "rows")), "none/rows"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			in := k.in
			if in != "" {
				in += "\n"
			}
			err := RunConsumer(context.Background(), strings.NewReader(in), &out)
			if (err != nil) != (k.want != "") {
				t.Errorf("got %v, want an error: %t", err, k.want != "")
			}
			if !strings.Contains(out.String(), k.want) || strings.Contains(out.String(), `"type":"error"`) != (k.want != "") {
				t.Errorf("it said %s, want an error of %q", &out, k.want)
			}
			if name == "collected" && !strings.Contains(out.String(), `{"type":"collected","rows":0,"first_ns":0,"last_ns":0,"file":`) {
				t.Errorf("it said %s, want no rows and no times", &out)
			}
		})
	}
}

// A platform without a clock that processes share refuses such consumers at hello,
// before anything is started, and has those on a thread.
func TestUnsharedClock(t *testing.T) {
	c := &controller{conf: Config{Consumer: []string{"x"}}, now: func() (int64, error) { return 0, unshared("darwin") }}
	c.hello = protocol.Hello{
		Version: protocol.Version, Transport: protocol.TransportMsgpack, HTTPWorkers: 1, Consumer: protocol.ConsumerDecode,
		Pace: protocol.PaceArrived, WaitMS: 1, Consumers: protocol.ConsumersProcess,
	}
	const want = `controller: consumers "process": the clocks of several processes are not comparable on darwin, only on linux`
	if err := c.check(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	c.hello.Consumers = ""
	if err := c.check(); err != nil {
		t.Errorf("consumers on a thread: %v", err)
	}
}

// Consumers are asked for by a word that there is, of a controller that can.
func TestCheckConsumers(t *testing.T) {
	for word, k := range map[string]struct {
		command []string
		want    string
	}{
		"":                        {nil, ""},
		"threads":                 {[]string{"x"}, `consumers "threads", want "process"`},
		protocol.ConsumersProcess: {nil, "no command to run them"},
	} {
		c := &controller{conf: Config{Consumer: k.command}, now: monotonicNow}
		c.hello.Consumers = word
		err := c.checkConsumers()
		if (err != nil) != (k.want != "") || err != nil && !strings.Contains(err.Error(), k.want) {
			t.Errorf("%q: %v, want %q", word, err, k.want)
		}
	}
}

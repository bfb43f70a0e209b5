package sim_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
)

// The step times give back what was published: latencies of requests of 50 and of 100
// cached prompts, and fitted step times.
func TestMachinesGiveThePublishedFigures(t *testing.T) {
	for _, k := range []struct {
		machine         string
		tokens, context int
		ms              float64
	}{
		{"h100-qwen3-0.6b", 50, 50 * 300, 41.12},
		{"h100-qwen3-0.6b", 100, 100 * 300, 61.30},
		{"h100-llama-3.1-8b", 0, 0, 5.752705191348184},
		{"h100-llama-3.1-8b", 1000, 1000, 5.752705191348184 + 17.25086436834028},
		{"a100-llama-3.1-8b", 1000, 1000, 16.441531547147923 + 47.837412108198656},
	} {
		m, ok := sim.MachineNamed(k.machine)
		if !ok {
			t.Fatalf("no %s", k.machine)
		}
		if got := m.Step.Seconds(k.tokens, k.context) * 1e3; math.Abs(got-k.ms) > 1e-9 {
			t.Errorf("%s: %d tokens of %d take %v ms, want %v", k.machine, k.tokens, k.context, got, k.ms)
		}
	}
	if _, ok := sim.MachineNamed(""); ok {
		t.Error("a machine without a name")
	}
	for _, m := range sim.Machines() {
		if found, _ := sim.MachineNamed(m.Name); found != m {
			t.Errorf("%s is %+v", m.Name, found)
		}
		if s := m.Step; s.Base <= 0 || s.PerToken <= 0 || s.PerContext < 0 || m.What == "" || m.Source == "" {
			t.Errorf("%+v", m)
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "write the manual's table of machines anew")

// The manual's table has the machines as they are.
func TestManualHasTheMachines(t *testing.T) {
	const page, open, end = "../../../docs/batchsend.md", "<!-- machines -->\n", "<!-- end -->"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), open)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %q with an end", page, open)
	}
	var want strings.Builder
	want.WriteString("| sim-machine | fixed part | a token | a token of the sequences | what |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, m := range sim.Machines() {
		fmt.Fprintf(&want, "| `%s` | %.4g ms | %.3g us | %.3g us | %s |\n", m.Name, m.Step.Base*1e3, m.Step.PerToken*1e6, m.Step.PerContext*1e6, m.What)
	}
	if got == want.String() {
		return
	}
	if !*rewrite {
		t.Fatalf("%s has\n%s, want\n%s; go test -run TestManualHasTheMachines -rewrite writes it", page, got, want.String())
	}
	if err := os.WriteFile(page, []byte(before+open+want.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

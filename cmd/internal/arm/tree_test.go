package arm

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// checkout is the root of this module, and the folder of this test in it.
const checkout = "../../.."

// A checkout has a strategy among its options, kept from its controller's and
// told in the record.
func TestResolveTree(t *testing.T) {
	for _, k := range []struct {
		set, options, asked map[string]string
		strategy            string
	}{
		{nil, map[string]string{}, map[string]string{"strategy": "splice"}, "splice"},
		{map[string]string{"strategy": "reuse", "zmq": "zmtp"}, map[string]string{"zmq": "zmtp"}, map[string]string{"strategy": "reuse", "zmq": "zmtp"}, "reuse"},
	} {
		a, err := resolver().Resolve(t.Context(), "dir:"+checkout, k.set)
		if err != nil {
			t.Fatal(err)
		}
		if a.Kind != KindDir || a.Spec != "dir:"+checkout || a.Strategy != k.strategy || a.Tree == nil || a.OwnClock() || !a.HasLayouts() {
			t.Errorf("%v: %+v", k.set, a)
		}
		if !maps.Equal(a.Options, k.options) || !maps.Equal(a.Asked(), k.asked) {
			t.Errorf("%v: options %v, asked %v; want %v and %v", k.set, a.Options, a.Asked(), k.options, k.asked)
		}
	}
	bare, err := resolver().Resolve(t.Context(), checkout, nil)
	if err != nil || bare.Spec != "dir:"+checkout {
		t.Errorf("the bare folder: %+v, %v", bare, err)
	}
}

// What a worker of a tree must be like to run under this program's controller.
func TestSuits(t *testing.T) {
	good := protocol.Listing{WireVersion: protocol.WireVersion, Strategies: []protocol.Strategy{{Name: "splice"}}, ZMQ: []string{"zmtp"}}
	for name, k := range map[string]struct {
		change func(*protocol.Listing, *Arm)
		want   string
	}{
		"as it is":      {func(*protocol.Listing, *Arm) {}, ""},
		"other version": {func(l *protocol.Listing, _ *Arm) { l.WireVersion = 99 }, "its worker speaks wire version 99, want 2"},
		"no strategy":   {func(_ *protocol.Listing, a *Arm) { a.Strategy = "reuse" }, `its worker has no strategy "reuse", want one of splice`},
		"no option":     {func(_ *protocol.Listing, a *Arm) { a.Options["burst"] = "4" }, `no option "burst", a git arm has strategy, zmq`},
		"no engine":     {func(_ *protocol.Listing, a *Arm) { a.Options["zmq"] = "other" }, `option zmq is "other", want one of zmtp`},
	} {
		l, a := good, Arm{Spec: "git:x", Kind: KindGit, Strategy: "splice", Options: map[string]string{"zmq": "zmtp"}}
		k.change(&l, &a)
		err := resolver().suits(a, l)
		var spec *SpecError
		if k.want == "" && err != nil || k.want != "" && (!errors.As(err, &spec) || !strings.Contains(err.Error(), k.want)) {
			t.Errorf("%s: %v, want %q", name, err, k.want)
		}
	}
}

// Each worker of a pool has a command of its own; the arm stays as it was.
func TestUsing(t *testing.T) {
	a := Arm{Kind: KindGit, Strategy: "reuse", Build: &tree.Build{Workers: []tree.Worker{{Path: "/w0"}, {Path: "/w1"}}}}.using("/self", 0)
	b := a.Using(1)
	if want := []string{"/self", "__controller", "--strategy", "reuse", "--worker", "/w1"}; !slices.Equal(b.Command, want) {
		t.Errorf("command %q, want %q", b.Command, want)
	}
	if a.Command[5] != "/w0" {
		t.Errorf("the first: %q", a.Command)
	}
}

// What is run as it is, is not built.
func TestBuildNothing(t *testing.T) {
	for _, spec := range []string{"builtin:splice", "exec:x"} {
		a, err := resolver().Resolve(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := resolver().Build(t.Context(), a, nil); err != nil || b.Build != nil || !slices.Equal(b.Command, a.Command) {
			t.Errorf("%s: %+v, %v", spec, b, err)
		}
	}
}

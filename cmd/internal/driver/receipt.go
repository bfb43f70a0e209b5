package driver

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/oracle"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// optionZMQ is the option by which an arm says which ZeroMQ library it uses.
const optionZMQ = "zmq"

// routerMessage is what the consumers get in the router's loop.
const routerMessage = "BatchTokenIDOutput"

// meet records what an arm says of itself, and refuses an arm whose later
// processes say something else, or run another executable than the round's.
func (d *driver) meet(name string, round int, s *arm.Session) error {
	a := d.conf.Arms[name]
	r := s.Receipt
	if got := s.Layout().Name; d.plan.Loop == protocol.LoopRouter && got != routerMessage {
		return fmt.Errorf("receipt: consumers get %s, want %s, which detokenizers get: the arm has no router's loop", got, routerMessage)
	}
	if err := d.checkRouting(name, r); err != nil {
		return err
	}
	about := results.Arm{
		Spec: a.Spec, Runtime: r.Runtime + " " + r.RuntimeVersion, Strategy: r.Strategy, ZMQ: r.Options[optionZMQ],
		Options: r.Options, Packages: r.Packages, BinarySHA256: r.BinarySHA256, OwnClock: a.OwnClock(),
		Sources: []results.Source{}, Descriptive: r.Descriptive,
		Again: r.Again && d.plan.Process == ProcessRound,
	}
	for _, f := range r.Sources {
		about.Sources = append(about.Sources, results.Source{Path: f.Path, SHA256: f.SHA256})
	}
	if a.Build != nil {
		if err := built(*a.Build, d.workerIn(name, round), &about); err != nil {
			return err
		}
	} else if a.Kind == arm.KindBuiltin {
		about.Sources = d.sources
	}
	if err := asTree(a, &about); err != nil {
		return err
	}
	if before, ok := d.about[name]; ok {
		if err := same(about, before, whenBegan); err != nil {
			return err
		}
	}
	d.about[name] = about
	layout := oracle.Layout{Endpoints: r.Endpoints, Detokenizers: r.Detokenizers, IDs: d.plan.Loop == protocol.LoopRouter, Defaults: map[string]json.RawMessage{}}
	for _, f := range s.Layout().Fields {
		layout.Defaults[f.Name] = f.Default
	}
	d.layouts[name] = layout
	return nil
}

// checkRouting wants an arm to route rows as its options say, since the plan's
// fence was made for that.
func (d *driver) checkRouting(name string, r protocol.Receipt) error {
	routings, err := plan.Routings(d.plan)
	if err != nil {
		return err
	}
	want, n := routings[name], max(1, r.Detokenizers)
	switch {
	case n != want.Detokenizers:
		return fmt.Errorf("receipt: %d detokenizers, but by its options the arm has %d: say --%s-set %s=%d", n, want.Detokenizers, name, protocol.OptionDetokenizers, n)
	case n > 1 && r.Router != want.Router:
		return fmt.Errorf("receipt: router %q, but by its options the arm has %q: say --%s-set %s=%s", r.Router, want.Router, name, protocol.OptionRouter, r.Router)
	}
	return nil
}

// whenBegan is what an arm's later receipts are held against.
const whenBegan = "when the run began"

// same compares what an arm says of itself with what it said when the run began,
// or with what another arm says, by the names of the record.
func same(arm, with results.Arm, where string) error {
	a, w := reflect.ValueOf(arm), reflect.ValueOf(with)
	for i := range a.NumField() {
		if is, other := a.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(is, other) {
			return fmt.Errorf("receipt: %s is %v, but it was %v %s", a.Type().Field(i).Tag.Get("json"), is, other, where)
		}
	}
	return nil
}

// readSources hashes the files that this program's builtin arms are made of.
// It is done once: the executable runs on, whatever happens to its sources.
func (d *driver) readSources() error {
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("driver: %w", err)
	}
	d.sources, err = results.TreeSources(wd)
	if d.sources == nil {
		d.sources = []results.Source{}
	}
	return err
}

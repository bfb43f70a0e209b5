package worker

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// List is what this worker has, for the driver's list and for specs.
func List() protocol.Listing {
	l := protocol.Listing{WireVersion: protocol.WireVersion, ZMQ: transport.Engines()}
	for _, s := range fanout.List() {
		l.Strategies = append(l.Strategies, protocol.Strategy{Name: s.Name, Summary: s.Summary})
	}
	for _, s := range router.List() {
		l.Routers = append(l.Routers, protocol.Strategy{Name: s.Name, Summary: s.Summary})
	}
	return l
}

// describe finds the strategy of this worker, a router's if it is to be one.
func (w *worker) describe() (fanout.Info, error) {
	list := fanout.List()
	if w.conf.Router != "" {
		list = nil
		for _, s := range router.List() {
			list = append(list, fanout.Info{Name: s.Name, Summary: s.Summary})
		}
	}
	var known []string
	for _, s := range list {
		if s.Name == w.conf.Strategy {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return fanout.Info{}, fmt.Errorf("worker: no strategy %q, want one of %q", w.conf.Strategy, known)
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// packages are the toolchain and the modules this executable was built with.
func packages() map[string]string {
	p := map[string]string{"go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			p[d.Path] = d.Version
		}
	}
	return p
}

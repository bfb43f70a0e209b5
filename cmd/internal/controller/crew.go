package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// inputName is the socket that takes the batches.
const inputName = "w"

// routerStrategy is how a builtin arm's router cuts batches.
const routerStrategy = "grouped-splice"

// crew is the processes of an arm's worker: one detokenizer, or several and the
// router before them. Each stands behind those that it sends to.
type crew struct {
	processes []*workerProcess
	routed    bool // the last one is the router
}

// startCrew runs every process, and then takes them through configure.
func (c *controller) startCrew(ctx context.Context) (*crew, error) {
	w := &crew{routed: c.routing.Detokenizers > 1}
	names, configures := c.posts()
	var err error
	for i := 0; i < len(names) && err == nil; i++ {
		var p *workerProcess
		if p, err = spawn(c.conf, names[i], configures[i].Endpoint); err == nil {
			w.processes = append(w.processes, p)
		}
	}
	for i := 0; i < len(names) && err == nil; i++ {
		err = w.processes[i].handshake(ctx, configures[i])
	}
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// posts are the processes to start: what each is called, and told.
func (c *controller) posts() (names []string, configures []protocol.Configure) {
	add := func(name, socket, strategy string) {
		names = append(names, name)
		configures = append(configures, protocol.Configure{
			Type:        protocol.TypeConfigure,
			WireVersion: protocol.WireVersion,
			Strategy:    strategy,
			ZMQ:         c.options[optionZMQ],
			Endpoint:    c.endpoint(socket),
			SendMS:      c.hello.WaitMS,
		})
	}
	if c.hello.Loop == protocol.LoopRouter {
		add("router", inputName, c.conf.Strategy)
		configures[0].Router, configures[0].Targets = c.options[optionRouter], c.ends
		return names, configures
	}
	if c.routing.Detokenizers == 1 {
		add("worker", inputName, c.conf.Strategy)
		configures[0].Method, configures[0].DelayUS = c.method(), c.delay()
		return names, configures
	}
	var targets []string
	for i := range c.routing.Detokenizers {
		add(fmt.Sprintf("detokenizer %d", i), fmt.Sprintf("d%d", i), c.conf.Strategy)
		configures[i].Method, configures[i].DelayUS = c.method(), c.delay()
		targets = append(targets, configures[i].Endpoint)
	}
	add("router", inputName, routerStrategy)
	router := &configures[len(configures)-1]
	router.Router, router.Targets = c.routing.Router, targets
	return names, configures
}

// method is what configure says of the detokenizer's method.
func (c *controller) method() string {
	if m := c.options[optionMethod]; m != protocol.MethodOffset {
		return m
	}
	return ""
}

// delay is what configure says of it; setOptions has refused what is no number.
func (c *controller) delay() int {
	n, err := protocol.ParseDelay(c.hello.Options)
	if err != nil {
		panic(err)
	}
	return n
}

// split takes the router, if there is one, from the detokenizers.
func (w *crew) split() (detokenizers []*workerProcess, router *workerProcess) {
	if !w.routed || len(w.processes) == 0 {
		return w.processes, nil
	}
	last := len(w.processes) - 1
	return w.processes[:last], w.processes[last]
}

// ready is what the processes under test say of themselves.
func (w *crew) ready() protocol.Ready { return w.processes[0].ready }

func (w *crew) pids() []int {
	var pids []int
	for _, p := range w.processes {
		pids = append(pids, p.pid())
	}
	return pids
}

func (w *crew) counters() []string {
	names := w.ready().Counters
	if w.routed {
		names = append(slices.Clone(names), protocol.CounterRouterMessages)
	}
	return names
}

// watch derives a context that is cancelled when a process ends, so that a wait
// for rows does not outlast the process that should send them.
func (w *crew) watch(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	for _, p := range w.processes {
		go func() {
			select {
			case <-p.child.Ended():
				cancel(fmt.Errorf("the %s's process ended", p.name))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// explain adds to a trial's error which processes are dead, and how they died. A
// failed write may be seen before the death that is behind it, hence the wait.
func (w *crew) explain(ctx context.Context, err error) error {
	graces := []time.Duration{0, obituaryGrace}
	if ctx.Err() != nil {
		graces = graces[:1] // this arm is being ended, its worker's end is no news
	}
	for _, grace := range graces {
		dead := false
		for _, p := range w.processes {
			if why := p.child.Obituary(grace); why != nil {
				p.told.Store(true)
				err, dead = fmt.Errorf("%w; %s: %w", err, p.name, why), true
			}
			grace = 0 // the wait for the first was one for all
		}
		if dead { // a router will find them gone, which is no news
			w.processes[len(w.processes)-1].told.Store(true)
			break
		}
	}
	return err
}

// stop ends every process, the router before those it sends to, lest it find
// them gone; but one that hangs is not waited for to the end.
func (w *crew) stop() error {
	detokenizers, router := w.split()
	errs := make([]error, len(detokenizers)+1)
	var all sync.WaitGroup
	if router != nil {
		all.Go(func() { errs[len(detokenizers)] = router.stop() })
		_ = router.child.Obituary(obituaryGrace) // for its wait alone
	}
	for i, p := range detokenizers {
		all.Go(func() { errs[i] = p.stop() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// report asks every process for its report and adds them up, per batch of the
// stream. What a router sends is counted apart, since no consumer gets it.
func (w *crew) report(ctx context.Context, batches int) (map[string]float64, error) {
	var all []protocol.Report
	var wrong []string
	for _, p := range w.processes {
		r, err := p.report(ctx)
		if err != nil {
			return nil, err
		}
		if len(r.Errors) > 0 {
			wrong = append(wrong, fmt.Sprintf("the %s reports: %s", p.name, strings.Join(r.Errors, "; ")))
		}
		all = append(all, r)
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	if !w.routed {
		return all[0].Counters, nil
	}
	last := len(all) - 1
	return sum(all[:last], all[last], batches), nil
}

// sum adds up the reports of detokenizers and of their router. Reports are per
// batch that the process got, and counters are whole numbers before they are
// divided, so rounding makes them exact.
func sum(detokenizers []protocol.Report, router protocol.Report, batches int) map[string]float64 {
	total := map[string]float64{}
	add := func(r protocol.Report, name, as string) {
		total[as] += math.Round(r.Counters[name] * float64(max(1, r.Batches)))
	}
	for _, r := range detokenizers {
		for name := range r.Counters {
			add(r, name, name)
		}
	}
	add(router, protocol.CounterAllocations, protocol.CounterAllocations)
	add(router, protocol.CounterOpaqueDecodes, protocol.CounterOpaqueDecodes)
	add(router, protocol.CounterMessages, protocol.CounterRouterMessages)
	for name := range total {
		total[name] /= float64(batches)
	}
	return total
}

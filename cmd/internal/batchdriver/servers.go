package batchdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// pair is the two arms' servers while they run.
type pair map[string]*running

// running is one arm's server.
type running struct {
	*servearm.Server
	client   scoring.Client
	used     bool             // it has had trials of an earlier round
	evidence string           // where what is known of its items comes from, as of a trial
	log      *scoring.LogFile // of batchrun.EvidenceLog
}

// startPair brings both servers up side by side. The first fault ends the other's
// start, and is the one that is told; where the caller ends both, it is told of each
// what it was waited for.
func startPair(ctx context.Context, conf *Config, logs map[string]io.Writer, records int) (pair, error) {
	starting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		faults []error
	)
	p := pair{}
	for _, name := range arms {
		all.Go(func() {
			s, err := servearm.Start(starting, conf.Arms[name], servearm.Config{Log: logs[name], ReadyTimeout: conf.ReadyTimeout, Records: records})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				p[name] = &running{Server: s, client: conf.client(name, s)}
				return
			}
			if len(faults) == 0 || ctx.Err() != nil { // else it is the end of the other's start
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
				giveUp(errors.New("the other arm did not start"))
			}
		})
	}
	all.Wait()
	if len(faults) == 0 {
		return p, nil
	}
	return nil, errors.Join(append(faults, p.stop())...)
}

// awaited says what is done before both servers can be asked: those that run already
// are only waited for.
func (c *Config) awaited() string {
	const purpose = " to see what they can be asked"
	reference, candidate := c.Arms[batchrun.Reference], c.Arms[batchrun.Candidate]
	switch {
	case reference.Started() && candidate.Started():
		return "starting both servers" + purpose
	case reference.Started():
		return fmt.Sprintf("starting the %s and waiting for %s", batchrun.Reference, candidate.Name) + purpose
	case candidate.Started():
		return fmt.Sprintf("starting the %s and waiting for %s", batchrun.Candidate, reference.Name) + purpose
	}
	return fmt.Sprintf("waiting for %s and %s", reference.Name, candidate.Name) + purpose
}

// client asks a server; how many tokens a text has it need not be able to say where a
// tokenizer is given.
func (c *Config) client(name string, s *servearm.Server) scoring.Client {
	client := scoring.Client{URL: s.URL, Key: c.Keys[name], Model: c.Load.Model, Timeout: max(c.Timeout, time.Minute)}
	if c.Load.Tokenizer != nil && !s.Arm.Ours() {
		client.Encode = c.Load.Tokenizer.Encode
	}
	return client
}

// stop ends both servers, side by side, and says what was wrong with either's end.
func (p pair) stop() error {
	var all sync.WaitGroup
	ends := make([]error, len(arms))
	for i, name := range arms {
		if s := p[name]; s != nil {
			all.Go(func() {
				if err := s.Stop(); err != nil {
					ends[i] = fmt.Errorf("%s: %w", name, err)
				}
			})
		}
	}
	all.Wait()
	return errors.Join(ends...)
}

// err says which server has ended without having been told to.
func (p pair) err() error {
	for _, name := range arms {
		if s := p[name]; s != nil {
			if err := s.Err(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

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
// start, and is the one that is told.
func startPair(ctx context.Context, conf *Config, logs map[string]io.Writer, records int) (pair, error) {
	starting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	p := pair{}
	for _, name := range arms {
		all.Go(func() {
			s, err := servearm.Start(starting, conf.Arms[name], servearm.Config{Log: logs[name], ReadyTimeout: conf.ReadyTimeout, Records: records})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				p[name] = &running{Server: s, client: conf.client(s)}
				return
			}
			if first == nil {
				first = fmt.Errorf("%s: %w", name, err)
				giveUp(errors.New("the other arm did not start"))
			}
		})
	}
	all.Wait()
	if first == nil {
		return p, nil
	}
	if ctx.Err() != nil {
		first = context.Cause(ctx)
	}
	return nil, errors.Join(first, p.stop())
}

// client asks a server; how many tokens a text has it need not be able to say where a
// tokenizer is given.
func (c *Config) client(s *servearm.Server) scoring.Client {
	client := scoring.Client{URL: s.URL, Timeout: max(c.Timeout, time.Minute)}
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

package batchdriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// requests are what a run sends, by the number of items.
type requests struct {
	load    Load
	timeout time.Duration
	shard   string // in the names of a shard's requests: other shards may ask the same server
	labels  []int64
	prompts map[int][]scoring.Prompt
	raised  load.Descriptors           // as the first sending found and left the limit
	base    map[bodyKey]scoring.Answer // the reference's first good answer to each body
}

// bodyKey names a body whatever its rid.
type bodyKey struct{ items, body int }

// makeRequests asks the reference what text of exact length is made of, and both
// servers how many tokens they count.
func makeRequests(ctx context.Context, conf *Config, p pair) (*requests, error) {
	r := &requests{load: conf.Load, timeout: conf.Timeout, shard: shardName(conf), labels: conf.Load.Labels, prompts: map[int][]scoring.Prompt{}, base: map[bodyKey]scoring.Answer{}}
	reference := p[batchrun.Reference].client
	var err error
	if conf.Load.API == scoring.Score && r.labels == nil {
		if r.labels, err = reference.Labels(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", batchrun.Reference, err)
		}
	}
	if err := r.makePrompts(ctx, reference); err != nil {
		return nil, fmt.Errorf("%s: %w", batchrun.Reference, err)
	}
	for _, size := range conf.Load.sizes() {
		for _, name := range arms { // the second must count what the first has counted
			if err := p[name].client.Count(ctx, r.prompts[size]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return r, nil
}

func (r *requests) makePrompts(ctx context.Context, c scoring.Client) error {
	l := r.load
	if l.Dataset != nil {
		for _, size := range l.sizes() {
			r.prompts[size] = l.Dataset.Prompts
		}
		return nil
	}
	alphabet, err := c.Alphabet(ctx)
	if err != nil {
		return err
	}
	for _, size := range l.sizes() {
		shape := scoring.Shape{API: l.API, Items: size, QueryTokens: l.QueryTokens, ItemTokens: l.ItemTokens, Unique: l.Unique, SharedPrefix: l.SharedPrefix}
		if r.prompts[size], err = shape.Prompts(alphabet); err != nil {
			return err
		}
	}
	return nil
}

// unique is how many different bodies there are of each size.
func (r *requests) unique() int {
	for _, p := range r.prompts {
		return len(p) // all sizes have as many
	}
	return 0
}

// planned stands for the names of requests where those of all shards are alike.
const planned = "plan"

func shardName(conf *Config) string {
	if conf.Shards == 0 {
		return ""
	}
	return fmt.Sprintf("-s%d", conf.Shard)
}

// set has the bodies of one size; what names them differs by run, and by shard.
func (r *requests) set(size int, run string) (*scoring.Set, error) {
	if run != planned {
		run += r.shard
	}
	return scoring.NewSet(scoring.Options{
		API: r.load.API, Run: run, Model: r.load.Model, Labels: r.labels, Cold: r.load.Cold, OutputTokens: r.load.OutputTokens, Stream: r.load.Stream,
	}, r.prompts[size])
}

// bodies are those of n sends, each with its own names.
func bodies(s *scoring.Set, n int) ([][]byte, error) { return bodiesFrom(s, 0, n) }

func bodiesFrom(s *scoring.Set, first, n int) ([][]byte, error) {
	if size := len(s.Body(0)); n*size > maxBodies {
		return nil, fmt.Errorf("batchdriver: %d requests of %d bytes are more than the %d bytes that are made beforehand; want a shorter duration, a lower rate or fewer tokens", n, size, maxBodies)
	}
	return s.Bodies(first, n), nil
}

// sha256 is the hash of all bodies in order, with names that stand for those of the
// trials.
func (r *requests) sha256() (string, error) {
	h := sha256.New()
	for _, size := range r.load.sizes() {
		s, err := r.set(size, planned)
		if err != nil {
			return "", err
		}
		for i := range s.Len() {
			h.Write(s.Body(i))
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (r *requests) target(s *scoring.Set, server *running) load.Target {
	header := s.Header()
	server.client.Authorize(header)
	return load.Target{URL: server.URL, Path: s.Path(), Header: header, Timeout: r.timeout, Stream: r.load.Stream}
}

// sequence sends the first n bodies of a set one after the other and gives their
// answers; a request that failed has none.
func (r *requests) sequence(ctx context.Context, s *scoring.Set, n int, server *running) (map[int]scoring.Answer, error) {
	all, err := bodies(s, n)
	if err != nil {
		return nil, err
	}
	answers := map[int]scoring.Answer{}
	result, err := load.Sequential(ctx, n, r.target(s, server), all, keep(s, answers))
	if err != nil {
		return nil, err
	}
	if result.Self.Descriptors.Raised {
		r.raised = result.Self.Descriptors
	}
	if len(answers) == 0 {
		return nil, fmt.Errorf("none of %d requests was answered as it should be; the first: %w", n, fault(s, result.Sent[0]))
	}
	return answers, server.Err()
}

// fault is what was wrong with a request that failed, in the server's own words where it has answered with any.
func fault(s *scoring.Set, sent load.Sent) error {
	if len(sent.Body) > 0 && sent.Done != nil {
		if _, err := s.Answer(sent.Request, sent.Status, sent.Body); err != nil {
			return err
		}
	}
	return errors.New(sent.Err)
}

// keep judges answers and remembers the good ones by the place of their request.
func keep(s *scoring.Set, answers map[int]scoring.Answer) func(load.Sent) error {
	return func(sent load.Sent) error {
		a, err := s.Answer(sent.Request, sent.Status, sent.Body)
		if err == nil {
			answers[sent.Index] = a
		}
		return err
	}
}

// learn has the reference answer every body.
func (r *requests) learn(ctx context.Context, server *running) error {
	for _, size := range r.load.sizes() {
		s, err := r.set(size, "learn")
		if err != nil {
			return err
		}
		answers, err := r.sequence(ctx, s, s.Len(), server)
		if err != nil {
			return fmt.Errorf("%s, %d items: %w", batchrun.Reference, size, err)
		}
		for i, a := range answers {
			r.base[bodyKey{size, i}] = a
		}
	}
	return nil
}

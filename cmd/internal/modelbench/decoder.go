package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// decoder continues one prompt at a time, with one model.
type decoder struct {
	ready   ready
	model   loaded
	sampler *recorder
	slots   []int32
}

// recorder chooses greedily and keeps the most likely candidates.
type recorder struct {
	qwen3.Greedy
	count int
	top   []candidate // of the last choice
}

// Choose takes the largest logit.
func (r *recorder) Choose(_ *model.Work, logits []float32) (model.Choice, error) {
	r.top = nil
	if r.count > 0 {
		r.top = likeliest(logits, r.count)
	}
	return model.Choice{Token: model.Greedy(logits)}, nil
}

// likeliest are the n candidates with the largest logits, the largest first, of equals the lowest id.
func likeliest(logits []float32, n int) []candidate {
	var top []candidate
	largest := float64(slices.Max(logits))
	total := 0.0
	for id, l := range logits {
		if math.IsInf(float64(l), -1) { // padding, which cannot be chosen
			continue
		}
		c := candidate{ID: int64(id), Logit: float64(l)}
		total += math.Exp(c.Logit - largest)
		if len(top) == n && c.Logit <= top[n-1].Logit {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, c, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.Logit, a.Logit), cmp.Compare(a.ID, b.ID)) })
		top = slices.Insert(top, at, c)
		top = top[:min(n, len(top))]
	}
	for i := range top {
		top[i].Logprob = top[i].Logit - largest - math.Log(total)
	}
	return top
}

// openDecoder loads the model with room for so many tokens.
func openDecoder(path, kind string, tokens, threads int) (d *decoder, err error) {
	if threads < 1 {
		return nil, fmt.Errorf("%d threads, expected at least 1", threads)
	}
	runtime.GOMAXPROCS(threads)
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if tokens < 1 || tokens > c.ContextLength {
		return nil, fmt.Errorf("%s: room for %d tokens, expected 1 to %d", path, tokens, c.ContextLength)
	}
	d = &decoder{sampler: &recorder{}}
	if d.model, err = load(c, path, kind, tokens, threads, d.sampler); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for slot := range tokens {
		d.slots = append(d.slots, int32(slot))
	}
	d.ready = ready{Type: typeReady, Arm: armOurs, Version: runtime.Version(), File: filepath.Base(path), Threads: threads,
		DType: c.Weights.Layers[0].Q.DType.String(), WeightBytes: weightBytes(&c.Weights), EOS: d.model.Limits().EOS}
	return d, nil
}

// weightBytes are the bytes of the matrices that a decoded token is multiplied with.
func weightBytes(w *checkpoint.Weights) int64 {
	n := len(w.Head.Data)
	for _, l := range w.Layers {
		n += len(l.Q.Data) + len(l.K.Data) + len(l.V.Data) + len(l.O.Data) + len(l.Gate.Data) + len(l.Up.Data) + len(l.Down.Data)
	}
	return int64(n)
}

// check looks at what is asked before anything is computed.
func (d *decoder) check(g generate) error {
	vocabulary := int64(d.model.Limits().VocabSize)
	for i, id := range g.Prompt {
		if id < 0 || id >= vocabulary {
			return fmt.Errorf("prompt's id %d is %d, expected 0 to %d", i, id, vocabulary-1)
		}
	}
	if len(g.Prompt) == 0 || g.Tokens < 1 || len(g.Prompt)+g.Tokens-1 > len(d.slots) {
		return fmt.Errorf("a prompt of %d ids and %d tokens, expected at least one of each and room for %d", len(g.Prompt), g.Tokens, len(d.slots))
	}
	if g.Top < 0 {
		return fmt.Errorf("%d candidates, expected 0 or more", g.Top)
	}
	return nil
}

// generate prefills the prompt and decodes token by token.
func (d *decoder) generate(g generate) (generated, error) {
	if err := d.check(g); err != nil {
		return generated{}, err
	}
	d.sampler.count = g.Top
	out := generated{Type: typeGenerated}
	cpu, err := cpuSeconds()
	if err != nil {
		return generated{}, err
	}
	start := time.Now()
	tokens := slices.Clone(g.Prompt)
	var first time.Time
	for from := 0; ; from = len(tokens) - 1 {
		next, err := d.step(tokens, from, len(g.Prompt))
		if err != nil {
			return generated{}, err
		}
		if len(tokens) == len(g.Prompt) {
			first = time.Now()
		}
		tokens = append(tokens, next)
		if g.Top > 0 {
			out.Top = append(out.Top, d.sampler.top)
		}
		if len(tokens) == len(g.Prompt)+g.Tokens || g.Stop && slices.Contains(d.ready.EOS, next) {
			break
		}
	}
	out.PrefillSeconds, out.DecodeSeconds = first.Sub(start).Seconds(), time.Since(first).Seconds()
	used, err := cpuSeconds()
	out.CPUSeconds = used - cpu
	out.IDs = tokens[len(g.Prompt):]
	return out, err
}

// step computes tokens from a position on and chooses the one behind.
func (d *decoder) step(tokens []int64, from, prompt int) (int64, error) {
	mode := model.Decode
	if from == 0 {
		mode = model.Extend
	}
	out, err := d.model.Forward(&model.Batch{Mode: mode, Work: []model.Work{{
		RID: "modelbench", IDs: tokens[from:], Tokens: tokens, Prompt: prompt, Start: from, Slots: d.slots[:len(tokens)], Next: -1, Sample: true,
	}}})
	if err != nil {
		return 0, err
	}
	return out.Chosen[0].Token, out.Chosen[0].Err
}

package controller

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// share is what one detokenizer will get of a trial.
type share struct {
	batches int      // of the stream
	frames  [][]byte // all of them, if its strategy asks for them
}

// prepare tells every process what comes, with the frames themselves if the
// strategy asks for them.
func (c *controller) prepare(ctx context.Context, t protocol.Trial, w protocol.Work, all []*outgoing) error {
	shares, err := c.shares(len(w.Stream), all)
	if err != nil {
		return err
	}
	vocabulary, err := c.vocab.write(c.hello.Dir, w.Vocabulary)
	if err != nil {
		return err
	}
	detokenizers, router := c.crew.split()
	for i, p := range detokenizers {
		if err := c.tell(ctx, p, i, t, vocabulary, shares[i]); err != nil {
			return err
		}
	}
	if router == nil {
		return nil
	}
	return c.tell(ctx, router, len(shares), t, vocabulary, share{batches: len(w.Stream)})
}

func (c *controller) tell(ctx context.Context, to *workerProcess, i int, t protocol.Trial, vocabulary protocol.File, s share) error {
	p := protocol.Prepare{Type: protocol.TypePrepare, Vocabulary: vocabulary, Batches: s.batches, Profile: t.Profile}
	if p.Profile != "" {
		p.Profile = fmt.Sprintf("%s.%d", p.Profile, i)
	}
	if to.ready.NeedsPrepared {
		f, err := protocol.WriteFile(filepath.Join(c.hello.Dir, fmt.Sprintf("frames-%d.json", i)), protocol.Frames{Frames: s.frames})
		if err != nil {
			return err
		}
		p.Frames = &f
	}
	var done protocol.Signal
	if err := to.child.Ask(ctx, p, protocol.TypePrepared, &done); err != nil {
		return fmt.Errorf("prepare the %s: %w", to.name, err)
	}
	return nil
}

// shares works out what each detokenizer will get: a message of each batch of
// which it has rows, and every batch that has none.
func (c *controller) shares(stream int, all []*outgoing) ([]share, error) {
	shares := make([]share, c.routing.Detokenizers)
	var view wire.View
	for n, o := range all {
		groups := c.groups(o)
		for i, rows := range groups {
			if n < stream && (len(rows) > 0 || o.rows() == 0) {
				shares[i].batches++
			}
		}
		if !c.crew.ready().NeedsPrepared {
			continue
		}
		frame, err := o.encode(nil)
		if err != nil {
			return nil, err
		}
		if !c.crew.routed {
			shares[0].frames = append(shares[0].frames, bytes.Clone(frame))
			continue
		}
		if err := view.Parse(frame); err != nil {
			return nil, err
		}
		for i, rows := range groups {
			switch {
			case o.rows() == 0:
				shares[i].frames = append(shares[i].frames, bytes.Clone(frame))
			case len(rows) > 0:
				shares[i].frames = append(shares[i].frames, view.AppendPart(nil, rows))
			}
		}
	}
	return shares, nil
}

// groups are the rows of a batch by the detokenizer that they go to.
func (c *controller) groups(o *outgoing) [][]int32 {
	groups := make([][]int32, c.routing.Detokenizers)
	for i, rid := range o.msg.RIDs {
		t := c.routing.Target(rid, o.msg.HTTPWorkerIPCs[i].V)
		groups[t] = append(groups[t], int32(i))
	}
	return groups
}

package checkarm

import (
	"context"
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// full plays the stream that every arm must pass before a run.
func (c *checker) full(ctx context.Context) error {
	data, err := stream.Full(seed, consumers)
	if err != nil {
		return err
	}
	return c.streams(ctx, []protocol.Work{data}, stream.Rich)
}

// mixed plays mixed streams, of one row and of more than there are ways to end.
func (c *checker) mixed(ctx context.Context) error {
	for _, metadata := range []string{stream.Plain, stream.Rich} {
		var works []protocol.Work
		for i, count := range []int{1, 1, 1, 1, 1, 1, 40} {
			p := stream.Place{Cell: protocol.Cell{Count: count, Metadata: metadata}, Ordinal: uint32(i)}
			data, err := stream.Mixed(seed, p, consumers)
			if err != nil {
				return err
			}
			works = append(works, data)
		}
		if err := c.streams(ctx, works, metadata); err != nil {
			return err
		}
	}
	return nil
}

// streams plays each of works in one process.
func (c *checker) streams(ctx context.Context, works []protocol.Work, metadata string) error {
	s, dir, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	for i, data := range works {
		data, file, err := c.write(dir, i, data)
		cell := protocol.Cell{Count: len(data.Stream[0].Consumers), Metadata: metadata}
		if err == nil {
			err = c.judge(ctx, s, data, i, cell, file)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("stream %d, count %d, metadata %s: %w", i, cell.Count, metadata, err), c.done(ctx, s))
		}
	}
	return c.done(ctx, s)
}

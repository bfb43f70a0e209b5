package driver

import (
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// fullStream is the name of the full stream, and the id of its trial.
const fullStream = "full"

// full passes the full stream through each arm once, before anything else: a
// strategy that forgets a field is no strategy, whatever the run's own stream
// sends. Nothing of it is timed, and its rows are counted apart.
func (d *driver) full(ctx context.Context, order []string) error {
	data, err := d.conf.Source.Full()
	if err != nil {
		return err
	}
	w, err := d.write("work-"+fullStream+".json", data, len(order))
	if err != nil {
		return err
	}
	cell := protocol.Cell{Count: len(data.Stream[0].Consumers), Metadata: stream.Rich}
	for _, name := range order {
		slot := results.Slot{Round: -1, Repetition: stream.WarmupRepetition, Count: cell.Count, Metadata: cell.Metadata, Arm: name}
		t := protocol.Trial{ID: fullStream, Round: slot.Round, Repetition: slot.Repetition, Cell: cell, Work: w.file}
		if err := d.judge(ctx, slot, t, &verified{work: w}); err != nil {
			return &located{err: fmt.Errorf("stream %s: %w", fullStream, err), arm: name, slot: slot}
		}
		d.out.FullRows += w.want.Rows()
		d.progress(slot.Round)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
)

// arm is a process that answers lines.
type arm struct {
	ready
	child *process.Child
}

// startArm starts a command and waits until it is ready.
func startArm(ctx context.Context, command []string, log io.Writer) (*arm, error) {
	child, err := process.Start(command, process.DieWithParent, log)
	if err != nil {
		return nil, err
	}
	a := &arm{child: child}
	line, err := child.Next(ctx)
	if err == nil {
		err = line.Expect(typeReady, &a.ready)
	}
	if err != nil {
		a.end()
		return nil, fmt.Errorf("%s: not ready: %w", command[0], err)
	}
	return a, nil
}

func (a *arm) end() { a.child.End(5*time.Second, 5*time.Second) }

func (a *arm) generate(ctx context.Context, g generate) (generated, error) {
	g.Type = typeGenerate
	var out generated
	if err := a.child.Ask(ctx, g, typeGenerated, &out); err != nil {
		return generated{}, fmt.Errorf("%s: %w", a.Arm, err)
	}
	return out, nil
}

func (a *arm) pass(ctx context.Context, times int) (passed, error) {
	var out passed
	if err := a.child.Ask(ctx, pass{Type: typePass, Times: times}, typePassed, &out); err != nil {
		return passed{}, fmt.Errorf("%s: %w", a.Arm, err)
	}
	return out, nil
}

// settings of the processes.
type settings struct {
	peer    []string // the command, to which the model and the threads are added
	threads int
	room    int // tokens that a model has room for
}

// startPair starts our decoder and the peer's on one file.
func startPair(ctx context.Context, s settings, path string, log io.Writer) (ours, peers *arm, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	options := []string{"--model", path, "--threads", strconv.Itoa(s.threads), "--room", strconv.Itoa(s.room)}
	if ours, err = startArm(ctx, append([]string{self, "serve"}, options...), log); err != nil {
		return nil, nil, err
	}
	if peers, err = startArm(ctx, append(append([]string{}, s.peer...), options...), log); err != nil {
		ours.end()
		return nil, nil, err
	}
	return ours, peers, nil
}

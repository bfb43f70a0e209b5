package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runRounds plays rounds over the two small files against a peer.
func runRounds(t *testing.T, peer string, more ...string) (string, error) {
	t.Helper()
	var out, log bytes.Buffer
	args := append([]string{"rounds", "--model", "a=" + qwen3File, "--model", "b=" + llamaFile, "--peer", peerCommand(t, peer), "--threads", "1",
		"--room", "64", "--rounds", "2", "--prompt", "20", "--steps", "3", "--vocabulary", "60", "--settle", "1ms"}, more...)
	err := command(t.Context(), args, nil, &out, &log)
	if err != nil {
		t.Logf("log: %s", log.String())
	}
	return out.String(), err
}

// Real processes: our decoder, its twin in plain loops as the peer, and the reader.
func TestRounds(t *testing.T) {
	raw, err := runRounds(t, "honest")
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRun(strings.NewReader("commit: x\n\n" + raw)) // checks that every trial is there once
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, s := range r.started {
		arms = append(arms, s.Model+" "+s.Arm+" "+s.DType)
	}
	if want := []string{"a fanoutbench F16", "a plain F16", "a read ", "b fanoutbench Q4_1", "b plain Q4_1", "b read "}; !slices.Equal(arms, want) {
		t.Errorf("arms %q, want %q", arms, want)
	}
	for i, a := range r.agreement {
		if a.Same != 8 || a.Of != 8 || a.Largest > 0.05 {
			t.Errorf("agreement %d: %+v, want 8 of 8 tokens", i, a)
		}
	}
	orders := map[string]bool{}
	for round := range r.plan.Rounds {
		var order []string
		for _, tr := range r.trials {
			if tr.Round == round {
				order = append(order, tr.Model+tr.Kind+tr.Arm)
			}
			if tr.Kind == kindPrefill && (tr.Tokens != 20 || tr.CPUTokens != 20) || tr.Kind == kindDecode && tr.Arm != armRead && (tr.Tokens != 3 || tr.CPUTokens != 4) {
				t.Errorf("%+v: want 20 of 20 tokens of a prefill, 3 of 4 of a decode", tr)
			}
			if tr.Bytes != r.started[0].WeightBytes && tr.Arm == armOurs && tr.Model == "a" {
				t.Errorf("%+v: want the bytes of the weights, %d", tr, r.started[0].WeightBytes)
			}
		}
		orders[fmt.Sprint(order)] = true
	}
	if len(orders) != 2 {
		t.Errorf("the rounds had one order: %v", orders)
	}
	path := filepath.Join(t.TempDir(), "run.txt")
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := command(t.Context(), []string{"ratio", path}, nil, &text, &text); err != nil || !strings.Contains(text.String(), "a prefill") {
		t.Errorf("ratio: %v\n%s", err, text.String())
	}
}

// An arm that computes something else ends the run before anything is timed; one that does less ends it at the trial.
func TestRoundsRefuseAnotherComputation(t *testing.T) {
	for peer, want := range map[string]string{"wrong": "the arms do not compute the same", "short": "expected both to end at once", "missing": "not ready"} {
		raw, err := runRounds(t, peer)
		if peer == "missing" {
			raw, err = runRounds(t, "honest", "--peer", "false")
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(raw, `"trial"`) {
			t.Errorf("%s: %v, want an error with %q and no trial in\n%s", peer, err, want, raw)
		}
	}
}

func TestTexts(t *testing.T) {
	prompts := filepath.Join(t.TempDir(), "prompts")
	if err := os.WriteFile(prompts, []byte("The first one\\n\nand another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(peer string) (string, error) {
		var out, log bytes.Buffer
		err := command(t.Context(), []string{"text", "--model", qwen3File, "--peer", peerCommand(t, peer), "--threads", "1", "--room", "64",
			"--prompts", prompts, "--tokens", "12"}, nil, &out, &log)
		return out.String(), err
	}
	out, err := run("honest")
	if err != nil || strings.Count(out, "equal") != 2 || strings.Count(out, `{"type":"text"`) != 2 {
		t.Errorf("%v\n%s\nwant two texts, both equal", err, out)
	}
	if out, err := run("wrong"); err == nil {
		t.Errorf("a peer that computes something else passes:\n%s", out)
	}
}

func TestCommandsRefuse(t *testing.T) {
	model := "--model=a=" + qwen3File
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "no command"},
		{[]string{"other"}, `command "other"`},
		{[]string{"serve", "more"}, "1 arguments"},
		{[]string{"serve", "--model", "nowhere"}, "nowhere"},
		{[]string{"read", "--bytes", "7"}, "7 bytes"},
		{[]string{"rounds", model}, `--peer ""`},
		{[]string{"rounds", "--peer", "x"}, "0 models"},
		{[]string{"rounds", model, "--peer", "x", "--rounds", "0"}, "0 rounds"},
		{[]string{"rounds", "--model", "x"}, "want NAME=PATH"},
		{[]string{"ratio"}, "0 arguments"},
		{[]string{"ratio", "nowhere"}, "nowhere"},
		{[]string{"text", "--prompts", "nowhere"}, "nowhere"},
	} {
		var log bytes.Buffer
		if err := command(context.Background(), test.args, strings.NewReader(""), &log, &log); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want an error with %q", test.args, err, test.want)
		}
	}
}

// What a process is asked wrongly it says, and ends.
func TestServeAnswersErrors(t *testing.T) {
	d, err := openDecoder(qwen3File, runtimeCPU, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`{"type":"pass"}`:                     `want \"generate\"`,
		`{"type":"generate","prompt":[1]}`:    "0 tokens",
		`{"type":"generate","other":1}`:       "other",
		`{"type":"generate","prompt":["a"]}`:  "prompt",
		`nonsense`:                            "not a JSON object",
		`{"type":"generate","prompt":[1000]}`: "id 0 is 1000",
	} {
		var out bytes.Buffer
		err := serveModel(strings.NewReader(line+"\n"), &out, d)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if err == nil || len(lines) != 2 || !strings.Contains(lines[1], `"type":"error"`) || !strings.Contains(lines[1], want) {
			t.Errorf("%s: %v, %q; want ready, and an error with %q", line, err, lines, want)
		}
	}
	if err := d.model.close(); err != nil {
		t.Error(err)
	}
}

// Every order of the cells and of a cell's arms comes up, about as often as any other.
func TestOrdersAreDrawn(t *testing.T) {
	r := seeded(2)
	files := []*file{{name: "a"}, {name: "b"}}
	cells, arms := map[string]int{}, map[string]int{}
	const draws = 2400
	for range draws {
		var names string
		for _, c := range order(r, files) {
			names += c.name + c.kind + " "
		}
		cells[names]++
		decode := cell{&file{ours: &arm{ready: ready{Arm: "o"}}, peers: &arm{ready: ready{Arm: "p"}}, read: &arm{ready: ready{Arm: "r"}}}, kindDecode}
		names = ""
		for _, a := range decode.cellArms(r) {
			names += a.Arm
		}
		arms[names]++
	}
	for what, test := range map[string]struct {
		seen map[string]int
		want int
	}{"cells": {cells, 24}, "arms": {arms, 6}} {
		if len(test.seen) != test.want {
			t.Errorf("%d orders of %s, want %d", len(test.seen), what, test.want)
		}
		for order, n := range test.seen {
			if mean := draws / test.want; n < mean/2 || n > 2*mean {
				t.Errorf("%s %q: %d times of %d, want about %d", what, order, n, draws, mean)
			}
		}
	}
}

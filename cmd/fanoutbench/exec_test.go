package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// fakeArm is the spec of a fake controller.
func fakeArm(t *testing.T, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("exec:'%s' %s '%s'", self, fakeCommand, kind)
}

// The proxy that the lying controllers are made of does nothing by itself.
func TestHonestExecArm(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--reference", fakeArm(t, "honest"), "--candidate", fakeArm(t, "honest"))
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "OWN CLOCK")
	for name, a := range p.folder().Result.Arms {
		if !a.OwnClock {
			t.Errorf("%s: own_clock is false of an exec arm", name)
		}
	}
}

// A controller that breaks the protocol ends the run as invalid, with the arm,
// the command and the last lines of its log.
func TestFaultyControllers(t *testing.T) {
	for kind, want := range map[string]string{
		"silent":               "no receipt within 400ms",
		"deaf":                 "no receipt within 400ms",
		"dies at once":         "the process ended (exit status 7) without an answer",
		"half a line":          `the process ended (exit status 0) without an answer: protocol: input ended inside the line "{\"type\":\"rece"`,
		"garbage":              `line "ready when you are" is not a JSON object`,
		"orphan":               "the process ended (exit status 7) without an answer",
		"version":              "receipt: protocol version 2, this driver speaks 1",
		"transport":            `receipt: transport "native" is in force, want "msgpack"`,
		"claims":               `receipt: transports ["pickle"] do not have "msgpack"`,
		"unknown key":          `unknown field "hurry"`,
		"moody":                "receipt: strategy is another one, but it was per-row when the run began",
		"two detokenizers":     "receipt: 2 detokenizers, but by its options the arm has 1: say --candidate-set detokenizers=2",
		"mute in trial":        "no result within 400ms",
		"dies in trial":        "the process ended (exit status 7) without an answer",
		"half a result":        `input ended inside the line "{\"type\":\"result\",\"id"`,
		"another trial":        `a result for trial "9.9.9.rich", want "full"`,
		"no counter":           `the result lacks the counter "messages" of the receipt`,
		"slow clock":           "complete_ms is 1e+09, want more than 0 and at most the",
		"clock runs backwards": "complete_ms is -1, want more than 0",
		"stalled":              `the controller says "tired", but every row was delivered`,
		"wrong hash":           `the line says "` + strings.Repeat("0", 64),
		"error":                "out of sorts",
		"no stopped":           `got a line of type "going", want "stopped"`,
		"encore":               `a line of type "stopped" after stopped`,
		"bad exit":             "after stopped: exit status 3",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			args := []string{"--candidate", fakeArm(t, kind)}
			if kind == "moody" {
				args = append(args, "--process", results.ProcessRound)
			}
			if strings.Contains(want, "400ms") { // not for an arm that should keep it
				args = append(args, "--reference", fakeArm(t, kind), map[bool]string{true: "--start-timeout", false: "--timeout"}[kind != "mute in trial"], "400ms")
			}
			p := measure(t, nil, args...)
			p.run(exitInvalid)
			f := p.failed(results.StatusInvalid)
			p.has("failure", f.Message, want)
			either := strings.Contains(want, "400ms") && f.Arm == results.Reference // both are slow, and start side by side
			if f.Arm != results.Candidate && !either {
				t.Errorf("the failure names arm %q", f.Arm)
			}
			if n := strings.Count(f.Message, want); n != 1 {
				t.Errorf("the failure says it %d times: %s", n, f.Message)
			}
			if judged := []string{"moody", "two detokenizers", "slow clock", "clock runs backwards", "stalled", "wrong hash"}; !slices.Contains(judged, kind) {
				p.has("failure", f.Message, f.Arm+" (sh -c exec '", fakeCommand, "a fake controller: "+kind)
			}
			p.has("stdout", p.stdout.String(), f.Arm, want)
		})
	}
}

// A controller that lies about rows is found out by the driver's own knowledge
// of them.
func TestLyingControllers(t *testing.T) {
	for kind, want := range map[string]results.Failure{
		"row missing":   {Count: 5, Metadata: "rich", RID: "end-00000000-00003", Field: "rows", Wanted: new("3"), Got: new("2"), Consumer: new(3)},
		"field changed": {Count: 5, Metadata: "rich", RID: "rid-00000000-00000", Field: "completion_tokens", Wanted: new("1"), Got: new("17"), Consumer: new(0)},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, "--candidate", fakeArm(t, kind))
			p.run(exitInvalid)
			want.Arm, want.Round, want.Repetition = results.Candidate, new(-1), new(-1)
			p.sameFailure(want)
		})
	}
}

// sameFailure wants every part of a failure but its message, which must hold
// them all.
func (p *program) sameFailure(want results.Failure) {
	p.t.Helper()
	got := *p.failed(results.StatusInvalid)
	message := got.Message
	got.Message = ""
	if g, w := show(got), show(want); g != w {
		p.t.Errorf("failure %s\nwant    %s\nmessage %s", g, w, message)
	}
	p.has("message", message, "arm "+want.Arm, fmt.Sprintf("count %d, metadata %s, round %d, repetition %d", want.Count, want.Metadata, *want.Round, *want.Repetition),
		fmt.Sprintf("consumer %d, rid %q", *want.Consumer, want.RID), "field "+want.Field, "wanted "+*want.Wanted, "got "+*want.Got)
	p.has("stdout", p.stdout.String(), want.RID, want.Field, *want.Wanted, *want.Got)
}

func show(f results.Failure) string {
	return fmt.Sprintf("arm %s, count %d, metadata %s, round %d, repetition %d, consumer %d, rid %s, field %s, wanted %s, got %s",
		f.Arm, f.Count, f.Metadata, value(f.Round), value(f.Repetition), value(f.Consumer), f.RID, f.Field, value(f.Wanted), value(f.Got))
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// The commands against each other: a null server, a run and a search.
func TestCommands(t *testing.T) {
	in, stop := io.Pipe()
	lines, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(context.Background(), []string{"null"}, in, out) }()
	url, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"send", "--url", url, "--rps", "200", "--seconds", "0.5"}, "requests=100 offered=200 "},
		{[]string{"highest", "--url", url, "--seconds", "0.1", "--from", "100", "--most", "100"}, "highest=100 invalid=0 bursts="},
	} {
		var text strings.Builder
		// A busy machine may make the search end without a rate, which says so.
		if err := run(context.Background(), test.args, nil, &text); err != nil && strings.Contains(err.Error(), "no rate is safe: the lowest") {
			continue
		} else if err != nil || !strings.HasPrefix(text.String(), test.want) {
			t.Errorf("%q: %q, error %v; want %q", test.args, text.String(), err, test.want)
		}
	}
	if err := stop.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{nil, {"other"}, {"send", "--url", url, "--rps", "0"}, {"send", "--nonsense"}, {"vegeta", "/nowhere"}} {
		if err := run(context.Background(), args, nil, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// Four requests at 1,000 a second, written in the order of their answers; the third is 2 ms late.
const recorded = `1000000000,200,500,20000,2,,,,0,POST,http://x/,
1004000000,200,500,20000,2,,,,2,POST,http://x/,
1001000000,200,500,20000,2,,,,1,POST,http://x/,
1003000000,0,500,20000,0,"reset, by peer",,,3,POST,http://x/,
`

func TestReadAttack(t *testing.T) {
	a, err := readAttack(strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	late := a.lateness(1000)
	for i, want := range []float64{0, 0, 0.002, 0} {
		if math.Abs(late[i]-want) > 1e-12 {
			t.Errorf("request %d late by %v s, want %v", i, late[i], want)
		}
	}
	if a.failed != 1 || math.Abs(a.rate()-750) > 1e-9 {
		t.Errorf("%d failed, %v a second; want 1, and 750", a.failed, a.rate())
	}
	for _, bad := range []string{"", "1,2\n", strings.Replace(recorded, ",3,POST", ",2,POST", 1), strings.Replace(recorded, ",3,POST", ",4,POST", 1),
		strings.Replace(recorded, "1000000000", "x", 1), strings.Replace(recorded, ",0,POST", ",y,POST", 1), "1,200,1,1,1,,,,0\n", `"`} {
		if a, err := readAttack(strings.NewReader(bad)); err == nil {
			t.Errorf("%q read as %+v, want an error", bad, a)
		}
	}
}

// What is read, written again, is read as the same.
func FuzzReadAttack(f *testing.F) {
	f.Add(recorded)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readAttack(strings.NewReader(text))
		if err != nil {
			return
		}
		var again strings.Builder
		for i, at := range a.sent {
			fmt.Fprintf(&again, "%d,200,1,1,1,,,,%d\n", at, i)
		}
		if b, err := readAttack(strings.NewReader(again.String())); err != nil || !slices.Equal(a.sent, b.sent) {
			t.Errorf("%q: %v, and written again %v, error %v", text, a.sent, b.sent, err)
		}
	})
}

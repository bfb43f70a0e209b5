package scheduler

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/fake"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata give as what they expect")

// TestScripts runs testdata/*.txt. A line is a command, and the lines behind it,
// marked by =>, what it gave. The model counts: behind the id x comes x+1; it
// also computes every batch in a fake model's slots. With config text an id is the
// ASCII character of that number.
//
//	config NAME=VALUE ...     starts anew; the names are in setConfig
//	req RID prompt=IDS max=N [unary] [ignore_eos] [stop=IDS] [stopstr=TEXT,TEXT] [no_stop_trim] [interval=K] [worker=W] [salt=S] [logprob]
//	item ...                  as req, put into the next batch message
//	send                      the batch message
//	abort RID | abort_all
//	step [N]                  N steps: batch, log lines, rows
//	rows N                    N steps, of which only the rows are shown
//	start, finish, fail TEXT  a step in two parts
//	record RID, stats, flush
//
// IDS are as 3,5 or 10-19 or 4*30. A batch is shown as its mode and for each
// request RID[before+computed], with .. where a chunk ends before the prompt.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("scripts: %d, %v, want at least one", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareLines(t, got, string(want))
		})
	}
}

func compareLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d:\n got %s\nwant %s", i+1, a, b)
		}
	}
}

// script is what the commands act on.
type script struct {
	s     *Scheduler
	m     *fake.Model
	now   float64
	items []TokenizedGenerateReqInput
	batch *model.Batch
	said  []string // what the command gave
}

func runScript(t *testing.T, text string) string {
	t.Helper()
	var out []string
	var s script
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "=>") {
			continue
		}
		out = append(out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.said = nil
		if err := s.command(strings.Fields(line)); err != nil {
			t.Fatalf("line %d, %s: %v", i+1, line, err)
		}
		for _, said := range s.said {
			out = append(out, strings.TrimRight("=> "+said, " "))
		}
	}
	return strings.Join(out, "\n")
}

func (s *script) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *script) command(f []string) error {
	switch f[0] {
	case "config":
		return s.setConfig(f[1:])
	case "req", "item":
		in, err := parseRequest(f[1:])
		if err != nil {
			return err
		}
		if f[0] == "item" {
			s.items = append(s.items, *in)
			return nil
		}
		return s.receive(in)
	case "send":
		m := &BatchTokenizedGenerateReqInput{Batch: s.items}
		s.items = nil
		return s.receive(m)
	case "abort":
		return s.receive(&AbortReq{RID: f[1]})
	case "abort_all":
		return s.receive(&AbortReq{AbortAll: true})
	case "step":
		return s.steps(f[1:])
	case "rows":
		err := s.steps(f[1:])
		s.said = slices.DeleteFunc(s.said, func(line string) bool { return !strings.HasPrefix(line, "row ") })
		return err
	case "start":
		s.start()
		return nil
	case "finish":
		return s.finish()
	case "fail":
		s.s.Fail(s.now, strings.Join(f[1:], " "))
		s.take()
		return nil
	case "record":
		s.record(f[1])
		return nil
	case "stats":
		st := s.s.Stats()
		s.say("waiting %d, running %d, used %d, evictable %d, free %d, retracted %d, finished %v",
			st.Waiting, st.Running, st.Used, st.Evictable, st.Available, st.Retracted, st.Finished)
		return nil
	case "flush":
		s.say("flushed: %t", s.s.Flush())
		return nil
	}
	return fmt.Errorf("no command %q", f[0])
}

func (s *script) setConfig(f []string) error {
	c := usual()
	l := model.Limits{VocabSize: 1000, ContextLength: 4096, EOS: []int64{7}}
	for _, option := range f {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "policy":
			c.SchedulePolicy = Policy(value)
			continue
		case "text":
			c.Decoder = asciiDecoder{}
			continue
		case "nocache":
			c.DisableRadixCache = true
			continue
		case "mixed":
			c.EnableMixedChunk = true
			continue
		case "conserve":
			var err error
			if c.Conservativeness, err = strconv.ParseFloat(value, 64); err != nil {
				return err
			}
			continue
		}
		field := map[string]*int{
			"total": &c.MaxTotalTokens, "running": &c.MaxRunningRequests, "queued": &c.MaxQueuedRequests,
			"prefill": &c.MaxPrefillTokens, "chunk": &c.ChunkedPrefillSize, "interval": &c.StreamInterval,
			"page": &c.PageSize, "log": &c.DecodeLogInterval, "context": &l.ContextLength,
		}[name]
		if field == nil {
			return fmt.Errorf("no config %q", name)
		}
		var err error
		if *field, err = strconv.Atoi(value); err != nil {
			return err
		}
	}
	scheduler, err := New(c, l)
	if err != nil {
		return err
	}
	*s = script{s: scheduler, m: fake.New(l, c.MaxTotalTokens)}
	return nil
}

func parseRequest(f []string) (*TokenizedGenerateReqInput, error) {
	in := &TokenizedGenerateReqInput{RID: f[0], HTTPWorkerIPC: "w0", LogprobStartLen: -1, Stream: true}
	var err error
	for _, option := range f[1:] {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "prompt":
			in.InputIDs, err = parseIDs(value)
		case "max":
			in.SamplingParams.MaxNewTokens, err = strconv.Atoi(value)
		case "interval":
			in.SamplingParams.StreamInterval, err = strconv.Atoi(value)
		case "stop":
			in.SamplingParams.StopTokenIDs, err = parseIDs(value)
		case "stopstr":
			in.SamplingParams.Stop = strings.Split(value, ",")
		case "no_stop_trim":
			in.SamplingParams.NoStopTrim = true
		case "ignore_eos":
			in.SamplingParams.IgnoreEOS = true
		case "unary":
			in.Stream = false
		case "worker":
			in.HTTPWorkerIPC = value
		case "salt":
			in.CacheSalt = value
		case "logprob":
			in.ReturnLogprob = true
		default:
			err = fmt.Errorf("no option %q", option)
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

type asciiDecoder struct{}

func (asciiDecoder) AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte {
	for _, id := range ids {
		dst = append(dst, byte(id))
	}
	return dst
}

func parseIDs(text string) (ids []int64, err error) {
	for _, part := range strings.Split(text, ",") {
		var from, to int64
		switch {
		case strings.Contains(part, "*"):
			var n int
			_, err = fmt.Sscanf(part, "%d*%d", &from, &n)
			for range n {
				ids = append(ids, from)
			}
		case strings.Contains(part[1:], "-"):
			_, err = fmt.Sscanf(part, "%d-%d", &from, &to)
			for id := from; id <= to; id++ {
				ids = append(ids, id)
			}
		default:
			_, err = fmt.Sscanf(part, "%d", &from)
			ids = append(ids, from)
		}
		if err != nil {
			return nil, fmt.Errorf("ids %q: %w", part, err)
		}
	}
	return ids, nil
}

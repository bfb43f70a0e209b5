package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Every strategy passes the full stream and delivers the mixed one, over both
// transports, two strategies a run; consumer and pace take turns.
func TestStrategiesMixed(t *testing.T) {
	for i, pair := range strategyPairs() {
		for j, transport := range []string{protocol.TransportMsgpack, protocol.TransportNative} {
			t.Run(pair[0]+" "+pair[1]+"/"+transport, func(t *testing.T) {
				t.Parallel()
				p := measure(t, nil, "--stream", "mixed", "--reference", "builtin:"+pair[0], "--candidate", "builtin:"+pair[1], "--transport", transport,
					"--counts", "1,7,40", "--metadata", []string{"plain,rich", "rich"}[((i+1)/2+j)%2],
					"--consumer", []string{protocol.ConsumerDecode, protocol.ConsumerRaw}[(i+j)%2],
					"--pace", []string{protocol.PaceArrived, protocol.PaceNone}[(i/2+j)%2])
				p.run(exitOK)
				f := p.folder()
				if f.Result.Verdict.Status != results.StatusVerified || f.Result.FullRows != 2*stream.FullRows(4) || f.Plan.Stream != results.StreamMixed {
					t.Errorf("verdict %+v, %d full rows, stream %s", f.Result.Verdict, f.Result.FullRows, f.Plan.Stream)
				}
				v := newProgram(t, nil, "verify", p.output)
				v.run(exitOK)
				v.has("verify", v.stdout.String(), fmt.Sprintf("ok    full_rows: %d", 2*stream.FullRows(4)))
			})
		}
	}
}

// struckMixed finds a row to strike in the recorded trial of measure's plan: the
// first of a request with so many rows, its last row if last says so.
func struckMixed(t *testing.T, rows int, last bool) (f faulty.Fault, consumer int, completed []int) {
	t.Helper()
	w, err := stream.Mixed(7, stream.Place{Cell: protocol.Cell{Count: 5, Metadata: "rich"}, Ordinal: 3}, 4)
	if err != nil {
		t.Fatal(err)
	}
	counts, consumers := map[string][]int{}, map[string]int{}
	for _, b := range w.Stream {
		var rids []string
		var tokens []int
		if err := json.Unmarshal(b.Columns["rids"], &rids); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Columns["completion_tokens"], &tokens); err != nil {
			t.Fatal(err)
		}
		for i, rid := range rids {
			counts[rid] = append(counts[rid], tokens[i])
			consumers[rid] = b.Consumers[i]
		}
	}
	for i := range 5 {
		rid := fmt.Sprintf("rid-00000003-%05x", i)
		if len(counts[rid]) >= rows {
			f = faulty.Fault{RID: rid, Step: 0, Only: "/candidate-"}
			if last {
				f.Step = len(counts[rid]) - 1
			}
			return f, consumers[rid], counts[rid]
		}
	}
	t.Fatalf("no request of %d rows", rows)
	return f, 0, nil
}

// A worker that is wrong at one row of a mixed stream is found out, by the row.
func TestFaultyWorkersMixed(t *testing.T) {
	for _, kind := range []string{faulty.Field, faulty.Double, faulty.Drop} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f, consumer, completed := struckMixed(t, 3, true)
			f.Kind = kind
			n := len(completed)
			want := results.Failure{Consumer: &consumer, RID: f.RID, Field: "rows", Wanted: new(fmt.Sprint(n))}
			switch kind {
			case faulty.Field:
				want.Field, want.Wanted, want.Got = "completion_tokens", new(fmt.Sprint(completed[n-1])), new(fmt.Sprint(completed[n-1]+1))
			case faulty.Double:
				want.Got = new(fmt.Sprint(n + 1))
			case faulty.Drop:
				want.Got = new(fmt.Sprint(n - 1))
			}
			p := measure(t, []string{envFault + "=" + f.String()}, "--stream", "mixed", "--candidate", "builtin:per-row", "--timeout", "1500ms")
			p.run(exitInvalid)
			want.Arm, want.Count, want.Metadata, want.Round, want.Repetition = results.Candidate, 5, "rich", new(0), new(0)
			p.sameFailure(want)
		})
	}
}

// A worker that cuts a text of a mixed stream is found out by its text.
func TestTextCutMixed(t *testing.T) {
	t.Parallel()
	f, consumer, _ := struckMixed(t, 1, false)
	f.Kind = faulty.Cut
	p := measure(t, []string{envFault + "=" + f.String()}, "--stream", "mixed", "--candidate", "builtin:per-row")
	p.run(exitInvalid)
	if got := p.failed(results.StatusInvalid); got.Field != "output_strs" || got.RID != f.RID || value(got.Consumer) != consumer || value(got.Round) != 0 {
		t.Errorf("failure %+v, want the text of %s", got, f.RID)
	}
}

// A worker that forgets a field fails any run, before its first trial, though
// the run's own stream never sets that field.
func TestForgottenField(t *testing.T) {
	t.Parallel()
	f := faulty.Fault{Kind: faulty.Forget, RID: "full-00002", Step: 1, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--candidate", "builtin:per-row")
	p.run(exitInvalid)
	got := p.failed(results.StatusInvalid)
	p.has("failure", got.Message, "arm candidate, round -1: stream full: consumer 2, rid \"full-00002\", step 1, field dp_ranks: wanted ", "got null")
	if got.Field != "dp_ranks" || got.Arm != results.Candidate || len(p.folder().Trials) != 0 {
		t.Errorf("failure %+v after %d trials", got, len(p.folder().Trials))
	}
}

// record makes a folder of captured frames of SGLang's.
func record(t *testing.T, dir string, frames ...string) string {
	t.Helper()
	const captured = "../../runtime/wire/testdata"
	words := protocol.Vocabulary{Kind: protocol.VocabularyWords}
	for i, word := range []string{"[UNK]", "a", "b", "c"} {
		words.Tokens = append(words.Tokens, protocol.Token{ID: int64(i), Bytes: []byte(word)})
	}
	b, err := json.Marshal(words)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write("vocabulary.json", b)
	for _, name := range frames {
		b, err := os.ReadFile(filepath.Join(captured, name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, b)
	}
	return dir
}

// Frames that SGLang sent are replayed through two strategies, in every trial
// with rids of its own.
func TestRecorded(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	dir := record(t, filepath.Join(p.dir, "captured é"), "in-plain-32-step0.bin", "in-plain-32-step1.bin", "in-plain-32-step2.bin")
	p.cmd.Args = append(p.cmd.Args, "run", "--output", p.output, "--rounds", "1", "--repetitions", "2", "--candidate", "builtin:grouped-splice", "--stream", "recorded:"+dir)
	p.run(exitOK)
	f := p.folder()
	if f.Plan.HTTPWorkers != 4 || f.Plan.Counts[0] != 32 || f.Plan.Metadata[0] != "plain" || f.Plan.RowsPerRun != 96*2*2*2 || f.Plan.StreamSHA256 == "" {
		t.Errorf("plan %+v", f.Plan)
	}
	if strings.Contains(f.Plan.Stream, p.dir) || !strings.HasSuffix(f.Plan.Stream, "/captured é") {
		t.Errorf("the plan's stream is %s, want no folder of this machine", f.Plan.Stream)
	}
}

// The recording of examples/ is replayed as its README says.
func TestRecordedExample(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("../../examples/recorded")
	if err != nil {
		t.Fatal(err)
	}
	p := newProgram(t, nil)
	p.cmd.Args = append(p.cmd.Args, "run", "--output", p.output, "--rounds", "1", "--stream", "recorded:"+dir)
	p.run(exitOK)
	f := p.folder()
	if f.Result.Verdict.Status != results.StatusVerified || f.Plan.HTTPWorkers != 2 || f.Plan.Counts[0] != 5 || f.Plan.Metadata[0] != "rich" {
		t.Errorf("verdict %+v, plan %+v", f.Result.Verdict, f.Plan)
	}
}

// What is wrong with a stream is said before anything runs.
func TestStreamErrors(t *testing.T) {
	var counts []string
	for i := range 100 {
		counts = append(counts, fmt.Sprint(i+1))
	}
	frames := []string{"in-plain-2-step0.bin", "in-plain-2-step1.bin", "in-plain-2-step2.bin"}
	for name, k := range map[string]struct {
		frames []string
		args   []string
		want   string
	}{
		"no such stream":    {args: []string{"--stream", "mixd"}, want: `kind "mixd", want "seed", "mixed" or recorded:DIR`},
		"no such folder":    {args: []string{"--stream", "recorded:nosuch"}, want: "recording: open nosuch"},
		"no folder":         {args: []string{"--stream", "recorded:"}, want: "recording: "},
		"too many streams":  {args: []string{"--stream", "mixed", "--rounds", "1000", "--counts", strings.Join(counts, ","), "--metadata", "plain,rich", "--repetitions", "1"}, want: "ordinal of the trial"},
		"pickled":           {frames: []string{"in-rich-2-step0.bin"}, want: "in-rich-2-step0.bin: customized_info: wire: frame: cannot open a PickleWrapper"},
		"the other message": {frames: []string{"out-plain-32-step0-worker0.lpf"}, want: "worker0.lpf: frame 0 at byte 0: wire: frame at byte 3: got class BatchStrOutput"},
		"unfinished":        {frames: frames[:2], want: "finished_reasons is null, want a reason"},
		"other counts":      {frames: frames, args: []string{"--counts", "5"}, want: "counts [5], the first batch of "},
		"other metadata":    {frames: frames, args: []string{"--metadata", "rich"}, want: "metadata [rich], that of "},
		"fewer consumers":   {frames: frames, args: []string{"--http-workers", "1"}, want: "1 consumers, the recording has 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, nil, append([]string{"--output", "run"}, k.args...)...)
			if k.frames != nil {
				p.cmd.Args = append(p.cmd.Args, "--stream", "recorded:"+record(t, filepath.Join(p.dir, "captured"), k.frames...))
			}
			p.run(exitUsage)
			p.has("stderr", p.stderr.String(), k.want)
			if fileExists(filepath.Join(p.dir, "run")) {
				t.Error("a run folder was made")
			}
		})
	}
}

// Sendertest measures package load's sender against a null server, for scripts/bench_sender, and reads what
// other senders wrote.
//
//	sendertest null                 serve until standard input ends; the first line says where
//	sendertest send --url URL ...   play one schedule and judge it
//	sendertest highest --url URL    find the highest valid rate
//	sendertest vegeta --rps R FILE  the same figures of a vegeta run (vegeta encode --to csv)
//	sendertest stalling             like null, a server that stands still once, --after its first request
//	sendertest open --url URL ...   play one schedule: the latencies, from the intended times
//	sendertest closed --url URL     the same of a client that sends --requests, each when the last was answered
//
// Figures are printed as one line of name=value.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sendertest:", err)
		os.Exit(1)
	}
}

const wanted = "null, send, highest, vegeta, stalling, open, closed"

// settings are the flags of all commands.
type settings struct {
	url, distribution  string
	rps, seconds, from float64
	most               float64
	bytes, refine      int
	seed               uint64
	timeout, budget    time.Duration
	file               string

	after, lasts, answer, slow time.Duration
	requests                   int
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command; want one of %s", wanted)
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	switch args[0] {
	case "null":
		return null(in, out)
	case "send":
		return send(ctx, s, out)
	case "highest":
		return highest(ctx, s, out)
	case "vegeta":
		return vegeta(s, out)
	case "stalling":
		return stalling(s, in, out)
	case "open":
		return open(ctx, s, out)
	case "closed":
		return closed(ctx, s, out)
	}
	return fmt.Errorf("command %q, want one of %s", args[0], wanted)
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("sendertest "+args[0], flag.ContinueOnError)
	flags.StringVar(&s.url, "url", "", "the server")
	flags.StringVar(&s.distribution, "distribution", load.Constant, "of the gaps")
	flags.Float64Var(&s.rps, "rps", 2000, "requests a second")
	flags.Float64Var(&s.seconds, "seconds", 10, "of a run or burst")
	flags.Float64Var(&s.from, "from", 2000, "first rate of the search")
	flags.Float64Var(&s.most, "most", 200_000, "highest rate of the search")
	flags.IntVar(&s.refine, "refine", 3, "bursts between the highest valid rate and the lowest invalid one")
	flags.IntVar(&s.bytes, "bytes", 20_000, "of a body")
	flags.Uint64Var(&s.seed, "seed", 1, "of the schedule")
	flags.DurationVar(&s.timeout, "timeout", 30*time.Second, "of a request")
	flags.DurationVar(&s.budget, "budget", time.Minute, "of the search")
	flags.DurationVar(&s.after, "after", time.Second, "of the stall, from the first request")
	flags.DurationVar(&s.lasts, "lasts", 2*time.Second, "of the stall")
	flags.DurationVar(&s.answer, "answer", time.Millisecond, "that an answer takes otherwise")
	flags.DurationVar(&s.slow, "slow", 100*time.Millisecond, "latency beyond which a request counts as slow")
	flags.IntVar(&s.requests, "requests", 2000, "of a closed loop")
	if err := flags.Parse(args[1:]); err != nil {
		return s, err
	}
	s.file = flags.Arg(0)
	return s, nil
}

func null(in io.Reader, out io.Writer) error {
	n, err := load.StartNullServer("127.0.0.1:0", []byte("{}"))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, n.URL()); err != nil {
		return errors.Join(err, n.Close())
	}
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, n.Close())
}

func (s settings) target() load.Target {
	return load.Target{URL: s.url, Path: "/", Timeout: s.timeout}
}

func (s settings) bodies() [][]byte { return [][]byte{make([]byte, s.bytes)} }

func (s settings) schedule() load.Spec {
	return load.Spec{Seed: s.seed, Distribution: s.distribution, RPS: s.rps, Seconds: s.seconds, Unique: 1, Shards: 1}
}

// run sends by the settings' schedule.
func (s settings) run(ctx context.Context) (load.Schedule, load.Result, error) {
	schedule, err := load.NewSchedule(s.schedule())
	if err != nil {
		return load.Schedule{}, load.Result{}, err
	}
	r, err := load.Run(ctx, schedule, s.target(), s.bodies(), nil)
	return schedule, r, err
}

func send(ctx context.Context, s settings, out io.Writer) error {
	schedule, r, err := s.run(ctx)
	if err != nil {
		return err
	}
	v := load.Judge(schedule, r, load.NullLimits())
	return line(out, v.Sent, r.Self.Lateness, v)
}

// line prints the figures of one run.
func line(out io.Writer, sent float64, late load.Spread, v load.Validity) error {
	verdict := "VALID"
	if !v.Valid {
		verdict = "INVALID"
	}
	_, err := fmt.Fprintf(out, "requests=%d offered=%.6g sent=%.6g late_p50_ms=%.4g late_p99_ms=%.4g late_max_ms=%.4g verdict=%s reasons=%q\n",
		late.N, v.Offered, sent, 1e3*late.P50, 1e3*late.P99, 1e3*late.Max, verdict, strings.Join(v.Reasons, "; "))
	return err
}

func highest(ctx context.Context, s settings, out io.Writer) error {
	search := load.DefaultRateSearch(s.seed)
	search.Limits, search.From, search.Most, search.Tries, search.Refine = load.NullLimits(), s.from, s.most, 3, s.refine
	search.Factor, search.Least, search.Fraction, search.Seconds, search.Budget = 1.5, 100, 1, s.seconds, s.budget
	found, err := load.FindRate(ctx, search, s.target(), load.InTurn(s.bodies()), nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "highest=%.6g invalid=%.6g bursts=%d stopped=%q\n", found.Highest, found.Invalid, len(found.Bursts), found.Stopped)
	return err
}

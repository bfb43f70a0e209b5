package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
	"github.com/fanoutbench/fanoutbench/results"
)

func main() {
	if _, set := os.LookupEnv("GOMAXPROCS"); !set { // the server has as many again
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "streamload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var c Config
	flags := flag.NewFlagSet("streamload [flags] -- SERVER [ARGS]", flag.ContinueOnError)
	flags.IntVar(&c.Streams, "streams", 1000, "streams open at once")
	flags.IntVar(&c.Tokens, "tokens", 128, "tokens of each stream")
	flags.IntVar(&c.Prompt, "prompt", 16, "tokens of each prompt")
	flags.DurationVar(&c.Duration, "duration", 30*time.Second, "how long new streams are begun")
	flags.IntVar(&c.Rounds, "rounds", 0, "streams of each connection; 0: until the duration is over")
	every := flags.Duration("every", time.Minute, "time between two lines on memory")
	step := flags.Float64("step", 0, "milliseconds of the device's step: what gaps have beyond it is printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("no server to start: %s", flags.Name())
	}
	s, err := start(ctx, flags.Args(), time.Minute)
	if err != nil {
		return err
	}
	c.Address = s.address
	err = measure(ctx, out, s, c, *every, *step)
	if ended := s.stop(); err == nil {
		err = ended
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the server's exit   status 0; its last line: %s\n", lastLine(s.log.String()))
	return err
}

// measure loads the server and prints what came of it.
func measure(ctx context.Context, out io.Writer, s *server, c Config, every time.Duration, step float64) error {
	p := &printer{w: out}
	p.line("start to first token", "%.0f ms", ms(s.first))
	before, err := s.usages()
	if err != nil {
		return err
	}
	own, err := cpuclock.Process(os.Getpid())
	if err != nil {
		return err
	}
	beside := results.ReadDisturbance("/", nil)
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { s.watch(watching, p, every); close(watched) }()
	r, err := Run(ctx, c)
	stop()
	<-watched
	if err != nil {
		return err
	}
	taken := beside.Until(results.ReadDisturbance("/", nil)).StealMS()
	after, err := s.usages()
	if err != nil {
		return err
	}
	ownAfter, err := cpuclock.Process(os.Getpid())
	if err != nil {
		return err
	}
	p.result(r, step)
	p.usage(before, after, r.Seconds)
	p.line("client", "%.2f cores", (ownAfter-own).Seconds()/r.Seconds)
	if taken != nil {
		p.line("taken by the host", "%.2f cores", *taken/1000/r.Seconds)
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	p.line("rows", "built %.0f, delivered %.0f (%.0f a second), dropped %.0f, in flight %.0f; missing %.0f, doubled %.0f, reordered %.0f",
		rows["built"], rows["delivered"], rows["delivered"]/r.Seconds, rows["dropped"], rows["in_flight"], rows["missing"], rows["doubled"], rows["reordered"])
	if err := r.Compare(ctx, c); err != nil {
		return err
	}
	return p.err
}

// watch prints the memory of each process now and then.
func (s *server) watch(ctx context.Context, p *printer, every time.Duration) {
	begin := time.Now()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		all, err := s.usages()
		if err != nil {
			p.line("memory", "%v", err)
			continue
		}
		var parts []string
		for _, u := range byName(all) {
			parts = append(parts, fmt.Sprintf("%s %.1f", u.name, float64(u.kib)/1024))
		}
		p.line("memory", "after %.0f s, MiB: %s", time.Since(begin).Seconds(), strings.Join(parts, ", "))
	}
}

func byName(all map[int]usage) []usage {
	return slices.SortedFunc(maps.Values(all), func(a, b usage) int { return cmp.Compare(a.name, b.name) })
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(name, format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, "%-20s %s\n", name, fmt.Sprintf(format, args...))
	}
}

func (p *printer) result(r Result, step float64) {
	p.line("streams", "%d, each byte checked", r.Streams)
	p.line("tokens", "%d in %.1f s: %.0f a second", r.Tokens, r.Seconds, float64(r.Tokens)/r.Seconds)
	p.line("events", "%d: %.2f tokens each", r.Events, float64(r.Tokens)/float64(max(r.Events, 1)))
	p.line("first event", "p50 %.2f, p90 %.2f, p99 %.2f ms", Percentile(r.First, 0.5), Percentile(r.First, 0.9), Percentile(r.First, 0.99))
	p.line("gap", "p50 %.3f, p90 %.3f, p99 %.3f ms", Percentile(r.Gaps, 0.5), Percentile(r.Gaps, 0.9), Percentile(r.Gaps, 0.99))
	if step > 0 {
		p.line("gap beyond the step", "p50 %.3f, p90 %.3f, p99 %.3f ms", Percentile(r.Gaps, 0.5)-step, Percentile(r.Gaps, 0.9)-step, Percentile(r.Gaps, 0.99)-step)
	}
}

// usage prints the CPU of each process, and which is the busiest.
func (p *printer) usage(before, after map[int]usage, seconds float64) {
	var busiest string
	var most float64
	rates := map[int]usage{}
	for pid, u := range after {
		u.cpu -= before[pid].cpu
		rates[pid] = u
	}
	for _, u := range byName(rates) {
		cores := u.cpu.Seconds() / seconds
		p.line(u.name, "%.2f cores, %.1f MiB", cores, float64(u.kib)/1024)
		if cores > most {
			busiest, most = u.name, cores
		}
	}
	p.line("busiest", "%s", busiest)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

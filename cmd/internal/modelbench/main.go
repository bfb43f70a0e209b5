package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "modelbench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, in io.Reader, out, log io.Writer) error {
	commands := map[string]func(*flag.FlagSet, []string) error{
		"serve":  func(f *flag.FlagSet, args []string) error { return serveCommand(f, args, in, out) },
		"read":   func(f *flag.FlagSet, args []string) error { return readCommand(f, args, in, out) },
		"rounds": func(f *flag.FlagSet, args []string) error { return roundsCommand(ctx, f, args, out, log) },
		"ratio":  func(f *flag.FlagSet, args []string) error { return ratioCommand(f, args, out) },
		"text":   func(f *flag.FlagSet, args []string) error { return textCommand(ctx, f, args, out, log) },
	}
	const want = "want serve, read, rounds, ratio or text"
	if len(args) == 0 {
		return errors.New("no command; " + want)
	}
	c, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("command %q; %s", args[0], want)
	}
	flags := flag.NewFlagSet("modelbench "+args[0], flag.ContinueOnError)
	flags.SetOutput(log)
	return c(flags, args[1:])
}

// parse takes no arguments beside the flags but the number that is named.
func parse(f *flag.FlagSet, args []string, rest int) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != rest {
		return fmt.Errorf("%d arguments %q, want %d", f.NArg(), f.Args(), rest)
	}
	return nil
}

func serveCommand(f *flag.FlagSet, args []string, in io.Reader, out io.Writer) (err error) {
	path := f.String("model", "", "a GGUF file or a folder")
	threads := f.Int("threads", 2, "that compute")
	room := f.Int("room", 1024, "tokens of a prompt and what follows")
	kind := f.String("runtime", runtimeCPU, "cpu, or plain: its twin in plain loops, on one thread")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	d, err := openDecoder(*path, *kind, *room, *threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.model.close()) }()
	return serveModel(in, out, d)
}

func readCommand(f *flag.FlagSet, args []string, in io.Reader, out io.Writer) error {
	bytes := f.Int64("bytes", 1<<30, "that a pass reads")
	threads := f.Int("threads", 2, "that read")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	return serveRead(in, out, *bytes, *threads)
}

// peerFlags are those of the commands that start both arms.
func peerFlags(f *flag.FlagSet) func() (settings, error) {
	peer := f.String("peer", "", "command of the other arm, words apart by blanks; it gets --model, --threads and --room")
	threads := f.Int("threads", 2, "of each arm")
	room := f.Int("room", 1024, "tokens of a prompt and what follows")
	return func() (settings, error) {
		s := settings{peer: strings.Fields(*peer), threads: *threads, room: *room}
		if len(s.peer) == 0 || s.threads < 1 {
			return s, fmt.Errorf("--peer %q, --threads %d; want a command and at least one thread", *peer, s.threads)
		}
		return s, nil
	}
}

func roundsCommand(ctx context.Context, f *flag.FlagSet, args []string, out, log io.Writer) error {
	b := &bench{out: json.NewEncoder(out), log: log}
	f.Func("model", "NAME=PATH, as often as there are files", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok || name == "" || path == "" {
			return errors.New("want NAME=PATH")
		}
		b.files = append(b.files, &file{name: name, path: path})
		return nil
	})
	common := peerFlags(f)
	f.Uint64Var(&b.Seed, "seed", 1, "of the order and the ids")
	f.IntVar(&b.Rounds, "rounds", 7, "beside the warm-up")
	f.IntVar(&b.Prompt, "prompt", 300, "ids of a prefill")
	f.IntVar(&b.Steps, "steps", 24, "of a decode")
	f.DurationVar(&b.settle, "settle", 200*time.Millisecond, "waited before each trial")
	f.Int64Var(&b.Vocabulary, "vocabulary", 151643, "ids are drawn below this")
	f.Float64Var(&b.NoiseLimit, "noise-limit", 0.1, "by which log-probabilities of the two may differ")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	var err error
	if b.settings, err = common(); err != nil {
		return err
	}
	b.Threads = b.threads
	if len(b.files) == 0 || b.Rounds < 1 || b.Prompt < 1 || b.Steps < 1 || b.Vocabulary < 1 {
		return fmt.Errorf("%d models, %d rounds, %d ids, %d steps, a vocabulary of %d; want at least one of each", len(b.files), b.Rounds, b.Prompt, b.Steps, b.Vocabulary)
	}
	return b.run(ctx)
}

func ratioCommand(f *flag.FlagSet, args []string, out io.Writer) error {
	if err := parse(f, args, 1); err != nil {
		return err
	}
	file, err := os.Open(f.Arg(0))
	if err != nil {
		return err
	}
	r, err := readRun(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.Arg(0), err)
	}
	return r.report(out)
}

func textCommand(ctx context.Context, f *flag.FlagSet, args []string, out, log io.Writer) error {
	t := &texts{out: out, log: log}
	common := peerFlags(f)
	f.StringVar(&t.path, "model", "", "a GGUF file")
	prompts := f.String("prompts", "", "a file with a prompt a line, line ends in it written \\n")
	f.IntVar(&t.tokens, "tokens", 64, "behind each prompt")
	f.IntVar(&t.top, "top", 20, "candidates at each position")
	f.Float64Var(&t.limit, "noise-limit", 0.2, "of the noise in the median")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	text, err := os.ReadFile(*prompts)
	if err != nil {
		return err
	}
	if t.prompts, err = readPrompts(string(text)); err != nil {
		return fmt.Errorf("%s: %w", *prompts, err)
	}
	if t.settings, err = common(); err != nil {
		return err
	}
	return t.run(ctx)
}

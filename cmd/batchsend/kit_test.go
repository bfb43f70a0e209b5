package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/serve"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// The exit statuses by short names.
const (
	exitOK           = cli.ExitOK
	exitRegression   = cli.ExitRegression
	exitUsage        = cli.ExitUsage
	exitInconclusive = cli.ExitInconclusive
	exitInvalid      = cli.ExitInvalid
)

// envMain makes the test binary the program itself.
const envMain = "BATCHSEND_TEST_MAIN"

// The builtin arms' servers are this binary, as they are the program's otherwise.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveCommand {
		os.Exit(serve.Main(os.Args[1:2], os.Args[2:]))
	}
	if os.Getenv(envMain) != "" {
		main()
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // these tests mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// patience bounds what must not happen; no test waits for it to pass.
const patience = 3 * time.Minute

// program is one run of batchsend.
type program struct {
	t              *testing.T
	args           []string
	output         string
	stdout, stderr bytes.Buffer
}

// tiny is a load that takes a second, on a machine that does other things: only tests
// of lateness look at lateness.
var tiny = []string{
	"--rounds", "1", "--duration", "400ms", "--rps", "20", "--item-count", "3", "--single-requests", "2", "--warmup", "1",
	"--max-lateness", "1h", "--query-tokens", "4", "--item-tokens", "6", "--seed", "7",
}

// measure prepares a run of tiny and further flags, which win.
func measure(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, output: filepath.Join(t.TempDir(), "run")}
	p.args = append(append(append(p.args, tiny...), args...), "--output", p.output)
	return p
}

// command prepares a run of other commands.
func command(t *testing.T, args ...string) *program {
	return &program{t: t, args: args}
}

// run runs it, in a process of its own, and wants one of the exit statuses.
func (p *program) run(want ...int) *program {
	p.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, p.args...)
	cmd.Env = append(os.Environ(), envMain+"=1", "GORACE=atexit_sleep_ms=0") // the race detector would keep each process for a second
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); !slices.Contains(want, got) {
		p.t.Fatalf("batchsend %s: %v, want exit status %d\n%s\n%s", strings.Join(p.args, " "), cmd.ProcessState, want, p.stdout.String(), p.stderr.String())
	}
	return p
}

// says wants texts in what was written.
func (p *program) says(texts ...string) *program {
	p.t.Helper()
	all := p.stdout.String() + p.stderr.String()
	for _, text := range texts {
		if !strings.Contains(all, text) {
			p.t.Errorf("batchsend %s: no %q in\n%s", strings.Join(p.args, " "), text, all)
		}
	}
	return p
}

// folder reads the run that was made.
func (p *program) folder() *batchrun.Folder {
	p.t.Helper()
	f, err := batchrun.Read(p.output)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// times are numbers that differ between two runs of one load.
var times = regexp.MustCompile(`\b\d+\.\d+\b|\b\d{4,}\b`)

// blanked is text without them and without the blanks that align them.
func blanked(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(times.ReplaceAllString(line, "#")), " "))
	}
	return strings.Join(lines, "\n")
}

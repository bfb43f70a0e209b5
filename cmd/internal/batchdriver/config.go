package batchdriver

import (
	"errors"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// Config is a run to do.
type Config struct {
	Arms         map[string]servearm.Arm // reference and candidate, made
	Load         Load
	Rounds       int
	Warmup       int // requests of each size to every fresh server before its first trial
	Seed         uint64
	MarginPct    float64
	Primary      []string          // metrics, of every cell, that the decision is about; nil: batchrun.DefaultPrimary
	Tolerance    *float64          // of scores; nil: see tolerance
	MaxFailedPct float64           // of a trial's requests
	Timeout      time.Duration     // of a request
	MaxLateness  time.Duration     // how late a request may be sent; 0: load.DefaultLimits
	ReadyTimeout time.Duration     // of a server's start; 0: see servearm.Config
	Restart      string            // batchrun.RestartRound or RestartRun
	ServerLogs   map[string]string // of url arms: the files that their logs are in
	Keys         map[string]string // of arms that are not of this module: API keys, which are in no record
	Shard        int               // which part of the open loops, from 0
	Shards       int               // of how many; 0: the whole load
	StartAt      time.Time         // of the first trial, and of the others at equal distances from it, see pace; zero: as soon as can be
	Output       string            // folder to make
	ToolVersion  string
	Command      []string                     // for the record
	Repeat       func(batchrun.Plan) []string // the command that makes the planned load again; nil: none is recorded
	Progress     Progress
}

// Load is what both arms get.
type Load struct {
	API          string
	Singles      []int // items of a request of each single cell
	Sequential   int   // requests of a single cell, one after the other
	Items        int   // of a request of the open loop; 0: no open loop
	QueryTokens  int
	ItemTokens   int
	Unique       int
	SharedPrefix bool
	Cold         bool
	OutputTokens int
	Stream       bool
	Model        string  // in every request; "": default
	Labels       []int64 // nil: the published ones where the server has them
	Dataset      *Dataset
	RPS          float64 // 0: looked for
	Duration     time.Duration
	Distribution string
	Tokenizer    *Tokenizer      // of the served model, for servers that are not of this module; nil: they are asked
	Schedules    []load.Schedule // to replay, one for each round or one for all, of this rate, duration and distribution; nil: drawn
}

// Dataset has real requests in place of made-up ones.
type Dataset struct {
	Prompts []scoring.Prompt
	SHA256  string
}

// Tokenizer is one that was read from a file.
type Tokenizer struct {
	Encode func(text string) ([]int64, error)
	SHA256 string // of the file
}

// Progress hears how far a run is.
type Progress interface {
	Say(line string)
	Trial(done, total int, slot batchrun.Slot)
}

// ErrNotVerified is the error of a run that ended invalid or incomplete; the result
// says why.
var ErrNotVerified = errors.New("the run is not verified")

// maxBodies bounds the memory that the bodies of one trial take, in bytes.
const maxBodies = 1 << 30

// arms are the names in the order of the records.
var arms = []string{batchrun.Reference, batchrun.Candidate}

func (c *Config) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress.Say(fmt.Sprintf(format, args...))
	}
}

// cells are those of the plan; the rate must be known.
func (l Load) cells(rps float64) []batchrun.Cell {
	var cells []batchrun.Cell
	for _, n := range l.Singles {
		cells = append(cells, batchrun.Cell{Kind: batchrun.KindSingle, Items: n, Requests: l.Sequential})
	}
	if l.Items > 0 {
		cells = append(cells, batchrun.Cell{Kind: l.Distribution, Items: l.Items, RPS: rps, Seconds: l.Duration.Seconds()})
	}
	return cells
}

// sizes are the different numbers of items, in the order in which the cells have them.
func (l Load) sizes() []int {
	var sizes []int
	seen := map[int]bool{}
	for _, c := range l.cells(1) {
		if !seen[c.Items] {
			seen[c.Items] = true
			sizes = append(sizes, c.Items)
		}
	}
	return sizes
}

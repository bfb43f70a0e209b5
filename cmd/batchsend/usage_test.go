package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mistake in the command line is told by its flag or arm, before anything is started.
func TestUsage(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		args []string
		want string
	}{
		"a word":                     {[]string{"builtin:batch"}, "batchsend --help"},
		"a flag that is none":        {[]string{"--rate", "5"}, "unknown flag: --rate"},
		"rate of zero":               {[]string{"--rps", "0"}, "--rps is 0"},
		"negative rate":              {[]string{"--rps", "-3"}, "--rps is -3"},
		"NaN as a rate":              {[]string{"--rps", "NaN"}, "--rps is NaN"},
		"no duration":                {[]string{"--duration", "0s"}, "--duration is 0s"},
		"distribution":               {[]string{"--distribution", "normal"}, `--distribution is "normal"`},
		"no schedule":                {[]string{"--schedule", "/nonexistent"}, "no such file"},
		"items":                      {[]string{"--item-count", "0"}, "--item-count is 0"},
		"chat of many":               {[]string{"--api", "chat", "--item-count", "2"}, "--item-count is 2, want 1"},
		"rounds":                     {[]string{"--rounds", "0"}, "--rounds is 0"},
		"warm-up":                    {[]string{"--warmup", "-1"}, "--warmup is -1"},
		"timeout":                    {[]string{"--timeout", "0s"}, "--timeout is 0s"},
		"ready timeout":              {[]string{"--ready-timeout", "-1s"}, "--ready-timeout is -1s"},
		"lateness":                   {[]string{"--max-lateness", "-1s"}, "--max-lateness is -1s"},
		"restart":                    {[]string{"--restart", "never"}, `--restart is "never"`},
		"api":                        {[]string{"--api", "embed"}, `--api is "embed"`},
		"tolerance":                  {[]string{"--score-tolerance", "-1"}, "--score-tolerance is -1"},
		"failures":                   {[]string{"--max-failed", "101"}, "--max-failed is 101"},
		"margin":                     {[]string{"--margin", "0"}, "--margin is 0"},
		"metric":                     {[]string{"--primary", "p95_ms"}, "--primary is"},
		"query tokens":               {[]string{"--query-tokens", "-1"}, "--query-tokens is -1"},
		"item tokens":                {[]string{"--item-tokens", "0"}, "--item-tokens is 0"},
		"no bodies":                  {[]string{"--unique-requests", "0"}, "--unique-requests is 0"},
		"output tokens":              {[]string{"--api", "chat", "--output-tokens", "0"}, "--output-tokens is 0"},
		"output tokens of a score":   {[]string{"--output-tokens", "4"}, "--output-tokens means nothing"},
		"a stream of scores":         {[]string{"--stream"}, "--stream means nothing"},
		"no tokenizer":               {[]string{"--tokenizer", "/nonexistent.json", "--candidate", "url:http://127.0.0.1:1"}, "no such file"},
		"a tokenizer of nobody":      {[]string{"--tokenizer", "x"}, "--tokenizer x means nothing"},
		"a file that is none":        {[]string{"--tokenizer", "testdata/run.txt", "--candidate", "url:http://127.0.0.1:1"}, "--tokenizer testdata/run.txt: "},
		"no data set":                {[]string{"--dataset", "/nonexistent.jsonl"}, "no such file"},
		"data set and items":         {[]string{"--dataset", "x", "--item-count", "4"}, "--item-count means nothing with --dataset"},
		"a word for an arm":          {[]string{"--candidate", "batch"}, `candidate: arm "batch"`},
		"a mode that is none":        {[]string{"--candidate", "builtin:bach"}, "candidate: "},
		"a server's unknown flag":    {[]string{"--reference", "builtin:individual@cache-size=4"}, "cache-size"},
		"a server's wrong value":     {[]string{"--set", "sim-step-base=fast"}, "sim-step-base"},
		"an option twice":            {[]string{"--set", "device=sim", "--set", "device=cpu"}, "option device is given twice"},
		"an option with dashes":      {[]string{"--set", "--device=sim"}, "without dashes"},
		"options of another server":  {[]string{"--reference", "url:http://127.0.0.1:1", "--reference-set", "device=sim"}, "--reference-set means nothing"},
		"a key of nobody":            {[]string{"--api-key-env", "HOME"}, "--api-key-env HOME means nothing"},
		"a key that is not there":    {[]string{"--candidate", "url:http://127.0.0.1:1", "--api-key-env", "BATCHSEND_NO_SUCH"}, `"BATCHSEND_NO_SUCH" is empty`},
		"a key of another":           {[]string{"--candidate", "url:http://127.0.0.1:1", "--api-key-env", "third=HOME"}, `--api-key-env is "third=HOME"`},
		"a key twice":                {[]string{"--candidate", "url:http://127.0.0.1:1", "--api-key-env", "HOME", "--api-key-env", "candidate=HOME"}, "--api-key-env is given twice for the candidate"},
		"options of others":          {[]string{"--reference", "url:http://127.0.0.1:1", "--candidate", "url:http://127.0.0.1:2", "--set", "device=sim"}, "--set means nothing to url:http://127.0.0.1:1 and url:http://127.0.0.1:2"},
		"no port":                    {[]string{"--candidate", "launch:sleep 5"}, "{port}"},
		"an address":                 {[]string{"--candidate", "url:https://example.org"}, "url:http://HOST:PORT"},
		"a folder that is none":      {[]string{"--candidate", "dir:/nonexistent"}, "/nonexistent"},
		"sweep of nothing":           {[]string{"--sweep", "max-tokens="}, "--sweep"},
		"sweep of another flag":      {[]string{"--sweep", "page-size=1,2"}, "--sweep"},
		"a limit twice":              {[]string{"--sweep", "max-tokens=5,5"}, "--sweep"},
		"a negative limit":           {[]string{"--sweep", "max-tokens=-5"}, "--sweep"},
		"a limit that is not whole":  {[]string{"--sweep", "max-tokens=0,4.5"}, `this one is "4.5"`},
		"a base that is no number":   {[]string{"--sweep", "step-base=0.1,fast"}, `seconds of 0, or from 1e-09 to 3600, each once; this one is "fast"`},
		"a base twice":               {[]string{"--sweep", "step-base=0.1,0.10"}, `this one is "0.10"`},
		"a base of NaN":              {[]string{"--sweep", "step-base=NaN"}, `this one is "NaN"`},
		"a base of an hour and more": {[]string{"--sweep", "step-base=3601"}, `this one is "3601"`},
		"a base of another device":   {[]string{"--sweep", "step-base=0.1", "--reference-set", "device=cpu"}, `with the device "cpu", want sim`},
		"a base of another server":   {[]string{"--sweep", "step-base=0.1", "--reference", "url:http://127.0.0.1:1"}, "--sweep means nothing"},
		"the share of a base":        {[]string{"--sweep", "step-base=0.1", "--sweep-within", "5"}, "--sweep-within means nothing"},
		"the share of a sweep":       {[]string{"--sweep-within", "-1"}, "--sweep-within is -1"},
		"a shard that is none":       {[]string{"--shard", "2/2"}, `--shard is "2/2"`},
		"a shard of nothing":         {[]string{"--shard", "1"}, `--shard is "1"`},
		"a shard and more":           {[]string{"--shard", "0/2/3"}, `--shard is "0/2/3"`},
		"a shard's rate":             {[]string{"--shard", "0/2", "--seed", "1"}, "--rps is not given"},
		"a shard's seed":             {[]string{"--shard", "0/2", "--rps", "5"}, "--seed is not given"},
		"single requests, split":     {[]string{"--shard", "0/2", "--rps", "5", "--seed", "1", "--single-requests", "3"}, "--single-requests is 3, want none"},
		"a sweep, split":             {[]string{"--shard", "0/2", "--rps", "5", "--seed", "1", "--sweep", "max-tokens=0"}, "--sweep means nothing with --shard"},
		"a shard's tolerance":        {[]string{"--shard", "0/2", "--rps", "5", "--seed", "1", "--candidate", "url:http://127.0.0.1:1"}, "--score-tolerance is not given"},
		"a start of no shard":        {[]string{"--start-at", "2026-01-31T12:00:00Z"}, "--start-at means nothing"},
		"a start that is no time":    {[]string{"--shard", "0/2", "--rps", "5", "--seed", "1", "--start-at", "noon"}, `--start-at is "noon"`},
		"a start in the past":        {[]string{"--shard", "0/2", "--rps", "5", "--seed", "1", "--start-at", "2001-01-31T12:00:00Z"}, "which has passed"},
		"merge of nothing":           {[]string{"merge"}, "merge: no arguments"},
		"merge into nothing":         {[]string{"merge", "x"}, "--output is not given"},
		"verify of nothing":          {[]string{"verify"}, "verify: no arguments"},
		"report of nothing":          {[]string{"report"}, "report: 0 arguments"},
		"a format":                   {[]string{"report", "x", "--format", "pdf"}, `--format is "pdf"`},
		"gate's margin":              {[]string{"gate", "x", "--margin", "much"}, `--margin is "much"`},
		"gate's doubt":               {[]string{"gate", "x", "--on-inconclusive", "cry"}, `--on-inconclusive is "cry"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := command(t, k.args...)
			if !slices.Contains([]string{"report", "gate", "merge", "verify"}, k.args[0]) {
				p.output = filepath.Join(t.TempDir(), "run")
				p.args = append(p.args, "--output", p.output)
			}
			p.run(exitUsage).says(k.want)
			if p.stdout.Len() > 0 {
				t.Errorf("on stdout: %s", p.stdout.String())
			}
		})
	}
}

// A run is never written over.
func TestOutputExists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command(t, "--output", dir).run(exitUsage).says("a run is never overwritten")
}

// What is no run folder is told.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, words := range []string{"report", "verify", "gate"} {
		command(t, words, dir).run(exitInvalid)
		command(t, words, filepath.Join(dir, "none")).run(exitInvalid).says("none")
	}
}

// The flags that the issue of this program names are there.
func TestHelp(t *testing.T) {
	t.Parallel()
	p := command(t, "--help").run(exitOK)
	for flag := range strings.FieldsSeq("reference candidate set reference-set candidate-set ready-timeout rps duration distribution item-count query-tokens " +
		"item-tokens unique-requests shared-prefix cold rounds warmup timeout output score-tolerance api dataset server-log restart seed margin sweep schedule shard tokenizer") {
		p.says("--" + flag + " ")
	}
	if strings.Contains(p.stdout.String(), serveCommand) {
		t.Error("the hidden command is shown")
	}
	if _, err := os.Stat("runs"); !os.IsNotExist(err) {
		t.Errorf("a folder of runs is there: %v", err)
	}
}

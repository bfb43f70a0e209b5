package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistake in the command line is told by its flag or arm, before anything is started.
func TestUsage(t *testing.T) {
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
		"no data set":                {[]string{"--dataset", "/nonexistent.jsonl"}, "no such file"},
		"data set and items":         {[]string{"--dataset", "x", "--item-count", "4"}, "--item-count means nothing with --dataset"},
		"a word for an arm":          {[]string{"--candidate", "batch"}, `candidate: arm "batch"`},
		"a mode that is none":        {[]string{"--candidate", "builtin:bach"}, "candidate: "},
		"a server's unknown flag":    {[]string{"--reference", "builtin:individual@cache-size=4"}, "cache-size"},
		"a server's wrong value":     {[]string{"--set", "sim-step-base=fast"}, "sim-step-base"},
		"an option twice":            {[]string{"--set", "device=sim", "--set", "device=cpu"}, "option device is given twice"},
		"an option with dashes":      {[]string{"--set", "--device=sim"}, "without dashes"},
		"options of another server":  {[]string{"--reference", "url:http://127.0.0.1:1", "--reference-set", "device=sim"}, "--reference-set means nothing"},
		"no port":                    {[]string{"--candidate", "launch:sleep 5"}, "{port}"},
		"an address":                 {[]string{"--candidate", "url:https://example.org"}, "url:http://HOST:PORT"},
		"a folder that is none":      {[]string{"--candidate", "dir:/nonexistent"}, "/nonexistent"},
		"sweep of nothing":           {[]string{"--sweep", "max-tokens="}, "--sweep"},
		"sweep of another flag":      {[]string{"--sweep", "page-size=1,2"}, "--sweep"},
		"a limit twice":              {[]string{"--sweep", "max-tokens=5,5"}, "--sweep"},
		"a negative limit":           {[]string{"--sweep", "max-tokens=-5"}, "--sweep"},
		"a base that is no number":   {[]string{"--sweep", "step-base=0.1,fast"}, `seconds from 0 to 3600, each once; this one is "fast"`},
		"a base twice":               {[]string{"--sweep", "step-base=0.1,0.10"}, `this one is "0.10"`},
		"a base of NaN":              {[]string{"--sweep", "step-base=NaN"}, `this one is "NaN"`},
		"a base of an hour and more": {[]string{"--sweep", "step-base=3601"}, `this one is "3601"`},
		"a base of another device":   {[]string{"--sweep", "step-base=0.1", "--reference-set", "device=cpu"}, `with the device "cpu", want sim`},
		"a base of another server":   {[]string{"--sweep", "step-base=0.1", "--reference", "url:http://127.0.0.1:1"}, "--sweep means nothing"},
		"the share of a sweep":       {[]string{"--sweep-within", "-1"}, "--sweep-within is -1"},
		"report of nothing":          {[]string{"report"}, "report: 0 arguments"},
		"a format":                   {[]string{"report", "x", "--format", "pdf"}, `--format is "pdf"`},
		"gate's margin":              {[]string{"gate", "x", "--margin", "much"}, `--margin is "much"`},
		"gate's doubt":               {[]string{"gate", "x", "--on-inconclusive", "cry"}, `--on-inconclusive is "cry"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := command(t, k.args...)
			if k.args[0] != "report" && k.args[0] != "gate" {
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
	dir := t.TempDir()
	command(t, "--output", dir).run(exitUsage).says("a run is never overwritten")
}

// What is no run folder is told.
func TestNoFolder(t *testing.T) {
	dir := t.TempDir()
	for _, words := range []string{"report", "verify", "gate"} {
		command(t, words, dir).run(exitInvalid)
		command(t, words, filepath.Join(dir, "none")).run(exitInvalid).says("none")
	}
}

// The flags that the issue of this program names are there.
func TestHelp(t *testing.T) {
	p := command(t, "--help").run(exitOK)
	for flag := range strings.FieldsSeq("reference candidate set reference-set candidate-set ready-timeout rps duration distribution item-count query-tokens " +
		"item-tokens unique-requests shared-prefix cold rounds warmup timeout output score-tolerance api dataset server-log restart seed margin sweep") {
		p.says("--" + flag + " ")
	}
	if strings.Contains(p.stdout.String(), serveCommand) {
		t.Error("the hidden command is shown")
	}
	if _, err := os.Stat("runs"); !os.IsNotExist(err) {
		t.Errorf("a folder of runs is there: %v", err)
	}
}

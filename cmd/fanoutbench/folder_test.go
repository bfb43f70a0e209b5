package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// A digit, a line or a hash changed in a run's folder is found and named, and no
// report shows a figure of it.
func TestVerifyFindsChanges(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	p.run(exitOK)
	for name, k := range map[string]struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		"a digit of a time": {results.RawFile, digitAfter(`"complete_ms":`), "raw_sha256"},
		"a line":            {results.RawFile, func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }, results.RawFile},
		"a half line":       {results.RawFile, func(b []byte) []byte { return b[:len(b)-10] }, results.RawFile},
		"a digit of a figure": {
			results.ResultFile, digitAfter(`"reference_ms": `), "reference_ms",
		},
		"a hash":             {results.ResultFile, digitAfter(`"raw_sha256": "`), "raw_sha256"},
		"the seed":           {results.PlanFile, digitAfter(`"seed": `), "plan_sha256"},
		"the number of rows": {results.ResultFile, digitAfter(`"verified_rows": `), "verified_rows"},
		"a digit of a table": {results.SummaryFile, digitAfter("complete_ms,"), results.SummaryFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(dir, os.DirFS(p.output)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, k.file)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := k.change(bytes.Clone(b))
			if bytes.Equal(b, changed) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(path, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			v := newProgram(t, nil, "verify", dir)
			v.run(exitInvalid)
			v.has("verify", v.stdout.String()+v.stderr.String(), k.want, "FAIL")
			if k.file == results.SummaryFile {
				return // reports are made of result.json
			}
			r := newProgram(t, nil, "report", dir)
			r.run(exitInvalid)
			if r.stdout.Len() > 0 {
				t.Errorf("report: %s", &r.stdout)
			}
		})
	}
}

// digitAfter changes the first digit behind the text.
func digitAfter(text string) func([]byte) []byte {
	return func(b []byte) []byte {
		at := bytes.Index(b, []byte(text))
		if at < 0 {
			return b
		}
		for i := at + len(text); i < len(b); i++ {
			if b[i] >= '0' && b[i] <= '9' {
				b[i] = '1' + (b[i]-'0')%9
				return b
			}
		}
		return b
	}
}

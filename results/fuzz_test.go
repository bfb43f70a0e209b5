package results

import (
	"bytes"
	"testing"
)

// What a reader accepts, it must be able to write again to the same bytes: so
// nothing in a file goes unread.

func FuzzPlan(f *testing.F) {
	p := examplePlan()
	b, err := encodeFile(&p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(bytes.Replace(b, []byte(`"rounds": 9`), []byte(`"rounds": 1e3`), 1))
	f.Add([]byte(`{"schema":1}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePlan(b)
		if err != nil {
			return
		}
		again, err := encodeFile(&p)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%v: %q became %q", err, b, again)
		}
		if n := p.Len(); n < 4 || n > MaxTrials {
			t.Errorf("a valid plan has %d trials", n)
		}
	})
}

func FuzzRaw(f *testing.F) {
	p := handPlan(1, 1)
	var whole []byte
	for _, trial := range trialsOf(p, source()) {
		line, err := encodeLine(&trial)
		if err != nil {
			f.Fatal(err)
		}
		whole = append(whole, line...)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.ReplaceAll(whole, []byte("null"), []byte("0")))
	f.Add(append(bytes.Clone(whole), whole...))
	f.Add([]byte("\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		trials, err := parseRaw(b, p)
		var again []byte
		for i := range trials {
			line, err := encodeLine(&trials[i])
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, line...)
		}
		if err == nil && !bytes.Equal(again, b) || !bytes.HasPrefix(b, again) {
			t.Errorf("%v: %q became %q", err, b, again)
		}
		if _, err := Summarize(p, trials); err == nil && len(trials) != p.Len() {
			t.Errorf("a summary was made of %d trials", len(trials))
		}
	})
}

func FuzzResult(f *testing.F) {
	p := examplePlan()
	for _, dir := range []string{exampleRun(f), brokenRun(f, StatusInvalid), brokenRun(f, StatusIncomplete)} {
		f.Add([]byte(content(f, dir, ResultFile)))
	}
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseResult(b, p)
		if err != nil {
			return
		}
		again, err := encodeFile(&r)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%v: %q became %q", err, b, again)
		}
		// No report of it fails or shows figures that are not from trials.
		folder := &Folder{Plan: p, Result: r}
		for _, format := range Formats {
			var out bytes.Buffer
			err := Report(&out, folder, format)
			if (err == nil) == (r.Verdict.Status == StatusVerified) {
				t.Errorf("%s of a run that is %s without trials: %v", format, r.Verdict.Status, err)
			}
		}
	})
}

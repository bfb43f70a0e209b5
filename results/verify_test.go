package results

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// failed verifies and returns the names of the checks that failed, and their
// details.
func failed(t *testing.T, dir string, opt VerifyOptions) (names []string, details string) {
	t.Helper()
	checks, err := Verify(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
			details += c.Name + ": " + c.Detail + "\n"
		}
	}
	return names, details
}

func TestVerifyHolds(t *testing.T) {
	dir := exampleRun(t)
	checks, err := Verify(dir, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range checks {
		if !c.OK {
			t.Errorf("%s failed: %s", c.Name, c.Detail)
		}
		names = append(names, c.Name)
	}
	want := "plan.json raw.jsonl result.json plan_sha256 raw_sha256 summary summary.csv trials verified_rows fence_rows warmup_rows status"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("checks %s\nwant %s", got, want)
	}
}

// edit changes a file; resealed writes the hash of the changed file into
// result.json, as someone would who wants to deceive.
type edit struct {
	name    string
	file    string
	change  func(string) string
	reseal  bool
	fails   []string // all of these, maybe more
	details []string
}

func replaced(old, by string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, by, 1) }
}

func lines(change func([]string) []string) func(string) string {
	return func(s string) string {
		return strings.Join(change(strings.SplitAfter(strings.TrimSuffix(s, "\n"), "\n")), "")
	}
}

var digit = regexp.MustCompile(`[0-9]`)

// bumped changes the value behind the n-th occurrence of a key: a measured
// number by a thousandth, so that the order of values stays as it is, anything
// else in its last digit.
func bumped(key string, n int) func(string) string {
	return func(s string) string {
		at := 0
		for range n {
			at += strings.Index(s[at:], key) + len(key)
		}
		end := at + strings.IndexAny(s[at:], ",\n}")
		if v, err := strconv.ParseFloat(s[at:end], 64); err == nil && strings.Contains(s[at:end], ".") {
			return s[:at] + strconv.FormatFloat(v*1.001, 'f', -1, 64) + s[end:]
		}
		digits := digit.FindAllStringIndex(s[at:end], -1)
		last := at + digits[len(digits)-1][0]
		return s[:last] + string('0'+(s[last]-'0'+1)%10) + s[last+1:]
	}
}

func TestVerifyFindsTampering(t *testing.T) {
	edits := []edit{
		{"plan: seed", PlanFile, replaced(`"seed": 7`, `"seed": 8`), false, []string{"plan_sha256"}, []string{"want "}},
		{"plan: rounds", PlanFile, replaced(`"rounds": 9`, `"rounds": 8`), false, []string{PlanFile, RawFile, "summary"}, []string{"first is", "not checked"}},
		{"plan: coin", PlanFile, replaced("\"reference\",\n    \"candidate\"", "\"candidate\",\n    \"reference\""), true, []string{RawFile}, []string{"raw.jsonl:1:", "trial 1 is"}},
		{"plan: unknown key", PlanFile, replaced(`"seed"`, `"sed"`), false, []string{PlanFile}, []string{`"sed"`}},
		{"plan: gone", PlanFile, nil, false, []string{PlanFile, RawFile, ResultFile, "status"}, []string{"not checked"}},
		{"raw: a line removed", RawFile, lines(func(l []string) []string { return slices.Delete(l, 70, 71) }), true, []string{RawFile, "trials"}, []string{"raw.jsonl:71:"}},
		{"raw: the last line removed", RawFile, lines(func(l []string) []string { return l[:len(l)-1] }), true, []string{"summary", "trials", "verified_rows"}, []string{"159 of 160 trials"}},
		{"raw: a line doubled", RawFile, lines(func(l []string) []string { return slices.Insert(l, 10, l[10]) }), true, []string{RawFile}, []string{"raw.jsonl:12:"}},
		{"raw: two lines swapped", RawFile, lines(func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }), true, []string{RawFile}, []string{"raw.jsonl:5:"}},
		{"raw: two lines of one arm swapped", RawFile, lines(func(l []string) []string { l[80], l[82] = l[82], l[80]; return l }), true, []string{RawFile}, []string{"raw.jsonl:81:"}},
		{"raw: torn", RawFile, func(s string) string { return s[:len(s)-20] }, true, []string{RawFile}, []string{"raw.jsonl:160:", "line end"}},
		{"raw: a blank", RawFile, replaced(`"round":`, `"round": `), true, []string{RawFile}, []string{"raw.jsonl:1:", "form"}},
		{"raw: a key twice", RawFile, replaced(`"repetition":0`, `"repetition":0,"repetition":0`), true, []string{RawFile}, []string{"raw.jsonl:1:", "form"}},
		{"raw: a key missing", RawFile, replaced(`"position":0,`, ``), true, []string{RawFile}, []string{"raw.jsonl:1:", "form"}},
		{"raw: gone", RawFile, nil, false, []string{RawFile, "raw_sha256", "summary", "trials"}, nil},
		{"result: plan hash", ResultFile, bumped(`"plan_sha256": "`, 1), false, []string{"plan_sha256"}, nil},
		{"result: raw hash", ResultFile, bumped(`"raw_sha256": "`, 1), false, []string{"raw_sha256"}, nil},
		{"result: verified rows", ResultFile, bumped(`"verified_rows": `, 1), false, []string{ResultFile}, []string{"verified_rows is 7921, want 7920"}},
		{"result: fence rows", ResultFile, bumped(`"fence_rows": `, 1), false, []string{ResultFile}, []string{"fence_rows"}},
		{"result: warm-up rows", ResultFile, bumped(`"warmup_rows": `, 1), false, []string{ResultFile}, []string{"warmup_rows"}},
		{"result: rounds", ResultFile, bumped(`"rounds": `, 1), false, []string{ResultFile}, []string{"rounds is 0, want 9"}},
		{"result: repetitions", ResultFile, bumped(`"repetitions": `, 1), false, []string{ResultFile}, []string{"repetitions"}},
		{"result: spec", ResultFile, replaced("builtin:splice", "builtin:floor"), false, []string{ResultFile}, []string{"arms.candidate", "spec"}},
		{"result: status", ResultFile, replaced(`"status": "verified"`, `"status": "invalid"`), false, []string{ResultFile, "status"}, nil},
		{"result: an unknown key", ResultFile, replaced(`"schema": 1,`, "\"schema\": 1,\n  \"speed\": 1,"), false, []string{ResultFile}, []string{"speed"}},
		{"result: trailing data", ResultFile, func(s string) string { return s + "{}\n" }, false, []string{ResultFile}, []string{"want the end"}},
		{"result: gone", ResultFile, nil, false, []string{ResultFile, "status", "summary"}, nil},
		{"table: a line removed", SummaryFile, lines(func(l []string) []string { return slices.Delete(l, 3, 4) }), false, []string{SummaryFile}, nil},
		{"table: gone", SummaryFile, nil, false, []string{SummaryFile}, nil},
		{"table: a digit", SummaryFile, func(s string) string { return s[:len(s)-2] + "0\n" }, false, []string{SummaryFile}, []string{"byte "}},
	}
	for _, key := range []string{"complete_ms", "first_ms", "first_all_ms", "worker_cpu_ms"} {
		edits = append(edits,
			edit{"raw: " + key, RawFile, bumped(`"`+key+`":`, 60), false, []string{"raw_sha256"}, nil},
			edit{"raw, resealed: " + key, RawFile, bumped(`"`+key+`":`, 60), true, []string{"summary"}, []string{key, "recomputed"}})
	}
	for _, key := range []string{"outer_ms", "idle_cpu_ms", "rows", "fence_rows", "work_sha256", "rows_sha256", "started_at", "messages", "round", "repetition", "count", "position"} {
		edits = append(edits, edit{"raw: " + key, RawFile, bumped(`"`+key+`":`, 60), false, []string{"raw_sha256"}, nil})
	}
	for _, key := range []string{"rows", "fence_rows", "messages", "round", "repetition", "count", "position"} {
		edits = append(edits, edit{"raw, resealed: " + key, RawFile, bumped(`"`+key+`":`, 60), true, []string{"summary"}, nil})
	}
	for _, key := range []string{"count", "reference_ms", "candidate_ms", "median_paired_reduction_pct", "faster_rounds", "low", "high", "level", "messages"} {
		edits = append(edits, edit{"result: summary " + key, ResultFile, bumped(`"`+key+`": `, 1), false, []string{"summary"}, []string{"summary row 1 "}})
	}
	for i, e := range edits {
		if i%every() == 0 {
			t.Run(e.name, func(t *testing.T) { tamper(t, e) })
		}
	}
}

// every is the step between cases of one kind: one, or more where an emulator runs
// them (-short).
func every() int {
	if testing.Short() {
		return 5
	}
	return 1
}

func tamper(t *testing.T, e edit) {
	dir := exampleRun(t)
	before := content(t, dir, e.file)
	if e.change == nil {
		if err := os.Remove(filepath.Join(dir, e.file)); err != nil {
			t.Fatal(err)
		}
	} else {
		after := e.change(before)
		if after == before {
			t.Fatal("the edit changes nothing")
		}
		overwrite(t, dir, e.file, after)
		if e.reseal {
			overwrite(t, dir, ResultFile, strings.Replace(content(t, dir, ResultFile), sum([]byte(before)), sum([]byte(after)), 1))
		}
	}
	names, details := failed(t, dir, VerifyOptions{})
	for _, want := range e.fails {
		if !slices.Contains(names, want) {
			t.Errorf("the check %s holds; failed:\n%s", want, details)
		}
	}
	for _, want := range e.details {
		if !strings.Contains(details, want) {
			t.Errorf("nothing says %q:\n%s", want, details)
		}
	}
	if e.reseal && slices.Contains(names, "raw_sha256") && !slices.Contains(names, RawFile) {
		t.Error("the edit was not resealed")
	}
}

// No digit of any of the files that figures depend on can change unseen.
func TestVerifyFindsEveryDigit(t *testing.T) {
	dir := exampleRun(t)
	rng := source()
	for _, file := range []string{PlanFile, RawFile, SummaryFile} {
		whole := content(t, dir, file)
		places := digit.FindAllStringIndex(whole, -1)
		for range 25 / every() {
			at := places[rng.IntN(len(places))][0]
			changed := whole[:at] + string('0'+(whole[at]-'0'+byte(1+rng.IntN(9)))%10) + whole[at+1:]
			overwrite(t, dir, file, changed)
			if names, _ := failed(t, dir, VerifyOptions{}); len(names) == 0 {
				t.Errorf("%s: a digit at byte %d was changed and nothing failed", file, at)
			}
		}
		overwrite(t, dir, file, whole)
	}
	if names, details := failed(t, dir, VerifyOptions{}); names != nil {
		t.Errorf("the restored folder fails:\n%s", details)
	}
}

func TestVerifyFailsUnverified(t *testing.T) {
	for _, status := range []string{StatusIncomplete, StatusInvalid} {
		names, details := failed(t, brokenRun(t, status), VerifyOptions{})
		if !slices.Contains(names, "status") || !strings.Contains(details, "the run is "+status) {
			t.Errorf("%s: failed %q\n%s", status, names, details)
		}
	}
}

func TestVerifyRefusesFolder(t *testing.T) {
	_, err := Verify(filepath.Join(t.TempDir(), "none"), VerifyOptions{})
	wantError(t, err, "none")
	dir := t.TempDir()
	overwrite(t, dir, "file", "")
	_, err = Verify(filepath.Join(dir, "file"), VerifyOptions{})
	wantError(t, err, "want a run folder")
	_, err = Verify(dir, VerifyOptions{Trees: map[string]string{"third": dir}})
	wantError(t, err, `"third"`)
	_, err = Verify(dir, VerifyOptions{})
	wantError(t, err, "neither plan.json nor raw.jsonl nor result.json, want a run folder")
	overwrite(t, dir, RawFile, "")
	if names, _ := failed(t, dir, VerifyOptions{}); len(names) != 12 {
		t.Errorf("a folder without plan and result fails %d checks, want all 12: %q", len(names), names)
	}
}

func TestVerifyRefusesLinks(t *testing.T) {
	dir := exampleRun(t)
	raw := filepath.Join(dir, RawFile)
	if err := os.Rename(raw, raw+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(raw+".moved", raw); err != nil {
		t.Fatal(err)
	}
	if _, details := failed(t, dir, VerifyOptions{}); !strings.Contains(details, "want a regular file") {
		t.Errorf("a link was followed:\n%s", details)
	}
}

// Sources that differ are told with the revision that the tree should stand at.
func TestSameSources(t *testing.T) {
	arm := Arm{Sources: []Source{{Path: "a.go", SHA256: sum(nil)}}, Revision: "c0ffee", Modified: "true"}
	for modified, want := range map[string]string{"true": "; the arm was built from revision c0ffee with uncommitted changes", "false": "; the arm was built from revision c0ffee"} {
		arm.Modified = modified
		if err := sameSources(t.TempDir(), arm); err == nil || !strings.Contains(err.Error(), "a.go") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("modified %s: got %v, want the file and %q", modified, err, want)
		}
	}
	tree := t.TempDir()
	overwrite(t, tree, "a.go", "")
	if err := sameSources(tree, arm); err != nil {
		t.Errorf("the tree of the arm: %v", err)
	}
}

func TestVerifyOutside(t *testing.T) {
	dir := exampleRun(t)
	tree := t.TempDir()
	if err := os.MkdirAll(filepath.Join(tree, "cmd", "fanoutbench"), 0o755); err != nil {
		t.Fatal(err)
	}
	opt := VerifyOptions{Trees: map[string]string{Reference: tree}}
	if names, details := failed(t, dir, opt); !slices.Equal(names, []string{"reference sources"}) {
		t.Errorf("a missing source fails %q\n%s", names, details)
	}
	overwrite(t, tree, "cmd/fanoutbench/main.go", "main")
	if names, details := failed(t, dir, opt); names != nil {
		t.Errorf("the tree of the run fails\n%s", details)
	}
	overwrite(t, tree, "cmd/fanoutbench/main.go", "mein")
	if _, details := failed(t, dir, opt); !strings.Contains(details, "cmd/fanoutbench/main.go") {
		t.Errorf("a changed source is not named\n%s", details)
	}
	if _, details := failed(t, dir, opt); strings.Contains(details, "revision") {
		t.Errorf("a revision is named of an arm that has none\n%s", details)
	}
	if _, details := failed(t, dir, VerifyOptions{Trees: map[string]string{Candidate: tree}}); !strings.Contains(details, "names no source") {
		t.Errorf("an arm without sources holds\n%s", details)
	}
	for content, says := range map[string]string{"binary": "binary of the reference", "other": "binary of the candidate", "third": "for information"} {
		overwrite(t, tree, "program", content)
		checks, err := Verify(dir, VerifyOptions{Executable: filepath.Join(tree, "program")})
		if err != nil {
			t.Fatal(err)
		}
		if c := checks[len(checks)-1]; c.Name != "executable" || !c.OK || !strings.Contains(c.Detail, says) {
			t.Errorf("%s: %+v", content, c)
		}
	}
	if names, _ := failed(t, dir, VerifyOptions{Executable: filepath.Join(tree, "gone")}); !slices.Equal(names, []string{"executable"}) {
		t.Errorf("a missing executable fails %q", names)
	}
}

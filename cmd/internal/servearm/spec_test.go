package servearm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	dir, commit := checkout(t)
	r := resolver(t)
	r.Repo = dir
	for _, k := range []struct {
		spec string
		set  map[string]string
		mode string
		want string // flags
	}{
		{"builtin:individual", nil, Individual, "[--disable-batch-send]"},
		{"builtin:batch", nil, Batch, "[--enable-tokenizer-batch-encode]"},
		{"builtin:plain", nil, Plain, "[]"},
		{"builtin:batch@max-tokens=8192,max-reqs=7", nil, Batch, "[--enable-tokenizer-batch-encode --batch-send-max-reqs=7 --batch-send-max-tokens=8192]"},
		{"builtin:batch@device=sim,enable-metrics,max-tokens=1", map[string]string{"max-tokens": "2", "sim-stop": "0"}, Batch, "[--enable-tokenizer-batch-encode --batch-send-max-tokens=2 --device=sim --enable-metrics --sim-stop=0]"},
		{"builtin:batch@tp-size=8", nil, Batch, "[--enable-tokenizer-batch-encode --tp-size=8]"}, // SGLang's, ignored with a warning
		{"dir:" + dir, nil, Batch, "[--enable-tokenizer-batch-encode]"},
		{"git:main@mode=individual,x=1", nil, Individual, "[--disable-batch-send --x=1]"},
	} {
		a, err := r.Resolve(within(t), k.spec, k.set)
		if err != nil || a.Mode != k.mode || fmt.Sprint(a.flags()) != k.want || !a.Ours() || !a.Started() || a.Spec != k.spec {
			t.Errorf("%s: %+v, %v, want mode %s, flags %s", k.spec, a, err, k.mode, k.want)
		}
		if a.Kind == KindGit && a.Tree.Commit != commit {
			t.Errorf("%s: commit %s, want %s", k.spec, a.Tree.Commit, commit)
		}
	}
	u, err := r.Resolve(within(t), "url:http://host:80/", nil)
	if err != nil || u.Name != "http://host:80" || u.Started() || u.Ours() {
		t.Errorf("url: %+v, %v", u, err)
	}
}

// Each mistake is found before anything runs, and told with the spec.
func TestWrongSpecs(t *testing.T) {
	t.Parallel()
	dir, _ := checkout(t)
	r := resolver(t)
	r.Repo = dir
	for spec, want := range map[string]string{
		"":                           "want KIND:... with a kind of builtin, dir, git, launch, url",
		"batch":                      "want KIND:...",
		"sglang:0.5":                 "want KIND:...",
		"builtin:":                   "nothing after the colon",
		"builtin: ":                  "nothing after the colon",
		"builtin:fast":               `no mode "fast", want batch, individual, plain`,
		"builtin:batch@":             `option "", want NAME=VALUE`,
		"builtin:batch@=3":           `option "=3", want NAME=VALUE`,
		"builtin:batch@--device=sim": `option "--device=sim", want NAME=VALUE or NAME, a flag of fanoutserve without dashes`,
		"builtin:batch@max-reqs=1,batch-send-max-reqs=2": "option batch-send-max-reqs is given twice",
		"builtin:batch@no-such-thing=1":                  "unknown flag --no-such-thing",
		"builtin:batch@max-tokens=many":                  `--batch-send-max-tokens "many", want an integer`,
		"builtin:batch@port=1":                           "option port is this program's to choose",
		"builtin:batch@host=x":                           "option host is this program's to choose",
		"builtin:batch@log-level=error":                  `option log-level is "error", want info or debug`,
		"dir:/nonexistent":                               "is no folder",
		"git:nothing":                                    `no revision "nothing"`,
		"git:main@mode=fast":                             `no mode "fast"`,
		"launch:server --port 8000":                      "no {port} in the command",
		"url:localhost:8000":                             "want url:http://HOST:PORT",
		"url:https://h:1":                                "want url:http://HOST:PORT",
		"url:http://h":                                   "want url:http://HOST:PORT",
		"url:http://h:1/v1":                              "want url:http://HOST:PORT",
		"url:http://u@h:1":                               "want url:http://HOST:PORT",
	} {
		_, err := r.Resolve(within(t), spec, nil)
		var wrong *SpecError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, want) || !strings.Contains(err.Error(), fmt.Sprintf("arm %q", spec)) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

// The program of a tree is built, asked for its flags, and run.
func TestTrees(t *testing.T) {
	t.Parallel()
	dir, commit := checkout(t)
	r := resolver(t)
	r.Repo = dir
	for _, spec := range []string{"dir:" + dir, "git:main@mode=individual"} {
		a, err := r.Resolve(within(t), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, err = r.Make(within(t), a); err != nil {
			t.Fatal(err)
		}
		if a.Build == nil || a.Build.Revision != commit || !strings.Contains(a.Program[0], "fanoutserve-"+a.Build.Workers[0].SHA256) {
			t.Errorf("%s: %+v", spec, a)
		}
		log := &record{}
		s, err := Start(within(t), a, Config{Log: log, ReadyTimeout: patience, StopTimeout: patience, Records: 77})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if want := fmt.Sprintf("flags %q", append([]string{"--host", "127.0.0.1", "--port", "0"}, append(a.flags(), "--admission-records=77")...)); !strings.Contains(log.String(), want) {
			t.Errorf("%s: log %s, want %s", spec, log, want)
		}
	}
	a, err := r.Resolve(within(t), "git:main@no-such-flag", nil)
	if err != nil {
		t.Fatal(err)
	}
	var wrong *SpecError
	if _, err := r.Make(within(t), a); !errors.As(err, &wrong) || wrong.Reason != "unknown flag --no-such-flag" {
		t.Errorf("a flag that the tree's program lacks: %v", err)
	}
}

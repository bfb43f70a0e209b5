package arm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

func resolver() *Resolver {
	return &Resolver{Self: "/bin/self", Repo: ".", Listing: protocol.Listing{
		WireVersion: protocol.WireVersion,
		Strategies:  []protocol.Strategy{{Name: "per-row"}, {Name: "splice"}}, ZMQ: []string{"zmtp", "other"},
	}}
}

func TestResolve(t *testing.T) {
	t.Chdir(t.TempDir()) // no checkout, no folders
	for _, k := range []struct {
		spec    string
		set     map[string]string
		want    Arm
		command []string
	}{
		{"builtin:splice", nil, Arm{Spec: "builtin:splice", Kind: KindBuiltin, Name: "splice", Options: map[string]string{}}, []string{"/bin/self", "__controller", "--strategy", "splice"}},
		{"splice", nil, Arm{Spec: "builtin:splice", Kind: KindBuiltin, Name: "splice", Options: map[string]string{}}, []string{"/bin/self", "__controller", "--strategy", "splice"}},
		{"splice@zmq=zmtp", nil, Arm{Spec: "builtin:splice", Kind: KindBuiltin, Name: "splice", Options: map[string]string{"zmq": "zmtp"}}, []string{"/bin/self", "__controller", "--strategy", "splice"}},
		{"builtin:splice@zmq=zmtp", map[string]string{"zmq": "other"}, Arm{Spec: "builtin:splice", Kind: KindBuiltin, Name: "splice", Options: map[string]string{"zmq": "other"}}, []string{"/bin/self", "__controller", "--strategy", "splice"}},
		{"exec:python3 arm.py --x=a:b", map[string]string{"any": "thing"}, Arm{Spec: "exec:python3 arm.py --x=a:b", Kind: KindExec, Name: "python3 arm.py --x=a:b", Options: map[string]string{"any": "thing"}}, []string{"sh", "-c", "exec python3 arm.py --x=a:b"}},
	} {
		got, err := resolver().Resolve(t.Context(), k.spec, k.set)
		if err != nil {
			t.Errorf("%s: %v", k.spec, err)
			continue
		}
		k.want.Command = k.command
		if got.Spec != k.want.Spec || got.Kind != k.want.Kind || got.Name != k.want.Name || !slices.Equal(got.Command, k.want.Command) || !sameMap(got.Options, k.want.Options) {
			t.Errorf("%s: %+v, want %+v", k.spec, got, k.want)
		}
		if got.OwnClock() != (got.Kind == KindExec) {
			t.Errorf("%s: own clock %v", k.spec, got.OwnClock())
		}
	}
}

func sameMap(a, b map[string]string) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return len(a) == len(b)
}

// A bare word is one of a strategy, a folder and a revision, a folder before a
// revision; two of them are an error that says both.
func TestBareWords(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "one")
	git("tag", "per-row")
	git("tag", "v1")
	git("tag", "both")
	for _, name := range []string{"splice", "folder", "both"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"per-row": "could be builtin:per-row or git:per-row; write which",
		"splice":  "could be builtin:splice or dir:splice; write which",
		"folder":  "folder folder has no go.mod, want the root of a checkout of github.com/fanoutbench/fanoutbench",
		"both":    "folder both has no go.mod",
		"v1":      `the go.mod of revision "v1" in the repository of . names module "", want github.com/fanoutbench/fanoutbench`,
		"file":    "is no strategy (per-row, splice), no folder and no revision here; write KIND:file",
		"v2":      "is no strategy",
		"-h":      "is no strategy",
		"":        "is no strategy",
	} {
		_, err := resolver().Resolve(t.Context(), word, nil)
		var spec *SpecError
		if !errors.As(err, &spec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want a *SpecError with %q", word, err, want)
		}
	}
	for word, want := range map[string]string{"folder": KindDir, "both": KindDir, "v1": KindGit} {
		if kind, err := resolver().bareWord(t.Context(), word); kind != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", word, kind, err, want)
		}
	}
}

// Whatever a spec is, it gives an arm with a command or a *SpecError.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"builtin:splice@zmq=zmtp", "exec:x", "dir:.", "git:", "a:b:c", "builtin:@=", "builtin:splice@zmq=zmtp,,", ":", "sglang:0.5"} {
		f.Add(s, "k", "v")
	}
	f.Add("builtin:splice", "zmq", "other")
	r := resolver()
	f.Chdir(f.TempDir()) // no checkout
	f.Fuzz(func(t *testing.T, spec, k, v string) {
		if !strings.Contains(spec, ":") {
			spec = "builtin:" + spec // bare words ask git
		}
		a, err := r.Resolve(t.Context(), spec, map[string]string{k: v})
		var wrong *SpecError
		switch {
		case err != nil && !errors.As(err, &wrong):
			t.Errorf("%q: %v is no *SpecError", spec, err)
		case a.SGLang != nil: // it has a command when it is prepared
		case err == nil && (len(a.Command) == 0 || a.Options[k] != v):
			t.Errorf("%q: %+v", spec, a)
		case err == nil && a.Kind == KindBuiltin && (k != OptionZMQ || !slices.Contains(r.Listing.ZMQ, v)) && (k != OptionMethod || !slices.Contains(methods, v)):
			t.Errorf("%q takes option %q=%q", spec, k, v)
		}
	})
}

func TestPrivateDir(t *testing.T) {
	for name, tmp := range map[string]string{"short": "", "long": strings.Repeat("x", socketRoom)} {
		t.Run(name, func(t *testing.T) {
			parent, err := os.MkdirTemp("/tmp", "p") // t.TempDir may be too long itself
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(parent)
			if tmp != "" {
				parent = filepath.Join(parent, tmp)
				if err := os.Mkdir(parent, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("TMPDIR", parent)
			dir, err := PrivateDir()
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			st, err := os.Stat(dir)
			if err != nil || st.Mode().Perm() != 0o700 || len(dir) > socketRoom || !filepath.IsAbs(dir) {
				t.Errorf("%s: %v, %v", dir, st, err)
			}
			if below := filepath.Dir(dir) == parent; below != (tmp == "") {
				t.Errorf("%s, the temporary folder is %s", dir, parent)
			}
			left, err := os.ReadDir(parent)
			if err != nil || tmp != "" && len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
	t.Setenv("TMPDIR", "/nonexistent/folder")
	if dir, err := PrivateDir(); err == nil {
		t.Errorf("got %s in a folder that does not exist", dir)
	}
}

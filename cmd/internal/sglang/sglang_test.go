package sglang

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/scripts"
)

// mistake wants an *InputError with that text.
func mistake(t *testing.T, err error, want string) {
	t.Helper()
	var input *InputError
	if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want an *InputError with %q", err, want)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestInFolder(t *testing.T) {
	dir := t.TempDir()
	touch(t, filepath.Join(dir, "wheel", mark))
	touch(t, filepath.Join(dir, "checkout", "python", mark))
	touch(t, filepath.Join(dir, "both", mark))
	touch(t, filepath.Join(dir, "both", "python", mark))
	touch(t, filepath.Join(dir, "namespace", "sglang", "other.py"))
	for name, want := range map[string]string{"wheel": "wheel", "checkout": "checkout/python", "checkout/python": "checkout/python", "namespace": "", "none": ""} {
		got, ok, err := InFolder(filepath.Join(dir, name))
		if err != nil || ok != (want != "") || ok && got.Folder != filepath.Join(dir, want) {
			t.Errorf("%s: %+v, %v, %v; want %q", name, got, ok, err, want)
		}
	}
	_, _, err := InFolder(filepath.Join(dir, "both"))
	mistake(t, err, "has both sglang/__init__.py and python/sglang/__init__.py")
	for name, want := range map[string]string{"checkout/python/sglang": "checkout/python", "checkout": "checkout", "namespace": "", "both": ""} {
		root, ok := Around(filepath.Join(dir, name))
		if ok != (want != "") || ok && root != filepath.Join(dir, want) {
			t.Errorf("around %s: %q, %v; want %q", name, root, ok, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for v, good := range map[string]bool{
		"0.5.21": true, "0.5.22.post1": true, "0.6.0rc2": true, "1": true, "0.5.23.dev4": true,
		"": false, "v0.5.21": false, "0.5.*": false, "0.5.21 --index-url=x": false, "-r": false, "0.5.21\n": false, "../0": false, "0.5.21+cu130": false,
		strings.Repeat("1", 41): false,
	} {
		got, err := AtRelease(v)
		if good && (err != nil || got.Release != v) {
			t.Errorf("%q: %+v, %v", v, got, err)
		}
		if !good {
			mistake(t, err, "want one such as 0.5.21")
		}
	}
}

// A script that somebody has changed in the cache is written again.
func TestWriteScript(t *testing.T) {
	cache := t.TempDir()
	for range 2 {
		path, err := WriteScript(cache)
		if err != nil || !strings.Contains(path, ScriptSHA256()) {
			t.Fatalf("%s, %v", path, err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, scripts.SGLangController) {
			t.Errorf("%v; the cache holds %d bytes, the program %d", err, len(b), len(scripts.SGLangController))
		}
		if err := os.WriteFile(path, []byte("import os"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadDir(filepath.Join(cache, "controllers")); err != nil || len(there) != 1 {
		t.Errorf("%v, %v", there, err)
	}
}

const goodSum = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU" // of nothing

func TestParseRecord(t *testing.T) {
	list := "sglang-1.dist-info/RECORD"
	got, err := parseRecord(strings.NewReader("sglang/__init__.py,sha256="+goodSum+",0\n\"a,b.py\",sha256="+goodSum+",0\n"+list+",,\n"), list)
	if err != nil || len(got) != 2 || got["a,b.py"] != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("%v, %v", got, err)
	}
	for lines, want := range map[string]string{
		"a,sha256=" + goodSum + "\n": "wrong number of fields",
		"a,md5=" + goodSum + ",0\n":  "has the hash",
		"a,,\n":                      "has the hash",
		"a,sha256=AAAA,0\n":          "has the hash",
		"a,sha256=" + goodSum + ",0\na,sha256=" + goodSum + ",0\n": "a stands there twice",
		"other-1.dist-info/RECORD,,\n":                             "has the hash",
		"\"a,sha256=" + goodSum + ",0\n":                           "quote",
	} {
		if _, err := parseRecord(strings.NewReader(lines), list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", lines, err, want)
		}
	}
}

// Whatever a list holds, each path has one hash of 64 digits, or it is an error.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("a,sha256=" + goodSum + ",0\nl,,\n"))
	f.Add([]byte("\"a\nb\",sha256=,\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseRecord(bytes.NewReader(b), "l")
		for path, sum := range got {
			if err == nil && (len(sum) != 64 || path == "l") {
				t.Errorf("%q has %q", path, sum)
			}
		}
	})
}

func TestFindPython(t *testing.T) {
	dir := t.TempDir()
	program := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	given, env, path := program("given", "echo 3.1"), program("env/bin/python", "echo 3.2"), program("path/python3", "echo 3.3")
	t.Setenv("PATH", filepath.Dir(path))
	t.Setenv("VIRTUAL_ENV", filepath.Join(dir, "env"))
	for name, want := range map[string]Python{given: {given, "3.1"}, "": {env, "3.2"}, "python3": {path, "3.3"}} {
		if got, err := FindPython(t.Context(), name); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", name, got, err, want)
		}
	}
	t.Setenv("VIRTUAL_ENV", "")
	if got, err := FindPython(t.Context(), ""); err != nil || got.Path != path {
		t.Errorf("without an environment: %+v, %v; want %s", got, err, path)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "nosuch"):                     "nosuch: no such file",
		program("mute", "exit 3"):                        "does not run: exit status 3",
		program("loud", "echo no libpython >&2; exit 1"): "does not run: exit status 1: no libpython",
		program("chatty", "echo hello there"):            "is it a Python?",
		filepath.Dir(path):                               "path",
	} {
		_, err := FindPython(t.Context(), name)
		mistake(t, err, want)
	}
	t.Setenv("VIRTUAL_ENV", filepath.Join(dir, "gone"))
	_, err := FindPython(t.Context(), "")
	mistake(t, err, "which is that of the active virtual environment")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("PATH", dir)
	_, err = FindPython(t.Context(), "")
	mistake(t, err, "no --python is given and no virtual environment is active")
}

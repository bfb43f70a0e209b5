package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/controller"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// fakePythonCommand is an interpreter that never saw Python: fakePythonCommand
// KIND ARGS. It says its version, downloads releases that it makes up, and runs
// this program's script as a controller of this program's, which can be used again
// and calls itself SGLang. KIND is words joined by commas: NAME=VERSION is a
// package, everything else a fault.
const fakePythonCommand = "__fakepython"

// interpreter makes a file that runs as the fake interpreter.
func interpreter(t *testing.T, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "python")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' \"$@\"\n", self, fakePythonCommand, kind)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func fakePython(kind string, args []string) int {
	words := strings.Split(kind, ",")
	has := func(word string) bool { return slices.Contains(words, word) }
	var err error
	switch {
	case has("broken"):
		err = errors.New("error while loading shared libraries: libpython.so")
	case slices.Contains(args, "-c"):
		fmt.Println("3.12.3")
	case slices.Contains(args, "pip"):
		err = fakePip(has, args)
	default:
		err = (&fakeTree{has: has, packages: packagesOf(words), args: args}).serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func packagesOf(words []string) map[string]string {
	packages := map[string]string{"python": "3.12.3", "torch": "2.9.1"}
	for _, w := range words {
		if name, version, ok := strings.Cut(w, "="); ok {
			packages[name] = version
		}
	}
	return packages
}

// after is the argument behind a flag.
func after(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// fakePip makes the wheel of a release, as pip would leave it.
func fakePip(has func(string) bool, args []string) error {
	version, ok := strings.CutPrefix(args[len(args)-1], "sglang==")
	if !ok || has("offline") || strings.HasPrefix(version, "9") {
		return fmt.Errorf("ERROR: No matching distribution found for %s", args[len(args)-1])
	}
	f, err := os.Create(filepath.Join(after(args, "--dest"), "sglang-"+version+"-py3-none-any.whl"))
	if err != nil {
		return err
	}
	z := zip.NewWriter(f)
	list := ""
	write := func(name, content string) {
		w, e := z.Create(name)
		if e == nil {
			_, e = io.WriteString(w, content)
		}
		err = errors.Join(err, e)
		sum := sha256.Sum256([]byte(content))
		list += fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	for name, content := range treeFiles(version) {
		write(name, content)
	}
	if has("short wheel") {
		list = strings.Replace(list, "sha256=", "sha256=A", 1)
	}
	if has("climbing wheel") {
		write("../escaped.py", "")
	}
	info := "sglang-" + version + ".dist-info/RECORD"
	list += info + ",,\n"
	write(info, list)
	return errors.Join(err, z.Close(), f.Close())
}

// treeFiles are those of a tree that says it is of that version.
func treeFiles(version string) map[string]string {
	return map[string]string{"sglang/__init__.py": "", "sglang/version.py": fmt.Sprintf("version = %q\n", version)}
}

// fakeTree answers as the script does for a tree.
type fakeTree struct {
	has      func(string) bool
	packages map[string]string
	args     []string
	turns    int
}

func (f *fakeTree) serve() error {
	stdin := json.NewDecoder(os.Stdin)
	for {
		var hello line
		switch err := stdin.Decode(&hello); {
		case errors.Is(err, io.EOF) && f.has("bad exit"):
			return errors.New("a bad end")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if f.turns++; f.turns == 2 && f.has("silent") {
			_, _ = io.Copy(io.Discard, os.Stdin)
			return nil
		}
		if err := f.turn(hello, stdin); err != nil {
			return errors.Join(err, protocol.NewConn(nil, os.Stdout).Send(protocol.Error{Type: protocol.TypeError, Message: err.Error()}))
		}
		if f.has("once") {
			return nil
		}
	}
}

// turn is one hello and what follows it, up to stop or the end of input.
func (f *fakeTree) turn(hello line, stdin *json.Decoder) error {
	options, err := f.agreed(hello)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	strategy := "per-row"
	if s := after(f.args, "--worker-strategy"); s != "" {
		strategy = s
	}
	in, heard := io.Pipe()
	out, said := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := controller.Run(context.Background(), in, said, controller.Config{
			Worker: []string{self, arm.WorkerCommand}, Consumer: []string{self, arm.ConsumerCommand}, Strategy: strategy, Log: os.Stderr,
		})
		done <- err
		said.CloseWithError(io.EOF)
	}()
	answers := json.NewDecoder(out)
	answers.UseNumber()
	for ask := hello; ; {
		if err := json.NewEncoder(heard).Encode(ask); err != nil {
			return errors.Join(err, <-done)
		}
		var answer line
		if err := answers.Decode(&answer); err != nil {
			return <-done
		}
		if err := f.say(answer, options); err != nil {
			return err
		}
		if ask["type"] == protocol.TypeStop {
			return <-done
		}
		ask = line{}
		if err := stdin.Decode(&ask); err != nil {
			return errors.Join(heard.Close(), ignore(<-done))
		}
	}
}

// ignore is for how a controller leaves when its input ends.
func ignore(error) error { return nil }

// agreed wants hello and command line to say the same, and makes hello one that
// this program's controller understands.
func (f *fakeTree) agreed(hello line) (line, error) {
	if got, want := after(f.args, "--transport"), hello["transport"]; got != want {
		return nil, fmt.Errorf("transport %q in the command, %q in hello", got, want)
	}
	if hello["transport"] == protocol.TransportPickle {
		hello["transport"] = protocol.TransportNative
	}
	options := hello["options"].(line)
	for name, value := range options {
		env, ok := strings.CutPrefix(name, "env.")
		if ok && !slices.Contains(f.args, env+"="+value.(string)) {
			return nil, fmt.Errorf("option %s=%s of hello is not in the command %q", name, value, f.args)
		}
	}
	hello["options"] = line{}
	return options, nil
}

// say passes an answer on as a tree's.
func (f *fakeTree) say(answer, options line) error {
	if answer["type"] == protocol.TypeReceipt {
		if err := f.asSGLang(answer, options); err != nil {
			return err
		}
	}
	conn := protocol.NewConn(nil, os.Stdout)
	if err := conn.Send(answer); err != nil || answer["type"] != protocol.TypeStopped {
		return err
	}
	switch {
	case f.has("dies"):
		os.Exit(7)
	case f.has("encore"):
		return conn.Send(protocol.Signal{Type: protocol.TypeStopped})
	}
	return nil
}

func (f *fakeTree) asSGLang(receipt, options line) error {
	tree := after(f.args, "--tree")
	b, err := os.ReadFile(filepath.Join(tree, "sglang", "version.py"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	receipt["runtime"], receipt["runtime_version"] = "sglang", strings.Split(string(b), `"`)[1]
	receipt["transports"] = []string{protocol.TransportMsgpack, protocol.TransportPickle}
	receipt["transport"] = after(f.args, "--transport")
	receipt["packages"], receipt["options"], receipt["binary_sha256"] = f.packages, options, []string{}
	receipt["sources"] = []protocol.Source{{Path: "sglang/version.py", SHA256: hex.EncodeToString(sum[:])}}
	receipt["again"] = !f.has("once")
	if f.has("descriptive") {
		receipt["descriptive"] = "its parent has 3 threads"
	}
	if f.turns%2 == 0 && f.has("fickle") {
		receipt["strategy"] = "another one"
	}
	if f.turns == 2 && f.has("spent") {
		receipt["again"] = false
	}
	return nil
}

//go:build python

package scripts_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// buildWheel makes the wheel of a platform in a folder of its own.
func buildWheel(t *testing.T, platform string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "wheels")
	printed, errs, err := python(t, plainPython, "wheel.py", dir, "--platform", platform)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("made %q (%v), want one wheel and nothing beside it", made, err)
	}
	if want := fmt.Sprintf("%s  %s\n", hash(t, made[0]), made[0]); printed != want {
		t.Errorf("printed %q, want %q", printed, want)
	}
	return made[0]
}

// goBuild builds a command as a user of Go would, with the flags that wheel.py names.
func goBuild(t *testing.T, platform string) string {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "-")
	tool := filepath.Join(t.TempDir(), "fanoutbench")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-o", tool, "../cmd/fanoutbench")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return tool
}

func say(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// A wheel for this machine, installed by pip into an environment that has nothing,
// gives the very program that Go builds.
func TestWheelInstalls(t *testing.T) {
	platform := runtime.GOOS + "-" + runtime.GOARCH
	wheel, built := buildWheel(t, platform), goBuild(t, platform)
	checkWheel(t, wheel, built)

	env := filepath.Join(t.TempDir(), "env")
	say(t, setting(t, plainPython), "-m", "venv", "--without-pip", env)
	own := filepath.Join(env, "bin", "python")
	pip := []string{"-m", "pip", "--disable-pip-version-check", "--python", own}
	for range 2 {
		say(t, setting(t, plainPython), append(pip, "install", "--no-index", wheel)...)
	}
	installed := filepath.Join(env, "bin", "fanoutbench")
	if got, want := hash(t, installed), hash(t, built); got != want {
		t.Errorf("sha256 of the installed program is %s, Go's build has %s", got, want)
	}
	for _, arg := range []string{"--version", "list"} {
		if got, want := say(t, installed, arg), say(t, built, arg); got != want || got == "" {
			t.Errorf("%s prints %q, Go's build %q", arg, got, want)
		}
	}
	version := say(t, own, "-c", "from importlib.metadata import version; print(version('fanoutbench'), end='')")
	if !strings.HasPrefix(filepath.Base(wheel), "fanoutbench-"+version+"-py3-none-") {
		t.Errorf("the environment has version %s, the wheel is %s", version, filepath.Base(wheel))
	}
	say(t, setting(t, plainPython), append(pip, "uninstall", "--yes", "fanoutbench")...)
	if _, err := os.Stat(installed); err == nil {
		t.Error("uninstall left the program")
	}
}

func TestWheelTwiceTheSame(t *testing.T) {
	platform := runtime.GOOS + "-" + runtime.GOARCH
	a, b := buildWheel(t, platform), buildWheel(t, platform)
	if filepath.Base(a) != filepath.Base(b) || hash(t, a) != hash(t, b) {
		t.Errorf("%s with sha256 %s, then %s with %s", filepath.Base(a), hash(t, a), filepath.Base(b), hash(t, b))
	}
}

// The wheels for other machines are built and read, not installed: nothing here runs them.
func TestWheelsForOtherMachines(t *testing.T) {
	if os.Getenv("FANOUTBENCH_LONG") == "" {
		t.Skip("FANOUTBENCH_LONG is not set")
	}
	for platform, tags := range map[string]string{
		"linux-amd64":  "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64",
		"linux-arm64":  "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
		"darwin-arm64": "macosx_12_0_arm64",
	} {
		wheel := buildWheel(t, platform)
		if want := "-py3-none-" + tags + ".whl"; !strings.HasSuffix(wheel, want) {
			t.Errorf("%s: %s, want it to end in %s", platform, wheel, want)
		}
		checkWheel(t, wheel, goBuild(t, platform))
	}
}

// checkWheel reads a wheel by the rules of its format: RECORD names every other
// entry with hash and size, dist-info stands at the end, modes, tags and names agree.
func checkWheel(t *testing.T, path, built string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	parts := strings.Split(strings.TrimSuffix(filepath.Base(path), ".whl"), "-")
	if len(parts) != 5 {
		t.Fatalf("%s has %d parts, want name, version and three tags", path, len(parts))
	}
	name := parts[0] + "-" + parts[1]
	entries, recorded := map[string][]byte{}, ""
	var names []string
	for _, f := range archive.File {
		data := content(t, f)
		program := strings.HasPrefix(f.Name, name+".data/scripts/")
		if want := map[bool]os.FileMode{true: 0o755, false: 0o644}[program]; f.Mode() != want {
			t.Errorf("%s has mode %v, want %v", f.Name, f.Mode(), want)
		}
		if !program && !strings.HasPrefix(f.Name, name+".dist-info/") {
			t.Errorf("%s is neither a program nor in dist-info", f.Name)
		}
		if y := f.Modified.UTC().Year(); y > 1980 {
			t.Errorf("%s is of %v, want the zip format's first year", f.Name, f.Modified)
		}
		names = append(names, f.Name)
		entries[f.Name] = data
		sum := sha256.Sum256(data)
		if f.Name != name+".dist-info/RECORD" {
			recorded += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		}
	}
	if last := names[len(names)-1]; last != name+".dist-info/RECORD" || !slices.IsSorted(names[:len(names)-1]) {
		t.Errorf("entries %q, want them in order and RECORD last", names)
	}
	checkRecord(t, entries[name+".dist-info/RECORD"], recorded+name+".dist-info/RECORD,,\n")
	if sum := fmt.Sprintf("%x", sha256.Sum256(entries[name+".data/scripts/fanoutbench"])); sum != hash(t, built) {
		t.Errorf("%s: fanoutbench has sha256 %s, Go's build %s", path, sum, hash(t, built))
	}
	var tags []string
	for _, m := range regexp.MustCompile(`(?m)^Tag: py3-none-(.*)$`).FindAllSubmatch(entries[name+".dist-info/WHEEL"], -1) {
		tags = append(tags, string(m[1]))
	}
	if got := strings.Join(tags, "."); got != parts[4] {
		t.Errorf("WHEEL has the platform tags %s, the name of the file %s", got, parts[4])
	}
	checkMetadata(t, entries, name+".dist-info/", parts[1])
}

func content(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return data
}

func checkRecord(t *testing.T, got []byte, want string) {
	t.Helper()
	records := [2][][]string{}
	for i, text := range []string{string(got), want} {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("RECORD: %v", err)
		}
		records[i] = rows
	}
	if !reflect.DeepEqual(records[0], records[1]) {
		t.Errorf("RECORD\n%s\nwant\n%s", got, want)
	}
}

// checkMetadata wants every licence that is named to be there, and that of every module linked in.
func checkMetadata(t *testing.T, entries map[string][]byte, info, version string) {
	t.Helper()
	metadata := entries[info+"METADATA"]
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(metadata, append([]byte("\n\n"), readme...)) {
		t.Error("METADATA does not end in README.md")
	}
	for _, line := range []string{"Metadata-Version: 2.4", "Name: fanoutbench", "Version: " + version, "Requires-Python: >=3.7"} {
		if !bytes.Contains(metadata, []byte(line+"\n")) {
			t.Errorf("METADATA has no line %q", line)
		}
	}
	files := regexp.MustCompile(`(?m)^License-File: (.*)$`).FindAllSubmatch(metadata, -1)
	for _, m := range files {
		if len(entries[info+"licenses/"+string(m[1])]) == 0 {
			t.Errorf("METADATA names the licence %s, which is not there", m[1])
		}
	}
	for _, want := range []string{"LICENSE\n", "third_party/go/LICENSE\n", "third_party/github.com/spf13/cobra@", "third_party/golang.org/x/sys@"} {
		if !bytes.Contains(metadata, []byte("License-File: "+want)) {
			t.Errorf("METADATA names no licence %s", want)
		}
	}
}

func TestWheelVersions(t *testing.T) {
	for module, want := range map[string]string{
		"v1.2.3":                             "1.2.3",
		"v1.2.3+dirty":                       "1.2.3+dirty",
		"v1.2.3-rc.1":                        "1.2.3rc1",
		"v1.2.3-alpha2":                      "1.2.3a2",
		"v1.2.3-beta.02":                     "1.2.3b2",
		"(devel)":                            "0.0.0+devel",
		"v1.2.3-fast":                        "wheel.py: 'fast' in module version 'v1.2.3-fast' is not alpha, beta or rc with a number",
		"1.2.3":                              "wheel.py: module version '1.2.3' is not vMAJOR.MINOR.PATCH with what may follow",
		"v1.2.3-rc.1; import":                "wheel.py: 'rc.1; import' in module version",
		"v0.0.0-20260102030405-0123456789ab": "0.0.0.dev20260102030405+g0123456789ab",
		"v0.0.0-20260102030405-0123456789ab+dirty":         "0.0.0.dev20260102030405+g0123456789ab.dirty",
		"v1.2.4-0.20260102030405-0123456789ab":             "1.2.4.dev20260102030405+g0123456789ab",
		"v1.2.3-rc.1.0.20260102030405-0123456789ab":        "1.2.3rc2.dev20260102030405+g0123456789ab",
		"v1.2.3-rc.1.0.20260102030405-0123456789ab+dirty":  "1.2.3rc2.dev20260102030405+g0123456789ab.dirty",
		"v1.2.3-next.1.0.20260102030405-0123456789ab":      "wheel.py: 'next.1' in module version",
		"v1.2.3-rc.1.0.20260102030405-0123456789ab+dirty+": "wheel.py: ",
	} {
		const program = `
import sys
sys.path.insert(0, ".")
import wheel
try:
    print(wheel.pep440(sys.argv[1]), end="")
except wheel.Failed as err:
    print(f"wheel.py: {err}", end="")
`
		got, errs, err := python(t, plainPython, "-c", program, module)
		if err != nil || got != want && !(strings.HasPrefix(want, "wheel.py: ") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q (%v %s), want %q", module, got, err, errs, want)
		}
	}
}

// A program that asks for a loader is no static one, whatever its name says.
func TestWheelRefusesDynamicPrograms(t *testing.T) {
	const program = `
import sys
sys.path.insert(0, ".")
import wheel
for platform, path in (("linux-amd64", sys.argv[1]), ("linux-amd64", "wheel.py"), ("darwin-arm64", "wheel.py")):
    try:
        print(wheel.platform_tags(platform, {"tool": open(path, "rb").read()}))
    except wheel.Failed as err:
        print(err)
`
	// The interpreter of any environment is linked with libc.
	got, errs, err := python(t, plainPython, "-c", program, setting(t, plainPython))
	want := "tool for linux-amd64 is linked with libraries, want a static one\n" +
		"the executable is no little-endian ELF of 64 bits\nthe executable is no little-endian Mach-O of 64 bits\n"
	if err != nil || got != want {
		t.Errorf("%q (%v %s), want %q", got, err, errs, want)
	}
}

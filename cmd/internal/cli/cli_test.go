package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/spf13/cobra"
)

// Each kind of error has its status, however deep it is, and what it says is printed once.
func TestStatus(t *testing.T) {
	cause := fs.ErrNotExist
	for _, c := range []struct {
		err  error
		want int
		said string
	}{
		{nil, ExitOK, ""},
		{errors.New("no"), ExitInvalid, "program: no\n"},
		{Usagef("rounds is %d", 3), ExitUsage, "program: rounds is 3\n"},
		{fmt.Errorf("plan: %w", Usage(cause)), ExitUsage, "program: plan: file does not exist\n"},
		{GateError{ExitRegression, "fail", "slower"}, ExitRegression, "program: gate: fail: slower\n"},
		{errors.Join(GateError{ExitInconclusive, "unclear", "wide"}, Usagef("x")), ExitInconclusive, "program: gate: unclear: wide\nx\n"},
	} {
		var said bytes.Buffer
		if got := Status(&said, "program", c.err); got != c.want || said.String() != c.said {
			t.Errorf("%v: status %d, %q, want %d, %q", c.err, got, said.String(), c.want, c.said)
		}
	}
	if !errors.Is(Usage(cause), cause) {
		t.Error("the cause of a mistake is lost")
	}
}

// What the command line has wrong is a mistake that names what was given and wanted, and is not printed here.
func TestRoot(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"show", "a"}, ""},
		{[]string{"show"}, `show: 0 arguments [], want a folder; see program --help`},
		{[]string{"show", "a", "b"}, `show: 2 arguments ["a" "b"], want a folder; see program --help`},
		{[]string{"show", "a/b", "c", "d"}, `show: 3 arguments ["a/b" "c" "d"], want a folder; see program --help`},
		{[]string{"a"}, `1 argument ["a"], want none; see program --help`},
		{[]string{"show", "--no"}, "unknown flag: --no"},
	} {
		root := &cobra.Command{Use: "program", Args: Exactly(0, "none"), RunE: func(*cobra.Command, []string) error { return nil }}
		Root(root)
		root.AddCommand(&cobra.Command{Use: "show DIR", Args: Exactly(1, "a folder"), RunE: func(*cobra.Command, []string) error { return nil }})
		var out bytes.Buffer
		root.SetArgs(c.args)
		root.SetOut(&out)
		root.SetErr(&out)
		err := root.Execute()
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want || Status(&bytes.Buffer{}, "", err) != ExitUsage) || out.Len() > 0 {
			t.Errorf("%q: %v, printed %q, want %s", c.args, err, out.String(), c.want)
		}
	}
}

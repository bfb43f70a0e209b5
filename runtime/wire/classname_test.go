package wire

import (
	"strings"
	"testing"
)

func TestClassReadsTheFirstBytesOnly(t *testing.T) {
	for _, c := range []struct{ frame, class, problem string }{
		{"\x92\xa8AbortReq\xc1", "AbortReq", ""},
		{"\xdc\x00\x03\xaeBatchStrOutput\xc1\xc1", "BatchStrOutput", ""},
		{"", "", "the frame is empty"},
		{"\x90", "", "an empty array"},
		{"\x91\xa8Abort", "", "no string"},
		{"\x91\x01", "", "no string"},
		{"\xa1x", "", "want array"},
	} {
		got, err := Class([]byte(c.frame))
		if got != c.class || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q: got %q, %v, want %q, an error with %q", c.frame, got, err, c.class, c.problem)
		}
	}
}

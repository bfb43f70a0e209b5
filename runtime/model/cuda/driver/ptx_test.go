package driver

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What parsePTX counts is what NVRTC wrote: the parameters are named after the kernel and numbered.
func TestParsePTX(t *testing.T) {
	ptx, err := os.ReadFile("testdata/probes.ptx")
	if err != nil {
		t.Fatal(err)
	}
	text, err := parsePTX(ptx)
	if err != nil {
		t.Fatal(err)
	}
	if len(text.entries) != strings.Count(string(ptx), ".entry ") || len(text.entries) == 0 {
		t.Errorf("%d kernels, want %d", len(text.entries), strings.Count(string(ptx), ".entry "))
	}
	for name, got := range text.entries {
		if want := len(regexp.MustCompile(`\.param [^\n]* `+name+`_param_\d+`).FindAll(ptx, -1)); got != want {
			t.Errorf("%s has %d parameters, want %d", name, got, want)
		}
	}
}

// Whatever is not PTX is an error, and what is taken has a version and kernels.
func FuzzParsePTX(f *testing.F) {
	ptx, err := os.ReadFile("testdata/probes.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ptx)
	f.Add([]byte(".version 8.8\n.entry k(\n.param .u64 .ptr .align 1 k_param_0,\n.param .b8 s[8]\n)"))
	f.Add([]byte(".version 7.0\n.visible .entry k()\n{ret;}\n.entry k(.param .f32 x)"))
	f.Fuzz(func(t *testing.T, ptx []byte) {
		text, err := parsePTX(ptx)
		if err == nil && (text.version == "" || len(text.entries) == 0) {
			t.Errorf("taken: %+v", text)
		}
		for name, parameters := range text.entries {
			if parameters < 0 || name == "" {
				t.Errorf("kernel %q with %d parameters", name, parameters)
			}
		}
	})
}

//go:build cuda

package kernels

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every kernel of the PTX is one that Load looks for, and the other way round.
func TestKernelsOfThePTX(t *testing.T) {
	entry := regexp.MustCompile(`\.entry (\w+)\(`)
	files, err := fs.ReadDir(texts, "ptx")
	if err != nil || len(files) != len(sources) {
		t.Errorf("%d files of PTX, %v; expected %d", len(files), err, len(sources))
	}
	for source, names := range sources {
		text, err := fs.ReadFile(texts, "ptx/"+source+".ptx")
		if err != nil {
			t.Error(err)
		}
		var found []string
		for _, m := range entry.FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
		}
		slices.Sort(found)
		if want := slices.Sorted(slices.Values(names)); !slices.Equal(found, want) {
			t.Errorf("%s.ptx has the kernels %q, expected %q", source, found, want)
		}
	}
}

// What does not fit is named with what was expected, before the driver is asked.
func TestWhatDoesNotFit(t *testing.T) {
	heads := HeadShape{4, 2, 64}
	onDevice(t, func(d *device) {
		for want, err := range map[string]error{
			"kernels: embed_bf16: tokens 0, expected at least 1":                              d.Embed(d.t, BF16, 16, 16, 16, 0, 8),
			"kernels: embed_f32: dim 12, expected a multiple of 8":                            d.Gather(d.t, 16, 16, 16, 1, 12),
			"kernels: add_norm: dim 16392, expected at most 16384":                            d.AddNorm(d.t, 16, 0, 16, 16, 1, 16392, 1),
			"kernels: silu_mul: inner 0, expected at least 1":                                 d.SiLUMul(d.t, 16, 16, 1, 0),
			"kernels: matvec_bf16: cols 30, expected a multiple of 8":                         d.MatVec(d.t, BF16, Product{Rows: 1, Cols: 30, Tokens: 1}),
			"kernels: matvec_gated_f32: rows 0, expected at least 1":                          d.MatVecGated(d.t, F32, Product{Cols: 8, Tokens: 1}),
			"kernels: gemm_f32: norm 16, expected 0, and no Add: GEMM has neither":            d.GEMM(d.t, F32, Product{Rows: 1, Cols: 8, Tokens: 1, Norm: 16}),
			"kernels: qkv_store_f32: headdim 136, expected a multiple of 8 up to 128":         d.QKVStore(d.t, F32, QKV{Tokens: 1, HeadShape: HeadShape{1, 1, 136}}),
			"kernels: attend_split2_bf16: splits 0, expected at least 1":                      d.AttendSplit(d.t, BF16, Decode{Works: 1, HeadShape: heads}),
			"kernels: attend_join: works 0, expected at least 1":                              d.AttendJoin(d.t, Decode{Splits: 1, HeadShape: heads}),
			"kernels: attend_f32: heads 3, expected a multiple of 2 kvheads":                  d.Attend(d.t, F32, Prefill{Tokens: 1, HeadShape: HeadShape{3, 2, 8}}),
			"kernels: argmax: stride 9, expected at least the vocabulary's 10":                d.Argmax(d.t, 16, 16, 16, 1, 10, 9),
			"kernels: top_k: k 11, expected 1 to 1024, and no more than the vocabulary's 10":  d.TopK(d.t, TopK{Rows: 1, Vocabulary: 10, Stride: 10, K: 11}),
			"kernels: top_k: k 1025, expected 1 to 1024, and no more than the vocabulary's 9": d.TopK(d.t, TopK{Rows: 1, Vocabulary: 9, Stride: 9, K: 1025}),
		} {
			if err == nil || err.Error() != want {
				t.Errorf("error %v, expected %s", err, want)
			}
		}
		if _, err := Load(d.t, 0); err == nil || !strings.Contains(err.Error(), "0 multiprocessors, expected at least 1") {
			t.Errorf("error %v of no multiprocessors", err)
		}
	})
}

//go:build cuda

package kernels

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// A mutant is a source with one edit, which breaks it, and the test that must fail then.
type mutant struct {
	source   string // the kernels that are compiled
	header   bool   // the edit is in device.cuh
	old, new string
	test     string
}

const barrier = "__syncthreads();"

var mutants = []mutant{
	{"embed", false, "four(to + i + 4)", "four(to + i + 8)", "TestEmbed"},
	{"embed", false, "i += 8 * blockDim.x", "i += 16 * blockDim.x", "TestEmbed"},

	{"norm", false, "four(x + row + i) = v[n];", "", "TestAddNorm"},
	{"norm", false, "if (i >= dim) break;\n        v[n] = four", "if (i > dim) break;\n        v[n] = four", "TestAddNorm"},
	{"norm", true, "if (lane == 0) part[warp] = v;\n    " + barrier, "if (lane == 0) part[warp] = v;", "TestAddNorm"},
	{"norm", true, "for (int apart = 16; apart > 0; apart >>= 1) v +=", "for (int apart = 8; apart > 0; apart >>= 1) v +=", "TestAddNorm"},
	{"norm", true, "lane < warps ? part[lane]", "lane <= warps ? part[lane]", "TestAddNorm"},
	{"norm", false, "i / inner * 2 * inner", "i / inner * inner", "TestSiLUMul"},

	{"matvec", false, barrier + "\n                stage<T>", "stage<T>", "TestMatVec"},
	{"matvec", false, "token, count, column);\n                " + barrier, "token, count, column);", "TestMatVec"},
	{"matvec", false, "column + u * 256 < cols", "true", "TestMatVec"},
	{"matvec", false, "|| t >= count ", "", "TestMatVec"},
	{"matvec", false, "sums[t * R + r] = fmaf(w[r][i], x[i], sums[t * R + r])", "sums[t * R] = fmaf(w[r][i], x[i], sums[t * R])", "TestMatVecOfManyRows"},
	{"matvec", false, "part[t * warps + warp] = sum;\n    }\n    " + barrier, "part[t * warps + warp] = sum;\n    }", "TestMatVecOfANorm"},
	{"matvec", false, "__shfl_xor_sync(all_lanes, sum, share)", "__shfl_xor_sync(all_lanes, sum, 1)", "TestMatVecGated"},

	{"gemm", false, "(words / 2));\n            " + barrier, "(words / 2));", "TestGEMM"},
	{"gemm", false, "r < a.rows && column", "column", "TestGEMM"},
	{"gemm", false, "constexpr int parts = 3", "constexpr int parts = 2", "TestGEMMByTheUnitMatrix"},
	{"gemm", false, "(a & 0x7f80u) == 0x7f80u ? 0.0f : ", "", "TestGEMMOfNoNumbers"},
	{"gemm", false, "part * M + 16 * i", "part * N + 16 * i", "TestGEMM"},
	{"gemm", false, "8 * (p & 1)", "8 * (p >> 1)", "TestGEMM"},
	{"gemm", false, "stage_turned(ws, w, row, rows, column, cols);\n        " + barrier, "stage_turned(ws, w, row, rows, column, cols);", "TestGEMM"},

	{"store", false, "if (turn & 2)", "if (turn & 1)", "TestQKVStore"},
	{"store", false, "2 * pair + 1 : pair + half;\n        if", "2 * pair + 1 : pair + half - 1;\n        if", "TestQKVStore"},
	{"store", false, "kcache + (slot *", "kcache + (token *", "TestQKVStore"},
	{"store", true, "(u >> 16 & 1u)", "1u", "TestRoundingToBF16"},

	{"attend_decode", false, "running.value[g][i];\n    }\n    " + barrier, "running.value[g][i];\n    }", "TestAttendToACache"},
	{"attend_decode", false, "there[u] ? score : minus_infinity()", "score", "TestAttendToACache"},
	{"attend_decode", false, "apart = lanes >> 1", "apart = lanes >> 2", "TestAttendToACache"},
	{"attend_decode", false, "= value;\n    " + barrier, "= value;", "TestAttendToACache"},
	{"attend_decode", false, "s = warp; s < used", "s = warp + 1; s < used", "TestAttendToACache"},

	{"attend", false, barrier + "\n            stage(cached, kcache", "stage(cached, kcache", "TestAttendInAPrompt"},
	{"attend", false, barrier + "\n            if (base <= furthest) score", "if (base <= furthest) score", "TestAttendInAPrompt"},
	{"attend", false, barrier + "\n            stage(cached, vcache", "stage(cached, vcache", "TestAttendInAPrompt"},
	{"attend", false, "base + lane > rows.position[r]", "base + lane >= rows.position[r]", "TestAttendInAPrompt"},
	{"attend", false, " && a.tables[first + to] == start", "", "TestAttendInAPrompt"},

	{"choose", false, "= first;\n    " + barrier, "= first;", "TestArgmax"},
	{"choose", false, "(0xffffffffu - static_cast<unsigned>(id))", "static_cast<unsigned>(id)", "TestArgmax"},
	{"choose", false, "id < vocabulary; id += threads) first", "id <= vocabulary; id += threads) first", "TestArgmax"},
	{"choose", false, "counts[i] = 0;\n    " + barrier, "counts[i] = 0;", "TestTopK"},
	{"choose", false, "(1u << lane) - 1", "(2u << lane) - 1", "TestTopK"},
	{"choose", false, "apart /= 2) {\n            " + barrier, "apart /= 2) {", "TestTopK"},
	{"choose", false, "if (above >= wanted ", "if (above > wanted ", "TestTopK"},
}

// The kernels' tests see every mutant, in one order of threads at least; and nothing where the edit changes
// nothing.
func TestMutantsAreCaught(t *testing.T) {
	drivertest.Fake(t)
	for _, m := range append(mutants, mutant{"norm", false, "// What is done", "// What was done", "TestAddNorm"}) {
		t.Run(m.source+"/"+strings.ReplaceAll(m.old, "\n", " "), func(t *testing.T) {
			t.Parallel()
			library := m.build(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a mutant may never end
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^"+m.test+"$", "-test.failfast")
			cmd.Env = append(os.Environ(), "FANOUTBENCH_LIBCUDA="+library)
			out, err := cmd.CombinedOutput()
			if harmless := strings.HasPrefix(m.old, "//"); harmless != (err == nil) {
				t.Errorf("%s with %q for %q: error %v\n%s", m.source, m.new, m.old, err, out)
			}
		})
	}
}

// build makes a fake driver of the mutant and the other kernels as they are, of which the objects are there.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, file := range []string{"device.cuh", m.source + ".cu"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m.header == (file == "device.cuh") {
			if n := strings.Count(string(text), m.old); n != 1 {
				t.Fatalf("%q is %d times in %s, expected once", m.old, n, file)
			}
			text = []byte(strings.Replace(string(text), m.old, m.new, 1))
		}
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(folder, "libcuda.so.1")
	args := []string{
		"../fakecuda/build.py", "--include", os.Getenv("FANOUTBENCH_CUDA_INCLUDE"), "--objects", os.Getenv("FANOUTBENCH_CUDA_OBJECTS"),
		"--hashes-of", here, "--out", library, filepath.Join(folder, m.source+".cu"),
	}
	for source := range sources {
		if source != m.source {
			args = append(args, filepath.Join(here, source+".cu"))
		}
	}
	if out, err := exec.Command(cmp.Or(os.Getenv("PYTHON"), "python3"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

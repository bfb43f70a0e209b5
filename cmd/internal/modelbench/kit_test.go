package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Files that are small and whose logits package checkpoint's tests know.
const (
	qwen3File = "../../../runtime/model/checkpoint/testdata/qwen3.gguf"
	llamaFile = "../../../runtime/model/checkpoint/testdata/llama.gguf"
)

// The test's own executable is what modelbench starts: as itself, or as a peer, which computes with the plain loops.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	var err error
	if kind, ok := strings.CutPrefix(os.Args[1], "peer-"); ok {
		err = peer(kind, os.Args[2:], os.Stdin, os.Stdout)
	} else {
		err = command(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// peer answers as an arm of another name: honest, or wrong by computing something else, or dumb by giving too few tokens.
func peer(kind string, args []string, in io.Reader, out io.Writer) error {
	i := slices.Index(args, "--model")
	if i < 0 || i+1 >= len(args) {
		return errors.New("no --model")
	}
	d, err := openDecoder(args[i+1], runtimePlain, 64, 1)
	if err != nil {
		return err
	}
	d.ready.Arm = "plain"
	return answer(in, out, d.ready, func(line protocol.Line) (any, error) {
		if line.Type == typeTokenize {
			var t tokenize
			err := line.Expect(typeTokenize, &t)
			ids := tokenized{Type: typeTokenized}
			for _, b := range []byte(t.Text) {
				ids.IDs = append(ids.IDs, int64(b)%60)
			}
			return ids, err
		}
		var g generate
		if err := line.Expect(typeGenerate, &g); err != nil {
			return nil, err
		}
		switch kind {
		case "wrong":
			g.Prompt = append([]int64{7}, g.Prompt...)
		case "short":
			g.Tokens = max(1, g.Tokens-1)
		}
		return d.generate(g)
	})
}

func peerCommand(t *testing.T, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self + " peer-" + kind
}

// generatedOf is a continuation with the log-probabilities given at each position, ids from 0 on; the likeliest is chosen.
func generatedOf(positions ...[]float64) generated {
	g := generated{Type: typeGenerated}
	for _, values := range positions {
		var top []candidate
		for id, v := range values {
			top = append(top, candidate{ID: int64(id), Logprob: v})
		}
		slices.SortStableFunc(top, func(a, b candidate) int {
			if a.Logprob > b.Logprob {
				return -1
			}
			return 1
		})
		g.IDs, g.Top = append(g.IDs, top[0].ID), append(g.Top, top)
	}
	return g
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

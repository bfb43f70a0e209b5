package controller

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write the frames of examples/recorded anew")

const sampleFolder = "../../../examples/recorded"

// sample is the files of examples/recorded: the frames of a mixed stream for two
// consumers as this package's controller sends them, and of its vocabulary the
// tokens that come up.
func sample(t *testing.T) map[string][]byte {
	t.Helper()
	w, err := stream.Mixed(5, stream.Place{Cell: protocol.Cell{Count: 5, Metadata: stream.Rich}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	used := map[int64]bool{}
	for i, b := range w.Stream {
		files[fmt.Sprintf("step-%d.bin", i)] = replayed(t, b, protocol.TransportMsgpack, []string{"ipc://http-worker-0", "ipc://http-worker-1"})
		for _, column := range []string{"decode_ids", "output_ids"} {
			var rows [][]int64
			if err := json.Unmarshal(b.Columns[column], &rows); err != nil {
				t.Fatal(err)
			}
			for _, id := range slices.Concat(rows...) {
				used[id] = true
			}
		}
	}
	w.Vocabulary.Tokens = slices.DeleteFunc(w.Vocabulary.Tokens, func(t protocol.Token) bool { return !used[t.ID] })
	if files[vocabularyName], err = json.Marshal(w.Vocabulary); err != nil {
		t.Fatal(err)
	}
	files[vocabularyName] = append(files[vocabularyName], '\n')
	return files
}

// The frames that examples/recorded has are those that a controller sends today,
// and are read as a recording of rows for two consumers.
func TestSampleRecording(t *testing.T) {
	for name, want := range sample(t) {
		path := filepath.Join(sampleFolder, name)
		if *rewrite {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want other %d (-rewrite writes them)", path, len(got), len(want))
		}
	}
	rec, err := ReadRecording(sampleFolder)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Consumers() != 2 || rec.Cell() != (protocol.Cell{Count: 5, Metadata: stream.Rich}) || len(rec.Batches) != 8 {
		t.Errorf("%d consumers, cell %+v, %d batches", rec.Consumers(), rec.Cell(), len(rec.Batches))
	}
}

package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/safetensors"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func open(t *testing.T, path string) *Checkpoint {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// object is a config.json with some fields changed: nil takes one away.
func object(t *testing.T, folder string, change map[string]any) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", folder, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for name, v := range change {
		if fields[name] = v; v == nil {
			delete(fields, name)
		}
	}
	raw, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// folder is a copy of one of testdata's, its tensors in one file and changed.
func folder(t *testing.T, from string, config map[string]any, change func(map[string]tensor.Tensor)) string {
	t.Helper()
	files, err := safetensors.Open(filepath.Join("testdata", from))
	if err != nil {
		t.Fatal(err)
	}
	tensors := map[string]tensor.Tensor{}
	for _, x := range files.Tensors {
		tensors[x.Name] = x
	}
	change(tensors)
	dir := t.TempDir()
	for name, raw := range map[string][]byte{"config.json": object(t, from, config), "model.safetensors": written(t, tensors)} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// written is a safetensors file of them.
func written(t *testing.T, tensors map[string]tensor.Tensor) []byte {
	t.Helper()
	header, data := map[string]any{}, []byte{}
	for name, x := range tensors {
		header[name] = map[string]any{"dtype": x.DType.String(), "shape": x.Shape, "data_offsets": []int{len(data), len(data) + len(x.Data)}}
		data = append(data, x.Data...)
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, data)
}

// keyed are a GGUF file's keys, as strings, whole numbers, floats and lists.
type keyed map[string]any

// tiny are the keys of a llama with one layer, and its tensors' shapes.
func tiny() (keyed, map[string][]int) {
	return keyed{
			"general.architecture": "llama", "llama.block_count": 1, "llama.context_length": 100, "llama.embedding_length": 8,
			"llama.feed_forward_length": 6, "llama.attention.head_count": 2, "llama.attention.layer_norm_rms_epsilon": 1e-5,
			"llama.vocab_size": 5,
		}, map[string][]int{
			"token_embd.weight": {5, 8}, "output_norm.weight": {8}, "blk.0.attn_norm.weight": {8},
			"blk.0.attn_q.weight": {8, 8}, "blk.0.attn_k.weight": {8, 8}, "blk.0.attn_v.weight": {8, 8}, "blk.0.attn_output.weight": {8, 8},
			"blk.0.ffn_norm.weight": {8}, "blk.0.ffn_gate.weight": {6, 8}, "blk.0.ffn_up.weight": {6, 8}, "blk.0.ffn_down.weight": {8, 6},
		}
}

func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func number(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

// value writes a type and a value.
func value(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return text(number(b, 8), v)
	case int:
		return number(number(b, 5), v)
	case float64:
		return binary.LittleEndian.AppendUint32(number(b, 6), math.Float32bits(float32(v)))
	case []int:
		b = binary.LittleEndian.AppendUint64(number(number(b, 9), 5), uint64(len(v)))
		for _, n := range v {
			b = number(b, n)
		}
		return b
	case []string:
		b = binary.LittleEndian.AppendUint64(number(number(b, 9), 8), uint64(len(v)))
		for _, s := range v {
			b = text(b, s)
		}
		return b
	}
	panic(fmt.Sprintf("no type for %v", v))
}

// ggufFile writes one, its numbers 1, 2, 3 and so on in F32.
func ggufFile(t testing.TB, keys keyed, shapes map[string][]int) string {
	t.Helper()
	b := number([]byte("GGUF"), 3)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(shapes)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(keys)))
	for key, v := range keys {
		b = value(text(b, key), v)
	}
	var data []byte
	for name, shape := range shapes {
		b = number(text(b, name), len(shape))
		size := 1
		for _, n := range slices.Backward(shape) {
			b, size = binary.LittleEndian.AppendUint64(b, uint64(n)), size*n
		}
		b = binary.LittleEndian.AppendUint64(number(b, 0), uint64(len(data)))
		for i := range size {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i+1)))
		}
		data = append(data, make([]byte, (32-len(data)%32)%32)...)
	}
	b = append(b, make([]byte, (32-len(b)%32)%32)...)
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(path, append(b, data...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

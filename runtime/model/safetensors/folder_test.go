package safetensors

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// folder makes one of the files.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, raw := range files {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with has one tensor, of that name.
func with(name string) []byte {
	return file(`{"`+name+`":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4)
}

func TestOpen(t *testing.T) {
	for want, files := range map[string]map[string][]byte{
		"x": {"model.safetensors": with("x")},
		"y z": {
			"model.safetensors.index.json": []byte(`{"metadata":{"total_size":8},"weight_map":{"y":"1.safetensors","z":"2.safetensors"}}`),
			"1.safetensors":                with("y"),
			"2.safetensors":                with("z"),
		},
		"v": { // the single file goes first
			"model.safetensors": with("v"), "model.safetensors.index.json": []byte(`{}`),
		},
	} {
		f, err := Open(folder(t, files))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range f.Tensors {
			got += " " + x.Name
		}
		if got != " "+want {
			t.Errorf("tensors%s, want %s", got, want)
		}
		if !slices.Equal(f.Tensors[0].Data, []byte{0, 1, 2, 3}) {
			t.Errorf("bytes %v", f.Tensors[0].Data)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFoldersThatCannotBe(t *testing.T) {
	const index = "model.safetensors.index.json"
	for want, files := range map[string]map[string][]byte{
		"has no weights: expected model.safetensors or model.safetensors.index.json": {},
		"model.safetensors: a file of 0 bytes":                                       {"model.safetensors": nil},
		index + ": unexpected end of JSON input":                                     {index: nil},
		index + ": no weight_map":                                                    {index: []byte(`{"weight_map":{}}`)},
		index + ": json: cannot unmarshal number":                                    {index: []byte(`{"weight_map":{"x":1}}`)},
		index + `: the key "x" is given twice in weight_map`:                         {index: []byte(`{"weight_map":{"x":"1","x":"2"}}`)},
		`tensor "x" lies in "../1", expected a file of the folder itself`:            {index: []byte(`{"weight_map":{"x":"../1"}}`)},
		`tensor "x" lies in "/etc/1", expected`:                                      {index: []byte(`{"weight_map":{"x":"/etc/1"}}`)},
		`tensor "x" lies in "sub/1", expected`:                                       {index: []byte(`{"weight_map":{"x":"sub/1"}}`)},
		`tensor "x" lies in "..", expected`:                                          {index: []byte(`{"weight_map":{"x":".."}}`)},
		`tensor "x" lies in ".", expected`:                                           {index: []byte(`{"weight_map":{"x":"."}}`)},
		`tensor "x" lies in "", expected`:                                            {index: []byte(`{"weight_map":{"x":""}}`)},
		index + " names it: ":                                                        {index: []byte(`{"weight_map":{"x":"1"}}`)},
		`and 1: tensor "y" is in the file, but the index does not put it there`:      {index: []byte(`{"weight_map":{"x":"1"}}`), "1": with("y")},
		`and 1: tensor "y" is not in the file, but the index puts it there`:          {index: []byte(`{"weight_map":{"x":"1","y":"1"}}`), "1": with("x")},
		`and 2: tensor "x" is in the file, but the index does not`:                   {index: []byte(`{"weight_map":{"x":"1","y":"2"}}`), "1": with("x"), "2": with("x")},
	} {
		_, err := Open(folder(t, files))
		wantError(t, err, want)
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{},"weight_map":{"x":"1","y":"1","z":"2"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, err := parseIndex(raw)
		if err == nil && len(files) == 0 {
			t.Fatal("neither an error nor files")
		}
		for name := range files {
			if filepath.Dir(filepath.Join("folder", name)) != "folder" {
				t.Fatalf("%q is not in the folder", name)
			}
		}
	})
}

// A file of a gigabyte, which is a hole on the disk, takes none of it as memory.
func TestOpenMapsAndDoesNotCopy(t *testing.T) {
	const size = 1 << 30
	header := fmt.Sprintf(`{"x":{"dtype":"BF16","shape":[%d,1024],"data_offsets":[0,%d]}}`, size/2048, size)
	dir := folder(t, map[string][]byte{"model.safetensors": file(header, 0)})
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), int64(8+len(header)+size)); err != nil {
		t.Fatal(err)
	}
	var f *Folder
	var err error
	if n := allocated(func() { f, err = Open(dir) }); n > 1<<20 {
		t.Errorf("%d bytes of memory, want a few thousand", n)
	}
	if err != nil {
		t.Fatal(err)
	}
	if x := f.Tensors[0]; len(x.Data) != size || x.Data[size-1] != 0 {
		t.Errorf("%d bytes", len(x.Data))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

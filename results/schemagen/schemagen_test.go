package schemagen

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"
)

// sample has every kind of field that the records have.
//
// Its comment goes over two paragraphs.
type sample struct {
	Name    string             `json:"name"` // behind it
	Word    string             `json:"word,omitempty"`
	Count   int                `json:"count"`
	Seed    uint64             `json:"seed"`
	Share   *float64           `json:"share"`
	Maybe   *int64             `json:"maybe,omitempty"`
	Yes     bool               `json:"yes"`
	Only    bool               `json:"only,omitempty"`
	At      time.Time          `json:"at"`
	Part    part               `json:"part"`
	Null    *part              `json:"null"`
	Absent  *part              `json:"absent,omitempty"`
	List    []*float64         `json:"list"`
	Some    []part             `json:"some,omitempty"`
	Figures map[string]float64 `json:"figures,omitempty"`
	private int
}

type part struct {
	// Above it.
	Kind string `json:"kind"`
}

func TestSchemaOfSample(t *testing.T) {
	comments, err := CommentsOf(".")
	if err != nil {
		t.Fatal(err)
	}
	g := &Generator{Base: "https://github.com/fanoutbench/fanoutbench/results/schema/", Comments: comments, Used: map[string]bool{}, Rules: map[string]Object{
		"count": Between(1, 9), "part.kind": OneOf("a", "b"), "list": Items(2, 0), "list[]": AtLeast(0), "word": OneOf("w"),
	}}
	got := Render(g.Schema("sample.schema.json", "a sample", reflect.TypeFor[sample]()), "") + "\n"
	want, err := os.ReadFile("testdata/sample.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("another schema than sample.schema.json:\n%s", got)
	}
	if _ = (sample{}.private); !json.Valid([]byte(got)) {
		t.Errorf("not JSON:\n%s", got)
	}
}

package serve

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// changing are the members of an answer that no two answers share.
var changing = []string{"id", "created", "e2e_latency"}

// blank takes them out of an answer.
func blank(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range changing {
			delete(v, name)
		}
		for k := range v {
			v[k] = blank(v[k])
		}
	case []any:
		for i := range v {
			v[i] = blank(v[i])
		}
	}
	return v
}

// The sessions that the documentation shows are what the server answers.
func TestSessionsOfThePages(t *testing.T) {
	s := launch(t, "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
	for _, page := range []string{"README.md", "docs/serving.md"} {
		text, err := os.ReadFile("../../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(page, func(t *testing.T) { s.session(t, string(text)) })
	}
	s.term()
}

// session compares what a page says with what the server answers.
func (s *server) session(t *testing.T, page string) {
	_, rest, ok := strings.Cut(page, "<!-- session -->")
	session, _, ended := strings.Cut(rest, "<!-- end -->")
	if !ok || !ended {
		t.Fatal("the page has no session")
	}
	exchanges := regexp.MustCompile(`(?m)^    \$ curl -s localhost:30000(\S+) -d '(.*)'\n    (.*)$`).FindAllStringSubmatch(session, -1)
	if want := strings.Count(session, "$ curl"); len(exchanges) != want || want == 0 {
		t.Fatalf("%d exchanges of %d are understood", len(exchanges), want)
	}
	for _, e := range exchanges {
		var got, want any
		if err := json.Unmarshal([]byte(s.body(e[1], e[2])), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(e[3]), &want); err != nil {
			t.Fatalf("%s: %v", e[3], err)
		}
		if got, want := blank(got), blank(want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: got %v, the page says %v", e[1], e[2], got, want)
		}
	}
}

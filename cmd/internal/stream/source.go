package stream

import (
	"fmt"
	"strings"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Source makes the streams of one run.
type Source struct {
	kind      string
	seed      uint64
	consumers int
	recording *Recording
}

// NewSource is the source of a run's streams by the plan's names: "seed",
// "mixed", or "recorded:DIR" with the recording that was read from DIR.
func NewSource(kind string, seed uint64, consumers int, rec *Recording) (Source, error) {
	recorded := strings.HasPrefix(kind, results.StreamRecorded)
	switch {
	case recorded != (rec != nil):
		return Source{}, fmt.Errorf("stream: kind %q with a recording: %t", kind, rec != nil)
	case recorded && rec.Consumers() > consumers:
		return Source{}, fmt.Errorf("stream: %d consumers, the recording has %d", consumers, rec.Consumers())
	case !recorded && kind != results.StreamSeed && kind != results.StreamMixed:
		return Source{}, fmt.Errorf("stream: kind %q, want %q, %q or %sDIR", kind, results.StreamSeed, results.StreamMixed, results.StreamRecorded)
	}
	return Source{kind: kind, seed: seed, consumers: consumers, recording: rec}, nil
}

// Work is the stream of a trial and its fence.
func (s Source) Work(p Place) (protocol.Work, error) {
	switch {
	case s.recording != nil:
		return s.recording.Work(s.seed, p, s.consumers)
	case s.kind == results.StreamMixed:
		return Mixed(s.seed, p, s.consumers)
	}
	return Seed(s.seed, p, s.consumers)
}

// Check says whether the stream of a place can be made, without making it.
func (s Source) Check(p Place) error {
	if s.kind == results.StreamMixed {
		return p.check(s.consumers, MixedSteps)
	}
	return p.check(s.consumers, Steps)
}

// Rows is the number of rows of every stream of a cell, its fence left out.
func (s Source) Rows(c protocol.Cell) int {
	switch {
	case s.recording != nil:
		return s.recording.Rows()
	case s.kind == results.StreamMixed && c.Count >= 0 && s.consumers > 0:
		return newShape(s.seed, c.Count, s.consumers).total()
	}
	return c.Count * Steps
}

// Full is the stream that every arm must pass first. Its vocabulary is of the
// kind of the run's own, since a detokenizer may have no use for another.
func (s Source) Full() (protocol.Work, error) {
	w, err := Full(s.seed, s.consumers)
	w.Vocabulary.Kind = s.vocabularyKind()
	return w, err
}

func (s Source) vocabularyKind() string {
	switch {
	case s.recording != nil:
		return s.recording.Vocabulary.Kind
	case s.kind == results.StreamMixed:
		return protocol.VocabularyBytes
	}
	return protocol.VocabularyWords
}

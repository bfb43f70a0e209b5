package worker

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// The byte buffer needs a vocabulary of bytes. Another one is answered with error,
// and the worker goes on to the next.
func TestMethodVocabulary(t *testing.T) {
	for method, wrong := range map[string]string{
		"":                    "",
		protocol.MethodOffset: "",
		protocol.MethodBytes:  `method bytes with a vocabulary of kind "words": `,
	} {
		t.Run("method "+method, func(t *testing.T) {
			t.Parallel()
			p := open(t, t.Context())
			c := p.configure()
			c.Method = method
			p.ask(c, protocol.TypeReady, &protocol.Ready{}, "")
			p.ask(p.prepare("words"), protocol.TypePrepared, &protocol.Signal{}, wrong)
			p.ask(p.prepare("bytes"), protocol.TypePrepared, &protocol.Signal{}, "")
		})
	}
}

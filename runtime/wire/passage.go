package wire

import "strings"

// passage says how a batch of one class becomes what the HTTP workers get.
type passage struct {
	in, out *class
	source  []int    // for each field of out the field of in that it comes from, -1 for output_strs
	kinds   []opKind // for each field of out
	head    []byte   // of every frame of out
}

// outOnly names the field of a BatchStrOutput that no batch field gives: the
// text is what a detokenizer adds.
const outOnly = "output_strs"

// The batches that a detokenizer receives.
var (
	textPassage      = newPassage(tokenClass, strClass)
	embeddingPassage = newPassage(embeddingClass, embeddingClass)
	passages         = []*passage{textPassage, embeddingPassage}
)

// newPassage panics, while the program starts, on a field of out that is not in
// in: a message whose fields cannot all be filled must not be built.
func newPassage(in, out *class) *passage {
	p := &passage{in: in, out: out}
	for _, f := range out.fields {
		from, ok := in.byName[f.name]
		switch {
		case f.name == outOnly:
			from = -1
		case !ok:
			panic("wire: no field of " + in.name + " gives " + out.name + "." + f.name)
		}
		kind := opKinds[f.name]
		if f.opaque {
			kind = opMeta
		}
		p.source = append(p.source, from)
		p.kinds = append(p.kinds, kind)
	}
	p.head = appendText(appendHead(nil, 0x90, 0xdc, len(out.fields)+1), []byte(out.name))
	return p
}

// passageOf finds the passage of a received frame.
func passageOf(frame []byte) (*passage, error) {
	name, _, _, err := classOf(frame)
	if err != nil {
		return nil, err
	}
	for _, p := range passages {
		if string(name) == p.in.name {
			return p, nil
		}
	}
	return nil, otherClass(frame, name, textPassage.in, embeddingPassage.in)
}

// listed joins the names of classes for an error: a, b or c.
func listed(classes []*class) string {
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = c.name
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

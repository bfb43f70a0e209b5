package wire

// AppendPart appends the frame of one message of the given rows to dst, of the
// batch's own class: what a router sends to a detokenizer, made of the batch's
// own bytes. It is Take and Encode without their decoding. It needs a Parse that
// did not fail.
func (v *View) AppendPart(dst []byte, rows []int32) []byte {
	in := v.by.in
	dst = appendText(appendHead(dst, 0x90, 0xdc, len(in.fields)+1), []byte(in.name))
	for i, f := range in.fields {
		switch s := v.cols[i]; {
		case f.opaque:
			dst = v.appendMeta(dst, &v.metas[i], rows)
		case v.covers(s, rows):
			dst = v.appendList(dst, s, rows)
		default:
			dst = append(dst, codeNil)
		}
	}
	return dst
}

// RIDBytes is row i's rid where it lies in the frame.
func (v *View) RIDBytes(i int) []byte { return v.text(atRIDs, i) }

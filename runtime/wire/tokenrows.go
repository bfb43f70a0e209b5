package wire

var tokenHead = appendText(appendHead(nil, 0x90, 0xdc, len(tokenClass.fields)+1), []byte(tokenClass.name))

// AppendTokenRows appends the frame of one BatchTokenIDOutput of the given rows
// to dst: what a router sends to a detokenizer, made of the batch's own bytes.
// It is Take and Encode without their decoding.
func (v *View) AppendTokenRows(dst []byte, rows []int32) []byte {
	dst = append(dst, tokenHead...)
	for i, s := range v.cols {
		switch {
		case tokenClass.fields[i].opaque:
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

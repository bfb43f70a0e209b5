package wire

// Class reads the class name from a frame's first bytes, of this package's
// classes or any other's. It looks no further, so the rest may be malformed.
func Class(frame []byte) (string, error) {
	name, _, _, err := classOf(frame)
	return string(name), err
}

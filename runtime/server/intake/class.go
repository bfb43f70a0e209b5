package intake

// Is says whether a message is of that class, from its first bytes. Array and
// class name must have the shortest headers, as every encoder here writes them;
// what has others is of no class. Names are of at most 31 bytes.
func Is(frame []byte, class string) bool {
	head := headLen(frame)
	if head == 0 || len(frame) < head+1+len(class) {
		return false
	}
	return frame[head] == 0xa0|byte(len(class)) && string(frame[head+1:head+1+len(class)]) == class
}

// headLen is the length of an array's header; 0: it is none.
func headLen(frame []byte) int {
	switch {
	case len(frame) == 0:
		return 0
	case frame[0]&0xf0 == 0x90:
		return 1
	case frame[0] == 0xdc:
		return 3
	}
	return 0
}

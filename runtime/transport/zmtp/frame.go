package zmtp

import (
	"encoding/binary"
	"fmt"
)

const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4

	// MaxCommand bounds a command's body; READY with all of libzmq's properties has some hundred bytes.
	MaxCommand = 64 << 10
	// MaxHeader is the size of a long frame's header.
	MaxHeader = 9

	maxContext = 16
)

// AppendHeader appends the header of a message frame with a body of n bytes.
func AppendHeader(dst []byte, n int) []byte {
	if n < 256 {
		return append(dst, 0, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, flagLong), uint64(n))
}

// AppendPong appends the command that answers a PING with this context.
func AppendPong(dst, context []byte) []byte {
	dst = append(dst, flagCommand, byte(5+len(context)))
	dst = append(dst, "\x04PONG"...)
	return append(dst, context...)
}

// header is a frame's header: size is the header's own length plus the body's.
type header struct {
	command bool
	at      int // where the body begins
	size    int // where it ends
}

// parseHeader reads a header from the start of b. ok is false when b is too short to tell.
func parseHeader(b []byte, maxFrame int) (h header, ok bool, err error) {
	if len(b) == 0 {
		return h, false, nil
	}
	flags := b[0]
	if flags&^(flagLong) != 0 { // a command, or wrong
		if err := checkFlags(flags); err != nil {
			return h, false, err
		}
		h.command, maxFrame = true, MaxCommand
	}
	var n uint64
	switch {
	case flags&flagLong == 0 && len(b) >= 2:
		h.at, n = 2, uint64(b[1])
	case flags&flagLong != 0 && len(b) >= MaxHeader:
		h.at, n = MaxHeader, binary.BigEndian.Uint64(b[1:])
	default:
		return h, false, nil
	}
	if n > uint64(maxFrame) {
		return h, false, fmt.Errorf("%s of %d bytes; at most %d are taken", h.what(), n, maxFrame)
	}
	h.size = h.at + int(n)
	return h, true, nil
}

func (h header) what() string {
	if h.command {
		return "command"
	}
	return "message"
}

func checkFlags(flags byte) error {
	switch {
	case flags&^(flagMore|flagLong|flagCommand) != 0:
		return fmt.Errorf("frame flags are 0x%02x; the bits 0x%02x are reserved and must be 0", flags, flags&^(flagMore|flagLong|flagCommand))
	case flags&flagMore != 0 && flags&flagCommand != 0:
		return fmt.Errorf("frame flags are 0x%02x; a command cannot have more frames", flags)
	case flags&flagMore != 0:
		return fmt.Errorf("frame flags are 0x%02x: a multipart message; only single frames are carried", flags)
	}
	return nil
}

// command splits a command's body into name and data.
func command(body []byte) (name string, data []byte, err error) {
	if len(body) == 0 || body[0] == 0 {
		return "", nil, fmt.Errorf("command of %d bytes without a name", len(body))
	}
	n := int(body[0])
	if len(body) < 1+n {
		return "", nil, fmt.Errorf("command name of %d bytes in a command of %d", n, len(body))
	}
	return string(body[1 : 1+n]), body[1+n:], nil
}

// pingContext is what a PONG has to repeat.
func pingContext(data []byte) ([]byte, error) {
	if len(data) < 2 {
		return nil, fmt.Errorf("PING with %d bytes of data; it needs 2 for its time to live", len(data))
	}
	n := min(len(data)-2, maxContext)
	return data[2 : 2+n : 2+n], nil
}

// reason reads the data of an ERROR command.
func reason(data []byte) error {
	if len(data) == 0 || len(data) < 1+int(data[0]) {
		return fmt.Errorf("peer sent ERROR (malformed: % x)", data[:min(len(data), 32)])
	}
	return fmt.Errorf("peer sent ERROR: %q", data[1:1+int(data[0])])
}

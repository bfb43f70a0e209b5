package zmtp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// outcome is everything that a stream's bytes come to.
type outcome struct {
	messages [][]byte
	pings    [][]byte
	shaken   bool
	partial  int // bytes of the unfinished unit at the end; -1 after a breach
	breach   bool
}

// twin is the dumb reader of a whole stream: one unit after another from a bytes.Reader, by the RFC's words.
func twin(all []byte, peer string, maxFrame int) (o outcome) {
	r := bytes.NewReader(all)
	defer func() {
		if o.breach {
			o.partial = -1
		}
	}()
	if o.breach = twinGreetingBreach(all); o.breach {
		return o
	}
	if len(all) < 64 {
		o.partial = len(all)
		return o
	}
	r.Seek(64, io.SeekStart)
	for {
		before := r.Len()
		flags, body, err := twinFrame(r, maxFrame, o.shaken)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			o.partial = before
			return o
		}
		if o.breach = err != nil; o.breach {
			return o
		}
		switch {
		case !o.shaken:
			if o.breach = !twinReady(body, peer); o.breach {
				return o
			}
			o.shaken = true
		case flags&4 == 0:
			o.messages = append(o.messages, body)
		default:
			ping, err := twinCommand(body)
			if o.breach = err != nil; o.breach {
				return o
			}
			if ping != nil {
				o.pings = append(o.pings, ping)
			}
		}
	}
}

func twinGreetingBreach(all []byte) bool {
	want := map[int]byte{0: 0xff, 9: 0x7f, 10: 3, 32: 0}
	for at, b := range want {
		if len(all) > at && all[at] != b {
			return true
		}
	}
	mechanism := append([]byte("NULL"), make([]byte, 16)...)
	return len(all) >= 32 && !bytes.Equal(all[12:32], mechanism)
}

func twinFrame(r io.Reader, maxFrame int, shaken bool) (flags byte, body []byte, err error) {
	var f [1]byte
	if _, err := io.ReadFull(r, f[:]); err != nil {
		return 0, nil, err
	}
	flags = f[0]
	switch flags { // every legal value, written out
	case 0, 2:
		if !shaken {
			return 0, nil, fmt.Errorf("message in the handshake")
		}
	case 4, 6:
		maxFrame = MaxCommand
	default:
		return 0, nil, fmt.Errorf("flags %x", flags)
	}
	size := make([]byte, 8)
	if flags&2 != 0 {
		_, err = io.ReadFull(r, size)
	} else {
		_, err = io.ReadFull(r, size[7:])
	}
	if err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	n := binary.BigEndian.Uint64(size)
	if n > uint64(maxFrame) {
		return 0, nil, fmt.Errorf("%d bytes", n)
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return flags, body, nil
}

func twinCommand(body []byte) (ping []byte, err error) {
	if len(body) == 0 || body[0] == 0 || len(body) < int(body[0])+1 {
		return nil, errors.New("command without a name")
	}
	name, data := string(body[1:int(body[0])+1]), body[int(body[0])+1:]
	if name == "ERROR" || (name == "PING" && len(data) < 2) {
		return nil, errors.New("ERROR, or a short PING")
	}
	if name != "PING" {
		return nil, nil
	}
	ping = data[2:]
	if len(ping) > 16 {
		ping = ping[:16]
	}
	return ping, nil
}

func twinReady(body []byte, peer string) bool {
	rest, ok := bytes.CutPrefix(body, []byte("\x05READY"))
	if !ok {
		return false
	}
	found := ""
	for len(rest) > 0 {
		n := int(rest[0])
		if n == 0 || len(rest) < 1+n+4 {
			return false
		}
		name := string(rest[1 : 1+n])
		v := binary.BigEndian.Uint32(rest[1+n : 1+n+4])
		rest = rest[1+n+4:]
		if int64(v) > int64(len(rest)) {
			return false
		}
		if strings.EqualFold(name, "socket-type") {
			found = string(rest[:v])
		}
		rest = rest[v:]
	}
	return found == peer
}

package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line in bytes; bulk data goes into files.
const MaxLine = 4 << 20

// Conn writes and reads lines. One goroutine may write while another reads.
type Conn struct {
	in     *bufio.Reader
	out    io.Writer
	broken error // of reading: nothing after it is a line
}

// NewConn reads lines from in and writes lines to out.
func NewConn(in io.Reader, out io.Writer) *Conn {
	return &Conn{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Send writes v as one line.
func (c *Conn) Send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("protocol: encode %T: %w", v, err)
	}
	if len(b) >= MaxLine {
		return fmt.Errorf("protocol: %T takes %d bytes, want less than %d", v, len(b), MaxLine)
	}
	if _, err := c.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("protocol: send %T: %w", v, err)
	}
	return nil
}

// Line is one line read: its type, and the whole object.
type Line struct {
	Type    string
	Raw     json.RawMessage
	version json.RawMessage // what it says its version is, if anything
}

// Receive reads the next line. io.EOF is an end between lines; a last line
// without a line end is an error, since its writer died while writing it. After
// an error of reading every call returns that error; after a line that is wrong
// in itself the next line can be read.
func (c *Conn) Receive() (Line, error) {
	if c.broken != nil {
		return Line{}, c.broken
	}
	raw, err := c.readLine()
	if err != nil {
		c.broken = err
		return Line{}, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return Line{}, fmt.Errorf("protocol: line %s is not a JSON object: %w", quote(raw), orNull(err))
	}
	if err := wholeText(raw); err != nil {
		return Line{}, fmt.Errorf("protocol: line %s: %w", quote(raw), err)
	}
	var name *string
	if err := json.Unmarshal(object["type"], &name); err != nil || name == nil {
		return Line{}, fmt.Errorf("protocol: line %s has no \"type\" that is a string", quote(raw))
	}
	return Line{Type: *name, Raw: raw, version: object["version"]}, nil
}

func orNull(err error) error {
	if err == nil {
		return errors.New("it is null")
	}
	return err
}

// readLine reads up to a line end, which it takes off.
func (c *Conn) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, fmt.Errorf("protocol: a line of more than %d bytes, it begins %s", MaxLine, quote(line))
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("protocol: input ended inside the line %s: %w", quote(line), io.ErrUnexpectedEOF)
		default:
			return nil, fmt.Errorf("protocol: read: %w", err)
		}
	}
}

// Decode reads the line into v, refusing keys that v does not have. If hello or
// receipt name another version, the error says so: that is why their keys differ.
func (l Line) Decode(v any) error {
	err := decodeStrict(l.Raw, v)
	switch {
	case err == nil:
		return nil
	case (l.Type == TypeHello || l.Type == TypeReceipt) && string(l.version) != fmt.Sprint(Version):
		return fmt.Errorf("protocol: %s line of protocol version %s, this side speaks %d: %w", l.Type, quote(l.version), Version, err)
	}
	return fmt.Errorf("protocol: %s line: %w", l.Type, err)
}

// Expect decodes the line into v if its type is want. A line of type error
// becomes a *PeerError.
func (l Line) Expect(want string, v any) error {
	switch l.Type {
	case want:
		return l.Decode(v)
	case TypeError:
		var e Error
		if err := l.Decode(&e); err != nil {
			return err
		}
		return &PeerError{Message: e.Message}
	}
	return fmt.Errorf("protocol: got a line of type %q, want %q", l.Type, want)
}

// PeerError is an error that the other side reported.
type PeerError struct{ Message string }

func (e *PeerError) Error() string { return e.Message }

func quote(b []byte) string {
	if len(b) > 80 {
		return fmt.Sprintf("%q...", b[:80])
	}
	return fmt.Sprintf("%q", b)
}

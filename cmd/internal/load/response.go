package load

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	mostHead   = 64 << 10  // bytes of a status line and headers, and of a chunk's line or of trailers
	mostAnswer = 256 << 20 // bytes of one answer
)

// response reads one HTTP/1.x answer from pieces of any size. It knows what a server of an API sends:
// Content-Length, chunked, or a body that ends with the connection. The zero value is ready.
type response struct {
	keep   bool           // collect the body
	onPart func(size int) // a chunk is complete, or a piece of another body came; body bytes so far

	status    int
	size      int64 // body bytes so far
	body      []byte
	keepAlive bool

	phase phase
	line  []byte // of a head, a chunk's size or trailers: what came of it before
	left  int64  // of a body or chunk
}

type phase int

const (
	inHead phase = iota
	inBody
	inChunkSize
	inChunk
	inChunkEnd
	inTrailers
	untilClose
	complete
)

// feed takes the next piece. It returns what lies behind the end of the answer, once done.
func (r *response) feed(b []byte) (rest []byte, done bool, err error) {
	for len(b) > 0 && r.phase != complete {
		switch r.phase {
		case inHead:
			b, err = r.head(b)
		case inBody, untilClose:
			b, err = r.plain(b)
		case inChunk:
			b, err = r.chunk(b)
		default:
			b, err = r.chunkLine(b)
		}
		if err != nil {
			return nil, false, err
		}
	}
	return b, r.phase == complete, nil
}

// eof says whether the end of the connection is the end of the answer.
func (r *response) eof() error {
	switch {
	case r.phase == untilClose:
		r.phase = complete
		return nil
	case r.phase == inHead && len(r.line) == 0 && r.status == 0:
		return errors.New("the connection was closed before a byte of the answer")
	}
	return fmt.Errorf("the connection was closed within the answer, after %d bytes of its body", r.size)
}

// upTo collects bytes through the end mark; ok is false when the mark has not come yet.
func (r *response) upTo(mark string, b []byte) (whole, rest []byte, ok bool, err error) {
	before := len(r.line)
	r.line = append(r.line, b...)
	from := max(0, before-len(mark)+1) // the mark may have begun in an earlier piece
	i := bytes.Index(r.line[from:], []byte(mark))
	if i < 0 {
		if len(r.line) > mostHead {
			return nil, nil, false, fmt.Errorf("no end of a head or line of chunks within %d bytes", mostHead)
		}
		return nil, nil, false, nil
	}
	end := from + i + len(mark)
	whole = r.line[:end]
	rest = b[end-before:]
	r.line = r.line[:0]
	return whole, rest, true, nil
}

func (r *response) head(b []byte) ([]byte, error) {
	whole, rest, ok, err := r.upTo("\r\n\r\n", b)
	if err != nil || !ok {
		return nil, err
	}
	return rest, r.parseHead(string(whole[:len(whole)-4]))
}

func (r *response) parseHead(head string) error {
	lines := strings.Split(head, "\r\n")
	if i := slices.IndexFunc(lines, bareEnd); i >= 0 {
		return fmt.Errorf("%q in a head, want lines that end with a carriage return and a line feed", clip(lines[i]))
	}
	minor, status, err := parseStatusLine(lines[0])
	if err != nil {
		return err
	}
	length, chunked, keepAlive := int64(-1), false, minor == 1
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("header line %q, want name: value", line)
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "content-length":
			n, err := strconv.ParseUint(value, 10, 62)
			if err != nil || length >= 0 && length != int64(n) {
				return fmt.Errorf("Content-Length %q, want one number", value)
			}
			length = int64(n)
		case "transfer-encoding":
			if minor == 0 { // RFC 9112, section 6.1: its framing is faulty
				return fmt.Errorf("Transfer-Encoding %q in HTTP/1.0, want it in HTTP/1.1 alone", value)
			}
			if chunked || !strings.EqualFold(value, "chunked") {
				return fmt.Errorf("Transfer-Encoding %q, want chunked alone", value)
			}
			chunked = true
		case "connection":
			keepAlive = persistent(value, keepAlive)
		}
	}
	if status < 200 && status != 101 { // an interim answer; the real one follows
		return nil
	}
	r.status, r.keepAlive = status, keepAlive
	return r.frame(length, chunked)
}

// frame sets what the body's end is told by.
func (r *response) frame(length int64, chunked bool) error {
	switch {
	case r.status == 101:
		return errors.New("status 101: the server changes the protocol, which was not asked for")
	case r.status == 204 || r.status == 304:
		r.phase = complete
	case chunked && length >= 0:
		return errors.New("both Content-Length and Transfer-Encoding")
	case chunked:
		r.phase = inChunkSize
	case length > mostAnswer:
		return fmt.Errorf("an answer of %d bytes, want at most %d", length, int64(mostAnswer))
	case length == 0:
		r.phase = complete
	case length > 0:
		r.phase, r.left = inBody, length
	default:
		r.phase, r.left, r.keepAlive = untilClose, mostAnswer, false
	}
	return nil
}

// bareEnd says whether the line has half a line end in it, which others take for a whole one.
func bareEnd(line string) bool { return strings.ContainsAny(line, "\r\n") }

func persistent(value string, keepAlive bool) bool {
	for _, token := range strings.Split(value, ",") {
		switch strings.ToLower(strings.Trim(token, " \t")) {
		case "close":
			return false
		case "keep-alive":
			keepAlive = true
		}
	}
	return keepAlive
}

func parseStatusLine(line string) (minor, status int, err error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err = strconv.Atoi(code)
	if (version != "HTTP/1.1" && version != "HTTP/1.0") || err != nil || len(code) != 3 || status < 100 {
		return 0, 0, fmt.Errorf("status line %q, want HTTP/1.1 and a status", clip(line))
	}
	return int(version[len(version)-1] - '0'), status, nil
}

// clip keeps an error short.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// take adds a piece of the body.
func (r *response) take(b []byte) error {
	if r.size += int64(len(b)); r.size > mostAnswer {
		return fmt.Errorf("an answer of more than %d bytes", int64(mostAnswer))
	}
	if r.keep {
		r.body = append(r.body, b...)
	}
	return nil
}

func (r *response) part() {
	if r.onPart != nil {
		r.onPart(int(r.size))
	}
}

func (r *response) plain(b []byte) ([]byte, error) {
	n := min(int64(len(b)), r.left)
	if r.phase == untilClose {
		n = int64(len(b))
	}
	if err := r.take(b[:n]); err != nil {
		return nil, err
	}
	r.part()
	if r.phase == inBody {
		if r.left -= n; r.left == 0 {
			r.phase = complete
		}
	}
	return b[n:], nil
}

func (r *response) chunk(b []byte) ([]byte, error) {
	n := min(int64(len(b)), r.left)
	if err := r.take(b[:n]); err != nil {
		return nil, err
	}
	if r.left -= n; r.left == 0 {
		r.phase = inChunkEnd
		r.part()
	}
	return b[n:], nil
}

// chunkLine reads what stands between chunks: a line each.
func (r *response) chunkLine(b []byte) ([]byte, error) {
	whole, rest, ok, err := r.upTo("\r\n", b)
	if err != nil || !ok {
		return nil, err
	}
	line := string(whole[:len(whole)-2])
	if bareEnd(line) {
		return nil, fmt.Errorf("%q between chunks, want lines that end with a carriage return and a line feed", clip(line))
	}
	switch r.phase {
	case inChunkSize:
		return rest, r.chunkSize(line)
	case inChunkEnd:
		if line != "" {
			return nil, fmt.Errorf("%q after a chunk, want the end of the line", clip(line))
		}
		r.phase = inChunkSize
	case inTrailers: // not wanted; the empty line ends them
		if line == "" {
			r.phase = complete
		}
	}
	return rest, nil
}

func (r *response) chunkSize(line string) error {
	digits, _, _ := strings.Cut(line, ";") // an extension may follow
	digits = strings.TrimRight(digits, " \t")
	n, err := strconv.ParseUint(digits, 16, 62)
	if err != nil || strings.HasPrefix(digits, "+") {
		return fmt.Errorf("chunk size %q, want a hexadecimal number", clip(line))
	}
	if n > mostAnswer {
		return fmt.Errorf("a chunk of %d bytes, want at most %d", n, int64(mostAnswer))
	}
	if n == 0 {
		r.phase = inTrailers
		return nil
	}
	r.phase, r.left = inChunk, int64(n)
	return nil
}

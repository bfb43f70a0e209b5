package load

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const chunkedAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n"

// answers are whole ones, which both readers must take alike.
var answers = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\ncontent-length:5\r\nConnection: close\r\n\r\nhello",
	"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive\r\n\r\nhello",
	"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx",
	"HTTP/1.1 200 OK\r\nServer: x\r\n\r\nuntil the end",
	"HTTP/1.1 200 OK\r\n\r\n",
	chunkedAnswer,
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0000\r\n\r\n",
}

// whole is what one answer was read as.
type whole struct {
	Status    int
	Body      string
	KeepAlive bool
}

// fed reads the answer in pieces of the sizes given, the last again and again, and then the end of the connection.
func fed(text string, sizes ...int) (w whole, parts []int, rest string, err error) {
	r := response{keep: true, onPart: func(n int) { parts = append(parts, n) }}
	b := []byte(text)
	for k := 0; len(b) > 0; k++ {
		n := min(max(1, sizes[min(k, len(sizes)-1)]), len(b))
		left, done, err := r.feed(slices.Clone(b[:n]))
		if err != nil {
			return w, nil, "", err
		}
		b = b[n:]
		if done {
			return whole{r.status, string(r.body), r.keepAlive}, parts, string(left) + string(b), nil
		}
	}
	if err := r.eof(); err != nil {
		return w, nil, "", err
	}
	return whole{r.status, string(r.body), r.keepAlive}, parts, "", nil
}

// twin is net/http's reader.
func twin(text string) (w whole, err error) {
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), &http.Request{Method: http.MethodPost})
	if err != nil {
		return w, err
	}
	body, err := io.ReadAll(r.Body)
	return whole{r.StatusCode, string(body), !r.Close}, err
}

func TestResponseEqualsTwin(t *testing.T) {
	for _, text := range answers {
		want, err := twin(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for cut := 1; cut <= len(text); cut++ {
			got, _, rest, err := fed(text, cut, len(text))
			if err != nil || got != want || rest != "" {
				t.Fatalf("%q cut after %d: %+v, rest %q, error %v; want %+v", text, cut, got, rest, err, want)
			}
		}
		if got, _, _, err := fed(text, 1); err != nil || got != want {
			t.Errorf("%q byte by byte: %+v, error %v; want %+v", text, got, err, want)
		}
	}
}

// An interim answer is passed over, and what comes behind an answer is handed back.
func TestResponseAround(t *testing.T) {
	got, _, rest, err := fed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"+answers[0]+"more", 1000)
	if err != nil || got.Status != 200 || got.Body != "hello" || rest != "more" {
		t.Errorf("%+v, rest %q, error %v; want 200 hello, and more", got, rest, err)
	}
}

func TestResponseParts(t *testing.T) {
	for _, size := range []int{1, 7, 1000} {
		if _, parts, _, err := fed(chunkedAnswer, size); err != nil || !slices.Equal(parts, []int{5, 11}) {
			t.Errorf("pieces of %d: chunks end at %v, error %v; want 5 and 11", size, parts, err)
		}
	}
}

func TestResponseRefuses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct{ text, want string }{
		{"", "before a byte"},
		{"SSH-2.0-x\r\n\r\n", "status line"},
		{"HTTP/2 200\r\n\r\n", "status line"},
		{"HTTP/1.1 20 OK\r\n\r\n", "status line"},
		{"HTTP/1.1 2000 OK\r\n\r\n", "status line"},
		{"HTTP/1.1 -20 OK\r\n\r\n", "status line"},
		{"HTTP/1.1 101 Switching\r\n\r\n", "changes the protocol"},
		{"HTTP/1.0 200 0\n\n0\r\n\r\n0", "line feed"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n1;\n0\r\n", "line feed"},
		{ok + "nonsense\r\n\r\n", "header line"},
		{ok + "a b: c\r\n\r\n", "header line"},
		{ok + "Content-Length: -1\r\n\r\n", "Content-Length"},
		{ok + "Content-Length: 1, 1\r\n\r\n", "Content-Length"},
		{ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "Content-Length"},
		{ok + "Content-Length: 300000000\r\n\r\n", "at most 268435456"},
		{ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", "chunked alone"},
		{ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "both"},
		{"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "in HTTP/1.0"},
		{ok + "Content-Length: 5\r\n\r\nhel", "within the answer, after 3 bytes"},
		{ok + "Content-L", "within the answer, after 0 bytes"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello", "within the answer, after 5 bytes"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n", "after a chunk"},
		{ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", "chunk size"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n\r\n", "chunk size"},
		{ok + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", "at most 268435456"},
		{ok + strings.Repeat("A: b\r\n", 20000), "within 65536 bytes"},
	}
	for _, test := range tests {
		for _, size := range []int{1, 100000} {
			if _, _, _, err := fed(test.text, size); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: error %v, want one with %q", clip(test.text), err, test.want)
			}
		}
	}
}

// However an answer is cut, it is read alike; and what we accept, net/http's reader accepts with the same body.
func FuzzResponse(f *testing.F) {
	for _, text := range answers {
		f.Add([]byte(text), uint64(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		text := string(b)
		one, _, _, wholeErr := fed(text, len(text)+1)
		random := rand.New(rand.NewPCG(seed, 1))
		sizes := make([]int, 20)
		for i := range sizes {
			sizes[i] = 1 + random.IntN(9)
		}
		cut, _, _, cutErr := fed(text, sizes...)
		if (wholeErr == nil) != (cutErr == nil) || one != cut {
			t.Fatalf("%q: whole %+v (%v), in pieces of %v %+v (%v)", b, one, wholeErr, sizes, cut, cutErr)
		}
		if wholeErr != nil || bytes.Contains(b, []byte("HTTP/1.1 1")) || bytes.Contains(b, []byte("HTTP/1.0 1")) {
			return // net/http hands interim answers to its caller
		}
		if want, err := twin(text); err == nil && want.Body != one.Body {
			t.Errorf("%q: body %q, and net/http's reader has %q", b, one.Body, want.Body)
		}
	})
}

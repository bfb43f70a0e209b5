// Package jsoncheck finds in JSON what encoding/json lets pass in silence: a key that an object has twice,
// of which the last one counts, and an escape that is half of a character, which becomes U+FFFD.
//
// RFC 8259 leaves both to the reader (sections 4 and 8.2). Here a model's files and a client's texts that
// have them are refused: what would be served is not what somebody wrote.
//
// Keys are compared as they are decoded: "a" and "\u0061" are one, "a" and "A" two.
package jsoncheck

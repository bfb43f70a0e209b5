package jsoncheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// container is an object or a list that is being read.
type container struct {
	keys  map[string]bool // so far; nil: a list
	key   string          // the last one
	value bool            // the last key's value comes next
	index int             // of a list's last element
}

// DoubledKey names a key that an object stands in with twice, and where that object is: "at the top", or
// "in model.added[3]". data must begin with valid JSON: call it behind a decoder that was content, which
// has also bounded how deep its values are nested.
func DoubledKey(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var open []container
	for {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		last := len(open) - 1
		switch delim, _ := token.(json.Delim); {
		case delim == '}' || delim == ']':
			open = open[:last]
		case last >= 0 && open[last].keys != nil && !open[last].value:
			if key := token.(string); !open[last].add(key) {
				return fmt.Errorf("the key %.100q is given twice %s", key, place(open[:last]))
			}
			continue
		default:
			if last >= 0 {
				open[last].next()
			}
			switch delim {
			case '{':
				open = append(open, container{keys: map[string]bool{}})
			case '[':
				open = append(open, container{index: -1})
			}
		}
		if len(open) == 0 {
			return nil
		}
	}
}

// add takes a key that is new.
func (c *container) add(key string) bool {
	if c.keys[key] {
		return false
	}
	c.keys[key], c.key, c.value = true, key, true
	return true
}

// next is at a value of the container.
func (c *container) next() {
	c.value = false
	c.index++
}

// plain are keys that a place names without quotes.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// place is where the value is that the containers are around, the outermost first.
func place(around []container) string {
	var b strings.Builder
	for _, c := range around {
		switch {
		case c.keys == nil:
			fmt.Fprintf(&b, "[%d]", c.index)
		case !plain.MatchString(c.key):
			fmt.Fprintf(&b, "[%.100q]", c.key)
		case b.Len() > 0:
			b.WriteString("." + c.key)
		default:
			b.WriteString(c.key)
		}
	}
	if b.Len() == 0 {
		return "at the top"
	}
	return "in " + b.String()
}

package jinja

import (
	"errors"
	"fmt"
)

// Error is a fault in a template, or of a template that was given what it does not take.
type Error struct {
	Template string // the name that Parse was given
	Line     int    // 1 is the first
	Message  string
	Raised   bool // the template itself said so, with raise_exception
}

// Error says where and what.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Template, e.Line, e.Message) }

// raised is the error of raise_exception before its line is known.
type raised struct{ message string }

func (r raised) Error() string { return r.message }

// pythons is an error in the words of Jinja or Python, which have capitals and full stops.
type pythons string

func (p pythons) Error() string { return string(p) }

// locate gives an error its place, unless it has one: the innermost knows best.
func locate(name string, line int, err error) error {
	var placed *Error
	if err == nil || errors.As(err, &placed) {
		return err
	}
	var r raised
	return &Error{Template: name, Line: line, Message: err.Error(), Raised: errors.As(err, &r)}
}

// Package jinja renders the chat templates that models ship: Jinja as transformers sets it up, with the
// values and the text forms of Python, in bounded time and memory.
//
// # Language
//
// Source: Jinja 3.1's template documentation, its sandbox, and the set-up of transformers
// (utils/chat_template_utils.py): trim_blocks, lstrip_blocks, the extension loopcontrols, tag generation,
// raise_exception, strftime_now, and a tojson that is Python's json.dumps without ASCII escapes.
//
//	tags     for (if, else, recursive), if, set (also of blocks and of a namespace's attributes), macro,
//	         call, filter, with, raw, break, continue, generation
//	refused  block, extends, include, import, from, autoescape: a chat template is one file
//	filters  the keys of filters; tests the keys of tests; globals those of globals. Another filter or
//	         test is an error of Parse, also in a branch that is never taken
//	methods  of str, dict, list and tuple that change nothing; those that change something are refused
//	         as by Jinja's immutable sandbox
//
// Values are None, bool, int, float, str, list, tuple, dict with keys in their order, generators that are
// empty after one use, undefined values that print as nothing and fail in any other operation. A string is
// counted and cut by code points.
//
// # What differs from Python
//
//   - An int that does not fit 64 bits is printed as it is, but not computed with: an error.
//   - A dict's keys are strings; another one in a literal is an error.
//   - upper, lower and title map code points one by one: ß stays ß. int takes no underlines.
//   - Functions, macros, loops, generators and views (d.items()) cannot be printed: an error.
//   - escape gives a str, and safe its argument: there is no markup type. str.format takes {} and {0}
//     and {name} without formats, the operator % only %s, %d, %r and %%.
//   - Messages of errors are Jinja's and Python's where a template's author would look for them.
//
// # Bounds
//
// Render counts steps (each statement, expression, element looked at) and the bytes of all text that it
// makes, and stops at the limits; range() ends at 100,000 elements, as in Jinja's sandbox. Nesting of
// source, values and calls is bounded too, so a macro that calls itself for ever is an error and not the
// end of the process. Memory is at most a small multiple of Limits.Bytes and of 100 bytes a step.
//
// # Why not a library
//
// github.com/nikolalohinski/gonja/v2 v2.9.1 and github.com/ardanlabs/jinja v1.8.0 (the last one for Go 1.26)
// were compared with Python's Jinja on 111 short templates: 43 and 46 differ, most of them silently (order
// of keys, 1 printed as 1.0, None as nothing, "a" + 1, the new line at the end). In both, a macro that calls
// itself ends the process with a stack overflow that cannot be recovered, and neither bounds steps or text.
package jinja

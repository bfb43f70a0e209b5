// Package arm turns an arm's spec into a command, and runs that command as the
// arm protocol says (package protocol).
//
// Forms of a spec:
//
//	builtin:STRATEGY[@K=V,...]  this program's own controller and worker
//	exec:COMMAND                a command that answers the protocol, run by the shell
//	dir:PATH                    a checkout of this module, or an SGLang tree, as it lies there
//	git:REV                     a revision of the enclosing checkout, or of --repo, of either
//	sglang:VERSION              a release of SGLang, from PyPI
//
// Of a checkout or revision only the worker is built (package tree); this
// program's controller runs it, with its consumers and its clock. Such an arm has
// the options of a builtin one and strategy, the worker's, which is splice where
// it is not given. Resolve finds out what a spec names; Build then builds it, and
// refuses a worker of another wire version, or without the strategy. With a pool of
// layouts the worker of a builtin arm is built too, from the checkout around the
// working directory: the record names its files and revision, since nothing can
// show that this program was built from the same.
//
// An SGLang tree (package sglang) is run by an interpreter of Python and this
// program's script, with the tree's own worker or, as a cross arm (option worker),
// this program's. The script is ours, and with it the consumers and the clock, so
// such an arm is not one that brings its own.
//
// A bare word must be exactly one of: the name of a built-in strategy, an
// existing folder, a revision of the enclosing checkout (asked only if the word
// is no folder; a folder comes before a revision). What names nothing, or two things, is a *SpecError that lists
// what it could be.
//
// A Session is one controller process and what it started; one whose receipt offers
// it can rest between two hellos. Every wait is
// bounded; a controller that exits, says nothing in time, or sends what does not
// parse gives a *FaultError with the arm, the command and the last lines of its
// log. Stopping is: stop, then the input's end, then SIGTERM, then SIGKILL to
// its process group, each after a bounded wait.
package arm

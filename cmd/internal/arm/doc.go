// Package arm turns an arm's spec into a command, and runs that command as the
// arm protocol says (package protocol).
//
// Forms of a spec:
//
//	builtin:STRATEGY[@K=V,...]  this program's own controller and worker
//	exec:COMMAND                a command that answers the protocol, run by the shell
//	dir:PATH, git:REV, sglang:VERSION
//	                            source trees; recognised, not yet run
//
// A bare word must be exactly one of: the name of a built-in strategy, an
// existing folder, a revision of the enclosing checkout (asked only if the word
// is no folder). What names nothing, or two things, is a *SpecError that lists
// what it could be.
//
// A Session is one controller process and what it started. Every wait is
// bounded; a controller that exits, says nothing in time, or sends what does not
// parse gives a *FaultError with the arm, the command and the last lines of its
// log. Stopping is: stop, then the input's end, then SIGTERM, then SIGKILL to
// its process group, each after a bounded wait.
package arm

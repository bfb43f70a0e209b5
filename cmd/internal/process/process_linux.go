package process

import (
	"os/exec"
	"syscall"
)

func prepare(cmd *exec.Cmd, d Death) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if d == TermWithParent {
		attr.Pdeathsig = syscall.SIGTERM
		attr.Setpgid = true
	}
	cmd.SysProcAttr = attr
}

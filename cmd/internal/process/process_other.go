//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

func prepare(cmd *exec.Cmd, d Death) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: d == TermWithParent}
}

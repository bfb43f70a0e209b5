package arm

import (
	"fmt"
	"os"
	"path/filepath"
)

// socketRoom is how long a folder's path may be so that the longest name below
// it, such as /candidate-1000/socket-1023, is still a socket address. 103 bytes is the limit
// of the strictest platform (sun_path on darwin).
const socketRoom = 103 - len("/candidate-1000/socket-1023")

// PrivateDir makes a folder for sockets and bulk files, readable by this user
// only. Where the temporary folder's path is too long for a socket it falls
// back to /tmp.
func PrivateDir() (string, error) {
	dir, err := os.MkdirTemp("", "fanoutbench-")
	if err != nil {
		return "", fmt.Errorf("arm: private folder: %w", err)
	}
	if abs, err := filepath.Abs(dir); err == nil && len(abs) <= socketRoom {
		return abs, nil
	}
	if err := os.Remove(dir); err != nil {
		return "", fmt.Errorf("arm: private folder: %w", err)
	}
	if dir, err = os.MkdirTemp("/tmp", "fanoutbench-"); err != nil {
		return "", fmt.Errorf("arm: private folder short enough for a socket: %w", err)
	}
	return dir, nil
}

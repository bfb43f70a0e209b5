package backend

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// Slots without max_total_tokens.
const (
	mostSlots  = 1 << 17 // of a model that has keys and values
	gpuSlots   = 1 << 20 // of one that has them in a GPU's memory
	leastSlots = 256     // fewer are no cache to serve with
	simSlots   = 1 << 20
	poolBytes  = 5 // that the scheduler needs for a slot (kvcache.Pool)
)

// Slots is MaxTotalTokens, or what MemFractionStatic allows; an error names the
// sizes when there is too little memory, for the weights too.
func Slots(a args.Args) (int, error) {
	info, err := Describe(a)
	if err != nil {
		return 0, err
	}
	memory := int64(math.MaxInt64)
	known := runtime.GOOS == "linux"
	if a.Device == CUDA {
		if memory, err = gpuMemory(); err != nil {
			return 0, err
		}
	} else if known {
		if memory, err = available(os.DirFS("/")); err != nil {
			return 0, fmt.Errorf("max_total_tokens: %w", err)
		}
	}
	return slots(a, info, memory, known)
}

func slots(a args.Args, info Info, memory int64, known bool) (int, error) {
	if info.WeightBytes > memory {
		return 0, fmt.Errorf("too little memory for the model: the weights of %s need %d bytes, and %d may be used", info.Name, info.WeightBytes, memory)
	}
	left := memory - info.WeightBytes
	slotBytes := info.SlotBytes
	switch {
	case a.MaxTotalTokens != 0 && (a.MaxTotalTokens < leastContext || a.MaxTotalTokens > math.MaxInt32):
		return 0, fmt.Errorf("max_total_tokens is %d, expected %d to %d, or 0 for what mem_fraction_static allows", a.MaxTotalTokens, leastContext, math.MaxInt32)
	case a.MaxTotalTokens > 0 && a.MaxTotalTokens < a.PageSize:
		return 0, fmt.Errorf("max_total_tokens is %d, expected at least the %d of one page (page_size)", a.MaxTotalTokens, a.PageSize)
	case a.MaxTotalTokens > 0:
		if need := int64(a.MaxTotalTokens) * (slotBytes + poolBytes); need > left {
			return 0, fmt.Errorf("too little memory for the cache asked for: max_total_tokens %d need %d bytes, and %d may be used beside %d for the weights",
				a.MaxTotalTokens, need, left, info.WeightBytes)
		}
		return a.MaxTotalTokens, nil
	case slotBytes == 0:
		return simSlots, nil
	case !(a.MemFractionStatic > 0 && a.MemFractionStatic <= 1):
		return 0, fmt.Errorf("mem_fraction_static is %g, expected more than 0 and at most 1", a.MemFractionStatic)
	case !known:
		return mostSlots, nil
	}
	share, of, most := a.MemFractionStatic*float64(left), left, mostSlots
	if a.Device == CUDA {
		share, of, most = a.MemFractionStatic*float64(memory)-float64(info.WeightBytes), memory, gpuSlots
	}
	room := max(share, 0) / float64(slotBytes)
	if room < leastSlots {
		return 0, fmt.Errorf("too little memory for the cache: mem_fraction_static %g of %d bytes, beside %d for the weights, have room for %d tokens of %d bytes, expected at least %d",
			a.MemFractionStatic, of, info.WeightBytes, int(room), slotBytes, leastSlots)
	}
	return int(min(room, float64(most))), nil
}

// available is how many bytes this process may use, by the files below root.
func available(root fs.FS) (int64, error) {
	memory, err := memAvailable(root)
	if err != nil {
		return 0, err
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return memory, nil // a kernel without cgroups
	}
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(groups), "\n") {
		// hierarchy:controllers:path
		part := strings.SplitN(line, ":", 3)
		if len(part) != 3 {
			continue
		}
		base, file := "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		if part[0] == "0" && part[1] == "" {
			base, file = "sys/fs/cgroup", "memory.max"
		} else if !strings.Contains(","+part[1]+",", ",memory,") {
			continue
		}
		limit, err := groupLimit(root, base, part[2], file)
		if err != nil {
			return 0, err
		}
		memory = min(memory, limit)
	}
	return memory, nil
}

// groupLimit is the least limit of the group and those above it. A container
// sees its own group at the top, so a path may lead nowhere.
func groupLimit(root fs.FS, base, group, file string) (int64, error) {
	least := int64(math.MaxInt64)
	for dir := path.Join("/", group); ; dir = path.Dir(dir) {
		name := path.Join(base, dir, file)
		data, err := fs.ReadFile(root, name)
		switch text := strings.TrimSpace(string(data)); {
		case errors.Is(err, fs.ErrNotExist), err == nil && text == "max":
		case err != nil:
			return 0, err
		default:
			limit, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/%s is %q, expected a number of bytes or max", name, text)
			}
			least = min(least, limit)
		}
		if dir == "/" {
			return least, nil
		}
	}
}

func memAvailable(root fs.FS) (int64, error) {
	data, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 { // another line is no error
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc/meminfo has no line MemAvailable, expected one")
}

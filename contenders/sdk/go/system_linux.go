package contender

import (
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"
)

const clockMonotonic = 1 // CLOCK_MONOTONIC of clock_gettime(2)

// NowNs returns the time of CLOCK_MONOTONIC, which all processes of a host share. The time package only has a monotonic
// clock that starts with the process.
func NowNs() uint64 {
	var now syscall.Timespec
	// The call cannot fail: the clock exists on Linux, and the pointer is valid.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return uint64(now.Nano())
}

// ModuleVersion returns the version of a module in this build, without its "v".
func ModuleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path == path {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

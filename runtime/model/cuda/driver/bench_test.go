//go:build cuda

package driver_test

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// What the host pays for a launch, and the fake driver for threads, for meetings of warps and for barriers: 64 blocks
// of 256 threads. It says how long tests take, nothing of a device.
func BenchmarkFake(b *testing.B) {
	for _, name := range []string{"launch of one thread", "axpy", "block_sum", "reversed"} {
		b.Run(name, func(b *testing.B) {
			d := drivertest.Open(b)
			const n = 64 * 256
			check(run(d, func(th *driver.Thread) {
				x, out := upload(th, random(n)), must(th.Alloc(4*n))
				axpy, sum, reversed := kernel(th, probes(b), "axpy"), kernel(th, probes(b), "block_sum"), kernel(th, probes(b), "reversed")
				for b.Loop() {
					switch name {
					case "axpy":
						check(th.Launch(axpy, line(64), line(256), 0, x.Pointer, x.Pointer, n, 0))
					case "block_sum":
						check(th.Launch(sum, line(64), line(256), 0, out.Pointer, x.Pointer, n))
					case "reversed":
						check(th.Launch(reversed, line(64), line(256), 1024, out.Pointer))
					default:
						check(th.Launch(axpy, line(1), line(1), 0, x.Pointer, x.Pointer, 1, 0))
					}
					check(th.Synchronize())
				}
				free(th, x, out)
			}))
		})
	}
}

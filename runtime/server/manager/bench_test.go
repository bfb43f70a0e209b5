package manager

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// BenchmarkReceive has frames of one row and of many, for calls that are read as
// soon as the frame is in.
func BenchmarkReceive(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("rows=%d", size), func(b *testing.B) {
			k := start(b, func(c *Config) { c.Now = time.Now })
			var items []Item
			var rows []row
			for i := range size {
				rid := newRID()
				items = append(items, item(rid, "x"))
				rows = append(rows, row{rid: rid, text: " text", ids: []int64{int64(i)}})
			}
			c := k.submit(1, items...)
			frames := make([][]byte, b.N)
			for n := range frames {
				for i := range rows {
					rows[i].number = int64(n)
				}
				frames[n] = encode(b, batch(b, rows...))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, f := range frames {
				if err := k.Receive(f); err != nil {
					b.Fatal(err)
				}
				for range size {
					if _, err := c.Next(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

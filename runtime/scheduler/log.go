package scheduler

import "fmt"

func (s *Scheduler) usage() float64 { return float64(s.used()) / float64(s.pool.Total()) }

func (s *Scheduler) logPrefill(b *PrefillBatch) {
	s.out.Log = append(s.out.Log,
		fmt.Sprintf("Prefill batch. #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, #queue-req: %d, ",
			len(b.RIDs), b.NewTokens, b.CachedTokens, s.usage(), b.Running, b.Queue),
		b.closing())
}

// closing is our line behind SGLang's.
func (b *PrefillBatch) closing() string {
	line := fmt.Sprintf("Prefill batch %d closed: %s, policy: %s", b.Number, b.Close, b.Policy)
	if b.Refused != "" {
		line += fmt.Sprintf(", next: %q", b.Refused)
	}
	return line
}

// decodeLog counts what the next line about decodes says.
type decodeLog struct {
	steps     int
	generated int
	retracted int
	since     float64 // the time of the last line, or of the first decode
	started   bool
}

// logDecode says every so many decode steps how fast tokens come.
func (s *Scheduler) logDecode(now float64, used int) {
	d := &s.decodeLog
	if !d.started {
		d.started, d.since, d.generated = true, now, 0
	}
	d.steps++
	if d.steps < s.config.DecodeLogInterval {
		return
	}
	throughput := 0.0
	if now > d.since {
		throughput = float64(d.generated) / (now - d.since)
	}
	s.out.Log = append(s.out.Log, fmt.Sprintf("Decode batch, #running-req: %d, #token: %d, token usage: %.2f, cuda graph: False, gen throughput (token/s): %.2f, #queue-req: %d",
		len(s.running), used, float64(used)/float64(s.pool.Total()), throughput, len(s.waiting)))
	s.stats.GenThroughput, s.stats.LastRetracted = throughput, d.retracted
	d.steps, d.generated, d.retracted, d.since = 0, 0, 0, now
}

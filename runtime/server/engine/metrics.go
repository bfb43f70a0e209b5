package engine

import (
	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
)

// specs are the part's metrics. Those with SGLang's names mean what they mean
// there; the others are ours.
var specs = []counters.Spec{
	{Name: "loop", Help: "The scheduler's loop.", Kind: counters.KindBeat},
	counters.Process,
	{Name: "rows_built", Help: "Rows that the scheduler built.", Kind: counters.KindCounter},
	{Name: "malformed_messages", Help: "Messages, and senders of none, that were refused.", Kind: counters.KindCounter},
	{Name: "model_errors", Help: "Batches that the model failed at.", Kind: counters.KindCounter},
	{Name: "num_running_reqs", Help: "Requests that decode.", Kind: counters.KindGauge},
	{Name: "num_queue_reqs", Help: "Requests that wait.", Kind: counters.KindGauge},
	{Name: "num_used_tokens", Help: "Tokens of the cache that requests hold.", Kind: counters.KindGauge},
	{Name: "utilization", Help: "The share of max_running_requests that run.", Kind: counters.KindGauge},
	{Name: "token_usage", Help: "The share of the cache that requests hold.", Kind: counters.KindGauge},
	{Name: "max_total_num_tokens", Help: "Tokens that the cache has room for.", Kind: counters.KindGauge},
	{Name: "cache_hit_rate", Help: "The share of prompt tokens that were in the cache, over all finished requests.", Kind: counters.KindGauge},
	{Name: "gen_throughput", Help: "Tokens a second, of the last line about decodes.", Kind: counters.KindGauge},
	{Name: "scheduler_num_requests_total", Help: "Requests received, refused ones too.", Kind: counters.KindCounter},
	{Name: "scheduler_prompt_tokens_total", Help: "Prompt tokens of finished requests that were in a batch.", Kind: counters.KindCounter},
	{Name: "scheduler_cached_tokens_total", Help: "Prompt tokens of finished requests that were in the cache.", Kind: counters.KindCounter},
	{Name: "scheduler_generation_tokens_total", Help: "Tokens generated.", Kind: counters.KindCounter},
	{Name: "num_retracted_requests_total", Help: "Requests put back into the queue, as often as they were.", Kind: counters.KindCounter},
	{Name: "num_retracted_reqs", Help: "Requests put back in the decodes that the last line about them covers.", Kind: counters.KindGauge},
	{Name: "scheduler_num_aborted_requests_total", Help: "Requests that ended with an abort, refused ones too.", Kind: counters.KindCounter},
	{Name: "prefill_batches_total", Help: "Prefill batches.", Kind: counters.KindCounter},
	{Name: "decode_batches_total", Help: "Decode batches.", Kind: counters.KindCounter},
	{Name: "queue_time_seconds", Help: "From a request's arrival to its first batch.", Kind: counters.KindHistogram,
		Buckets: []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 400}},
	{Name: "sim_steps_total", Help: "Steps of the simulated device.", Kind: counters.KindCounter},
	{Name: "sim_missed_total", Help: "Steps of the simulated device whose deadline had passed before they could sleep.", Kind: counters.KindCounter},
	{Name: "sim_seconds", Help: "Seconds that the steps of the simulated device should have taken.", Kind: counters.KindGauge},
	{Name: "sim_late_seconds", Help: "Seconds by which the steps of the simulated device were late, added up.", Kind: counters.KindGauge},
	{Name: "sim_worst_late_seconds", Help: "Seconds by which the latest step of the simulated device was late.", Kind: counters.KindGauge},
}

// metrics are the part's counters, by what feeds them.
type metrics struct {
	set                                     *counters.Set
	beat                                    *counters.Beat
	rowsBuilt, malformed, modelErrors       *counters.Counter
	prompt, cached                          *counters.Counter
	queueTime                               *counters.Histogram
	requests, generated, retracted, aborted *counters.Counter
	prefills, decodes, simSteps, simMissed  *counters.Counter
	running, queue, used, usage, total      *counters.Gauge
	hitRate, throughput, lastRetracted      *counters.Gauge
	utilization                             *counters.Gauge
	mostRunning                             float64
	simSeconds, simLate, simWorst           *counters.Gauge
}

func newMetrics(path string, mostRunning int) (*metrics, error) {
	set, err := counters.Create(path, specs)
	if err != nil {
		return nil, err
	}
	return &metrics{
		set: set, beat: set.Beat("loop"),
		rowsBuilt: set.Counter("rows_built"), malformed: set.Counter("malformed_messages"), modelErrors: set.Counter("model_errors"),
		prompt: set.Counter("scheduler_prompt_tokens_total"), cached: set.Counter("scheduler_cached_tokens_total"),
		queueTime: set.Histogram("queue_time_seconds"),
		requests:  set.Counter("scheduler_num_requests_total"), generated: set.Counter("scheduler_generation_tokens_total"),
		retracted: set.Counter("num_retracted_requests_total"), aborted: set.Counter("scheduler_num_aborted_requests_total"),
		prefills: set.Counter("prefill_batches_total"), decodes: set.Counter("decode_batches_total"),
		simSteps: set.Counter("sim_steps_total"), simMissed: set.Counter("sim_missed_total"),
		running: set.Gauge("num_running_reqs"), queue: set.Gauge("num_queue_reqs"), used: set.Gauge("num_used_tokens"),
		utilization: set.Gauge("utilization"), mostRunning: float64(mostRunning),
		usage: set.Gauge("token_usage"), total: set.Gauge("max_total_num_tokens"),
		hitRate: set.Gauge("cache_hit_rate"), throughput: set.Gauge("gen_throughput"), lastRetracted: set.Gauge("num_retracted_reqs"),
		simSeconds: set.Gauge("sim_seconds"), simLate: set.Gauge("sim_late_seconds"), simWorst: set.Gauge("sim_worst_late_seconds"),
	}, nil
}

// built counts rows that are about to be sent.
func (m *metrics) built(rows *scheduler.BatchTokenIDOutput) {
	m.rowsBuilt.Add(uint64(rows.Len()))
	for i, finish := range rows.FinishedReasons {
		times := rows.TimeStats[i]
		if finish == nil || times.ForwardEntry == 0 {
			continue
		}
		m.prompt.Add(uint64(rows.PromptTokens[i]))
		m.cached.Add(uint64(rows.CachedTokens[i]))
		m.queueTime.Observe(times.ForwardEntry - times.WaitQueueEntry)
	}
	if n := m.prompt.Value(); n > 0 {
		m.hitRate.Set(float64(m.cached.Value()) / float64(n))
	}
}

// observe shows the scheduler's sizes, and counts on to its counts.
func (m *metrics) observe(st scheduler.Stats, device model.Model) {
	m.running.Set(float64(st.Running))
	m.utilization.Set(float64(st.Running) / m.mostRunning)
	m.queue.Set(float64(st.Waiting))
	m.used.Set(float64(st.Used))
	m.usage.Set(float64(st.Used) / float64(st.Total))
	m.total.Set(float64(st.Total))
	m.throughput.Set(st.GenThroughput)
	m.lastRetracted.Set(float64(st.LastRetracted))
	reach(m.requests, st.Received)
	reach(m.generated, st.Generated)
	reach(m.retracted, st.Retracted)
	reach(m.aborted, st.Finished[scheduler.FinishAbort])
	reach(m.prefills, st.Prefills)
	reach(m.decodes, st.Decodes)
	if s, ok := device.(*sim.Model); ok {
		late := s.Stats()
		reach(m.simSteps, late.Steps)
		reach(m.simMissed, late.Missed)
		m.simSeconds.Set(late.Seconds)
		m.simLate.Set(late.Late)
		m.simWorst.Set(late.WorstLate)
	}
}

// reach counts on to n.
func reach(c *counters.Counter, n int) { c.Add(uint64(n) - c.Value()) }

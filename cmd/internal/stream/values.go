package stream

import (
	"encoding/base32"
	"math/rand/v2"
)

// A row's number in the run is its batch's number and its own: serialBits in all.
const (
	rowBits    = 17
	batchBits  = 21
	serialBits = 40

	maxRows    = 1 << rowBits
	maxBatches = 1 << batchBits
)

// Times: a batch's rows lie within maxRows milliseconds and 4 s, less than
// batchSpan; the last batch's end before 2^31 s, where floats become coarser.
const (
	timeBase  = 1_800_000_000
	batchSpan = 150
)

// info, label and timing have the fixture's keys in the fixture's order.
type info struct {
	Metric [][2]float64 `json:"metric"`
	Nested [][1]label   `json:"nested"`
}

type label struct {
	X     [1]uint64 `json:"x"`
	Label string    `json:"label"`
}

type timing struct {
	HasTimingData       bool    `json:"has_timing_data"`
	WaitQueueEntryTime  float64 `json:"wait_queue_entry_time"`
	ForwardEntryTime    float64 `json:"forward_entry_time"`
	PrefillFinishedTime float64 `json:"prefill_finished_time"`
	QueueDurationS      float64 `json:"queue_duration_s"`
}

// values makes the metadata of one batch.
type values struct {
	batch uint64 // its number in the run
	keys  [9]uint64
}

// Kinds of value, each with a key of its own.
const (
	kindInteger = iota
	kindLabel
	kindMetric
	kindSecond
	kindDuration
	kindTime // and the two behind it
)

// keyStream separates these keys from other random numbers of the seed.
const keyStream = 0x6d657461

func newValues(seed, batch uint64) values {
	v := values{batch: batch}
	r := rand.New(rand.NewPCG(seed, keyStream))
	for i := range v.keys {
		v.keys[i] = r.Uint64()
	}
	return v
}

// serial is the number of row i in the run.
func (v values) serial(kind, i int) uint64 {
	return mix(v.batch<<rowBits|uint64(i), serialBits, v.keys[kind])
}

// fraction is in (0, 1), never a whole number, and another one for row i of
// every batch. It has few enough bits to be added to a row's number exactly.
func (v values) fraction(kind, i int) float64 {
	const apart = 0x9e375 // keeps the rows of a batch from looking alike
	n := (v.batch + uint64(i)*apart) % maxBatches
	return (float64(mix(n, batchBits, v.keys[kind])) + 0.5) / maxBatches
}

func (v values) metric(i int) [2]float64 {
	second := (float64(v.serial(kindSecond, i)) + 0.5) / (1 << serialBits)
	return [2]float64{float64(i) + v.fraction(kindMetric, i), second}
}

func (v values) nested(i int) [1]label {
	n := v.serial(kindLabel, i)
	text := base32.HexEncoding.EncodeToString([]byte{byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	return [1]label{{X: [1]uint64{1<<serialBits | v.serial(kindInteger, i)}, Label: "λ" + text}}
}

// times has the fixture's four times of row i; those that end in _time are in
// the shared clock.
func (v values) times(i int) timing {
	return timing{
		HasTimingData:       true,
		WaitQueueEntryTime:  v.at(10, 0, i),
		ForwardEntryTime:    v.at(12, 1, i),
		PrefillFinishedTime: v.at(14, 2, i),
		QueueDurationS:      0.25 + float64(i)/1000 + v.fraction(kindDuration, i)/1000,
	}
}

// at is so many seconds and i milliseconds after the batch's time, and a part of
// a millisecond that only times of this place have: 0.1 to 0.3 for place 0, 0.4
// to 0.6, 0.7 to 0.9. So a time is never a whole number, nor one of another
// place and row. The conversion forbids a fused multiply-add: every machine
// makes the same data.
func (v values) at(seconds, place, i int) float64 {
	begin := float64(timeBase + int(v.batch)*batchSpan + seconds)
	part := [...]float64{0.1, 0.4, 0.7}[place] + float64(0.2*v.fraction(kindTime+place, i))
	return begin + float64(i)/1000 + part/1000
}

// mix is a one-to-one function of the numbers below 1<<bits to the same numbers,
// another one for every key: each of its steps can be undone.
func mix(n uint64, bits int, key uint64) uint64 {
	mask := uint64(1)<<bits - 1
	for range 3 {
		n = (n ^ key) & mask
		n = n * 0x9e3779b97f4a7c15 & mask // odd
		n ^= n >> (bits/2 + 1)
		key = key>>bits | key<<(64-bits)
	}
	return n
}

package qwen3

import "math"

// dot adds the products in one order, four sums side by side: a sum alone waits
// for each addition before the next.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// multiply sets out to the matrix, len(out) rows of len(x), times x.
func multiply(out, matrix, x []float32) {
	for i := range out {
		out[i] = dot(x, matrix[i*len(x):])
	}
}

// add adds x to h.
func add(h, x []float32) {
	for i := range h {
		h[i] += x[i]
	}
}

// normalize sets out to x / √(mean of squares + eps) · weight. out may be x.
func normalize(out, x, weight []float32, eps float64) {
	mean := dot(x, x) / float32(len(x))
	scale := float32(1 / math.Sqrt(float64(mean)+eps))
	for i := range out {
		out[i] = x[i] * scale * weight[i]
	}
}

// rotate turns the pairs of a head's two halves by the angles.
func rotate(head, cos, sin []float32) {
	a, b := head[:len(cos)], head[len(cos):]
	for j := range cos {
		x, y := a[j], b[j]
		a[j] = x*cos[j] - y*sin[j]
		b[j] = y*cos[j] + x*sin[j]
	}
}

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

func silu(x float32) float32 { return x / (1 + exp(-x)) }

// softmax makes of scores the shares that add up to 1.
func softmax(scores []float32) {
	top := scores[0]
	for _, s := range scores {
		top = max(top, s)
	}
	var sum float32
	for i, s := range scores {
		scores[i] = exp(s - top)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
}

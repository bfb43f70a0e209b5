// Modelbench runs a model beside llama.cpp on the same files, for scripts/bench_peers and scripts/compare_text.
//
//	modelbench serve --model PATH       answer lines with this module's own decoder
//	modelbench read --bytes N           answer lines by reading so many bytes, and nothing else
//	modelbench rounds --model NAME=PATH --peer COMMAND   interleaved rounds; raw lines on standard output
//	modelbench ratio FILE               the table of the raw lines in FILE
//	modelbench text --model PATH --peer COMMAND --prompts FILE   greedy text of both; raw lines and verdicts
//
// # Lines
//
// serve, read and the peer (scripts/llamacpp_child.py) are processes that answer lines with lines, in the form of
// package protocol: a JSON object a line, with a "type". They begin with ready; the end of their input ends them. What
// cannot be answered is answered with an error, and ends the process.
//
//	ready      which arm it is, its version, the model's file, threads, and the bytes that a decoded token reads
//	generate   greedy tokens behind a prompt of ids:  generated
//	tokenize   the ids of a text, the peer alone:     tokenized
//	pass       passes over the bytes, read alone:     passed
//
// Seconds are wall time by each side's own clock inside its process, and CPU time of the whole process, all its threads.
// prefill_s is from the prompt until the first token is chosen, decode_s from there until the last: tokens minus one steps.
// That is how llama.cpp's own timings are cut.
//
// # Rounds
//
// A cell is a model's file and a kind: prefill (a prompt, and one token) or decode (one id, and so many steps behind the first
// token). In each round every arm runs every cell once, the cells and in each the arms in an order that a seeded generator
// draws, PCG-DXSM with the state (seed, 0), with new ids that are the same for both arms; round -1 is the warm-up and does not
// count. All processes stay: one works at a time, and what CPU time the others took meanwhile is recorded. The arm read
// takes part in the cells of decode, with as many passes as there are steps. Before the rounds both arms give the log-probabilities of the same few tokens, untimed, and the run
// ends if these are further apart than rounding explains: then the arms do not compute the same.
//
// # The ratio
//
// Of each round: the peer's seconds over ours, so above 1 is where this module is quicker. The table has its median over the
// rounds, the exact order-statistic interval of package stats with its attained level, and the rounds above 1. The share of the
// read bandwidth is the bytes a token reads by the time of a step, over the bytes by the time of the arm read in the same round.
//
// # The text
//
// Both arms continue the same ids greedily and say the most likely candidates at every position. Up to the first position at
// which they differ both have computed on the same prefix. The noise at such a position is by how much the difference of the log-probabilities
// of our two most likely candidates is another with the peer: |(a − b) − (a' − b')|. It is taken over all positions of all prompts at
// which both chose the same; where they chose differently the two figures would explain each other. A prompt passes if the texts are equal, or if
// at the first difference our choice leads the peer's by no more than the largest noise. That rule would pass anything if the
// noise were large, so its median has a limit.
package main

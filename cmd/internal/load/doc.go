// Package load sends an open loop of HTTP requests, and says whether it did.
//
// An open loop sends each request when it is due, whatever became of those before, as
// users do. A closed loop waits for an answer first: it asks less of a slow server, and what would
// have waited through a stall is never measured. See TestWhatAClosedLoopHides.
//
// # Schedule
//
// A [Schedule] follows from a [Spec]: gaps are exponential (Poisson) or equal (Constant). Nothing is rescaled
// afterwards: a Poisson schedule has as many requests as its seed gives, and a run is judged against that
// realised rate. Times are seconds from the start, in whole nanoseconds; every gap is rounded before
// it is added, so that the schedule of a seed is the same on every architecture. The same schedule is
// played to both arms.
//
// A schedule's file is one line of JSON (schema [ScheduleSchema]), and it is hashed as its bytes are. [ReadSchedule] draws the
// schedule again and refuses a file that differs from it in one byte.
//
// Shard i of n is a load of its own of rate/n: n independent Poisson processes of rate/n are one of the whole rate. Of a
// constant rate, each shard has every nth request.
//
// # Sending
//
// One thread waits for the time of each request (a sleep in the kernel, then a short watch of the clock) and writes it
// to an idle connection in one system call, without waiting. What the kernel does not take at once is
// written in the background. A second thread, on the other half of the processors, sends what is
// still there 0.1 ms after it was due: on a virtual machine the host takes a processor away for milliseconds now and
// then, and seldom all at once. Connections are opened ahead, kept alive, and taken last in first out. When none is
// idle a new one is opened for the request, whose lateness has the time that this takes. There is no limit on
// requests in flight but that of descriptors, which is raised to the hard limit; a request that finds none is not sent, and its
// error says so. Nothing is ever sent twice:
//   - a connection that the server has closed takes no byte of a request, and the request goes out on another
//     (Sent.Redialled);
//   - once one byte has been written, a connection that closes is the request's failure.
//
// The client speaks HTTP/1.1 as servers of an API do: Content-Length, chunked, a body that ends with the
// connection, interim answers. It follows no redirect, speaks no TLS and unpacks nothing. A status other
// than 2xx is a failure, and so is an answer that check refuses.
//
// # Times
//
// [Sent] has when each request was due, sent, first answered and wholly answered. Latency counts from when it was due;
// service time from when it was sent; the difference is lateness, which is the sender's own. All are kept
// raw, failures and unsent requests too: a request without an answer is infinitely slow, not absent.
//
// # Validity
//
// [Judge] is pure. A run is invalid when
//   - unsent: a request was not sent;
//   - errors: more failed than may;
//   - lateness: more than a tenth of its requests were sent later than 1 ms or a twentieth of the median time to the first
//     byte, whichever is less; more than a hundredth where the run is all that there is, as against a null server;
//   - rate: the middle nine tenths of the requests were sent at a rate 3/sqrt(n) or more off the schedule's;
//   - saturation: they were answered at such a rate, or requests in flight grew through each fourth of the second
//     half, by a fourth and three standard deviations of a Poisson count at least, and answers took half as long again
//     as in the first half. TestSaturationByLoad has how often this speaks at which load.
//
// # Designs dropped
//
//   - net/http's client: two goroutines take part before a request's first byte is written, and its idle connections are
//     capped or found dead only when used.
//   - Go's timers for the schedule: an idle runtime waits in epoll, which counts milliseconds.
//   - A goroutine for each request, asleep until it is due: the order of wake-ups is the runtime's.
//   - Comparing the rate of answers over the whole run: one slow last answer would condemn a short run.
package load

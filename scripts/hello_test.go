//go:build python || sglang

package scripts_test

// hello is a line that every tree could answer.
const hello = `{"type":"hello","version":1,"transport":"msgpack","options":{},"http_workers":2,"consumer":"decode","pace":"arrived","dir":"/nowhere","wait_ms":1000}`

package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a connection. The time for a body and for each piece of an answer are
// a Config's: an answer as a whole may take as long as its text.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// ServeOptions are Serve's.
type ServeOptions struct {
	Grace         time.Duration // that running requests have once ctx has ended
	HeaderTimeout time.Duration // for a request's head; 0: ten seconds
	Log           *slog.Logger
}

// Serve answers requests on l, which it closes, until ctx ends. Then it takes no
// new connection, gives what runs its grace, and cuts off the rest, whose contexts
// end. It returns after the last handler has: nil, or what went wrong before ctx ended.
func Serve(ctx context.Context, l net.Listener, h http.Handler, o ServeOptions) error {
	if o.HeaderTimeout == 0 {
		o.HeaderTimeout = headerTimeout
	}
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var open gate
	srv := &http.Server{
		Handler:           open.guard(h),
		ReadHeaderTimeout: o.HeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		cut()
		open.shut()
		return fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return end(srv, &open, cut, o)
}

// end lets running requests finish, then cuts them off.
func end(srv *http.Server, open *gate, cut func(), o ServeOptions) error {
	grace, cancel := context.WithTimeout(context.Background(), o.Grace)
	defer cancel()
	err := srv.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		o.Log.Warn("requests still run after their grace and are cut off", "grace", o.Grace)
		err = srv.Close()
	}
	cut()
	open.shut()
	if err != nil {
		return fmt.Errorf("end HTTP: %w", err)
	}
	return nil
}

// gate knows whether a handler runs. A WaitGroup would not do: a connection that
// is being closed may still begin a request.
type gate struct {
	sync.RWMutex
	closed bool
}

func (g *gate) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.RLock()
		defer g.RUnlock()
		if !g.closed {
			h.ServeHTTP(w, r)
		}
	})
}

// shut waits for the handlers that run and lets no other begin.
func (g *gate) shut() {
	g.Lock()
	defer g.Unlock()
	g.closed = true
}

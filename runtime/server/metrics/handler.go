package metrics

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// Handler serves /metrics of the server in e's folder, from the worker e. The
// model's name is the one it is served under. The handler may be called by many
// goroutines.
func Handler(e part.Env, model string) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	own := prometheus.WrapRegistererWith(prometheus.Labels{"part": e.ID.String()}, registry)
	for _, c := range []struct {
		to prometheus.Registerer
		prometheus.Collector
	}{
		{registry, &collector{e.Folder, model, counters.Now}},
		{own, collectors.NewGoCollector()},
		{own, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})},
	} {
		if err := c.to.Register(c.Collector); err != nil {
			return nil, fmt.Errorf("metrics of %s: %w", e.ID, err)
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(e.Log.Handler(), slog.LevelError),
		ErrorHandling: promhttp.HTTPErrorOnError,
	}), nil
}

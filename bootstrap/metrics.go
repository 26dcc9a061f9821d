package bootstrap

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/fx"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/task"
)

// registerMetrics registers the metrics of the process.
func registerMetrics(numbers *prometheus.Registry, c *config.Config, l limit.Limiter, s *storage, d adapters.Deps, n *taskMetrics) {
	numbers.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "locum_limiter_degraded", Help: "1 while limits are counted in this process because their store is away."}, func() float64 {
			if degraded(l) {
				return 1
			}
			return 0
		}),
		n.attempts, n.seconds, &backlog{storage: s, deps: d}, newDiskSpace(c, s.databases))
}

// adapterMetrics registers the metrics of adapters.
type adapterMetrics struct {
	numbers *prometheus.Registry
	log     *slog.Logger
}

// Gauge implements metrics.Registry.
func (m adapterMetrics) Gauge(name, help string, read func() float64) {
	m.register(name, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter implements metrics.Registry.
func (m adapterMetrics) Counter(name, help string, read func() float64) {
	m.register(name, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

func (m adapterMetrics) register(name string, c prometheus.Collector) {
	if err := m.numbers.Register(c); err != nil {
		m.log.Warn("failed to register the metric of an adapter", "name", name, "error", err)
	}
}

// diskSpace collects the free space of the folders that the process writes to, by
// setting.
type diskSpace map[string]string

var diskFree = prometheus.NewDesc("locum_disk_free_bytes", "Free space of the file system that a setting names.", []string{"setting"}, nil)

func newDiskSpace(c *config.Config, databases []*database) diskSpace {
	out := diskSpace{}
	for _, db := range databases {
		if path, ok := strings.CutPrefix(db.url, "sqlite:"); ok {
			out[db.setting] = filepath.Dir(path)
		}
	}
	if path, ok := strings.CutPrefix(c.Search.URL, "embedded:"); ok && path != "" {
		out["search.url"] = path
	}
	for setting, url := range map[string]string{"files.url": c.Files.URL, "mail.url": c.Mail.URL} {
		if path, ok := strings.CutPrefix(url, "file:"); ok {
			out[setting] = path
		}
	}
	return out
}

// Describe implements prometheus.Collector.
func (d diskSpace) Describe(out chan<- *prometheus.Desc) { out <- diskFree }

// Collect implements prometheus.Collector. A path that cannot be read is left out.
func (d diskSpace) Collect(out chan<- prometheus.Metric) {
	for setting, path := range d {
		if free, err := freeSpace(path); err == nil {
			out <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, free, setting)
		}
	}
}

// taskMetrics counts the attempts that the runner reports.
type taskMetrics struct {
	attempts *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newTaskMetrics() *taskMetrics {
	return &taskMetrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "locum_task_attempts_total", Help: "Attempts at tasks by kind and how they ended: done, waiting (failed, to be tried again) or dead."}, []string{"kind", "outcome"}),
		seconds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "locum_task_seconds", Help: "How long attempts took, by queue.", Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60, 300}}, []string{"queue"}),
	}
}

func (n *taskMetrics) report(r task.Report) {
	n.attempts.WithLabelValues(r.Kind, string(r.State)).Inc()
	n.seconds.WithLabelValues(string(r.Queue)).Observe(r.Duration.Seconds())
}

// backlog collects the number of waiting tasks. It reads the storage at most every few
// seconds, however often metrics are collected.
type backlog struct {
	storage *storage
	deps    adapters.Deps

	mu    sync.Mutex
	asked time.Time
	last  []prometheus.Metric
}

const backlogFor = 5 * time.Second

var (
	outboxUnsent = prometheus.NewDesc("locum_outbox_unsent", "Events that no relay has passed on yet, up to 100000.", nil, nil)
	outboxLag    = prometheus.NewDesc("locum_outbox_lag_seconds", "Age of the oldest of them.", nil, nil)
	tasksOpen    = prometheus.NewDesc("locum_tasks", "Tasks that are not finished by queue and state, up to 100000 altogether.", []string{"queue", "state"}, nil)
	tasksOldest  = prometheus.NewDesc("locum_tasks_oldest_seconds", "For how long the oldest task of a queue could have been started.", []string{"queue"}, nil)
)

// Describe implements prometheus.Collector.
func (b *backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{outboxUnsent, outboxLag, tasksOpen, tasksOldest} {
		out <- d
	}
}

// Collect implements prometheus.Collector. While the storage is unavailable it collects
// nothing, and the other metrics are served.
func (b *backlog) Collect(out chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.asked) > backlogFor {
		b.asked, b.last = now, b.ask()
	}
	for _, m := range b.last {
		out <- m
	}
}

func (b *backlog) ask() []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var out []prometheus.Metric
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out = append(out, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	age := func(since time.Time) float64 { return max(0, b.deps.Clock.Now().Sub(since).Seconds()) }
	if n, oldest, err := b.storage.lag(ctx); err == nil {
		gauge(outboxUnsent, float64(n))
		lag := 0.0
		if n > 0 {
			lag = age(oldest)
		}
		gauge(outboxLag, lag)
	}
	waiting, err := b.storage.tasks().Backlog(ctx)
	if err != nil {
		return out
	}
	for _, w := range waiting {
		gauge(tasksOpen, float64(w.Tasks), string(w.Queue), string(w.State))
		if w.State == task.Waiting {
			gauge(tasksOldest, age(w.Oldest), string(w.Queue))
		}
	}
	return out
}

// serveMetrics serves the metrics on MetricsAddr, if it is set.
func serveMetrics(lc fx.Lifecycle, c *config.Config, numbers *prometheus.Registry, log *slog.Logger) {
	if c.HTTP.MetricsAddr == "" {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(numbers, promhttp.HandlerOpts{}))
	// Clients that may read the metrics may also read profiles.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.HTTP.MetricsAddr)
			if err != nil {
				return c.Err("http.metrics_addr", err.Error())
			}
			go func() {
				if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					log.Error("metrics server failed", "error", err)
				}
			}()
			return nil
		},
		OnStop: server.Shutdown,
	})
}

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
func registerMetrics(
	promRegistry *prometheus.Registry,
	cfg *config.Config,
	limiter limit.Limiter,
	store *storage,
	deps adapters.Deps,
	metrics *taskMetrics,
) {
	promRegistry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{
				Name: "locum_limiter_degraded",
				Help: "1 while limits are counted in this process because their store is away.",
			},
			func() float64 {
				if isDegraded(limiter) {
					return 1
				}

				return 0
			},
		),
		metrics.attempts,
		metrics.seconds,
		&backlog{storage: store, deps: deps},
		newDiskSpace(cfg, store.databases),
	)
}

// adapterMetrics registers the metrics of adapters.
type adapterMetrics struct {
	registry *prometheus.Registry
	log      *slog.Logger
}

// Gauge implements metrics.Registry. It calls read at each request for the metrics.
func (m adapterMetrics) Gauge(name, help string, read func() float64) {
	m.register(name, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter implements metrics.Registry. It calls read at each request for the metrics.
func (m adapterMetrics) Counter(name, help string, read func() float64) {
	m.register(name, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// register registers a metric of an adapter. A metric that is refused, because its name is invalid or
// in use, does not stop the process.
func (m adapterMetrics) register(name string, c prometheus.Collector) {
	if err := m.registry.Register(c); err != nil {
		m.log.Warn("failed to register the metric of an adapter", "name", name, "error", err)
	}
}

// diskSpace collects the free space of the folders that the process writes to. It maps the names of
// settings, such as files.url, to the folders.
type diskSpace map[string]string

// diskFree is the metric of diskSpace.
var diskFree = prometheus.NewDesc("locum_disk_free_bytes", "Free space of the file system that a setting names.", []string{"setting"}, nil)

// newDiskSpace finds the folders that the configured adapters write to. Adapters that write to no local
// folder, such as those of servers, have other schemes.
func newDiskSpace(cfg *config.Config, databases []*database) diskSpace {
	folders := diskSpace{}
	for _, db := range databases {
		if file, isSQLite := strings.CutPrefix(db.url, "sqlite:"); isSQLite {
			folders[db.setting] = filepath.Dir(file)
		}
	}

	// Without a folder, the embedded index is in memory.
	if folder, isEmbedded := strings.CutPrefix(cfg.Search.URL, "embedded:"); isEmbedded && folder != "" {
		folders["search.url"] = folder
	}

	for setting, url := range map[string]string{"files.url": cfg.Files.URL, "mail.url": cfg.Mail.URL} {
		if folder, isLocal := strings.CutPrefix(url, "file:"); isLocal {
			folders[setting] = folder
		}
	}

	return folders
}

// Describe implements prometheus.Collector.
func (d diskSpace) Describe(out chan<- *prometheus.Desc) { out <- diskFree }

// Collect implements prometheus.Collector: it sends the free space of each folder. A folder that cannot
// be read is left out.
func (d diskSpace) Collect(out chan<- prometheus.Metric) {
	for setting, path := range d {
		if free, err := freeSpace(path); err == nil {
			out <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, free, setting)
		}
	}
}

// taskMetrics counts the attempts of tasks, which the task runner reports.
type taskMetrics struct {
	attempts *prometheus.CounterVec   // by kind of task and outcome
	seconds  *prometheus.HistogramVec // the durations, by queue
}

// newTaskMetrics returns the metrics of the attempts at tasks.
func newTaskMetrics() *taskMetrics {
	return &taskMetrics{
		attempts: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "locum_task_attempts_total",
				Help: "Attempts at tasks by kind and how they ended: done, waiting (failed, to be tried again) or dead.",
			},
			[]string{"kind", "outcome"},
		),
		seconds: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name:    "locum_task_seconds",
				Help:    "How long attempts took, by queue.",
				Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60, 300},
			},
			[]string{"queue"},
		),
	}
}

// report counts one attempt.
func (m *taskMetrics) report(r task.Report) {
	m.attempts.WithLabelValues(r.Kind, string(r.State)).Inc()
	m.seconds.WithLabelValues(string(r.Queue)).Observe(r.Duration.Seconds())
}

// backlog collects the numbers of unsent events and waiting tasks. It reads them at most once
// per backlogTTL, even if metrics are collected more often.
type backlog struct {
	storage *storage
	deps    adapters.Deps

	mu      sync.Mutex
	readAt  time.Time
	metrics []prometheus.Metric // as read at readAt
}

const (
	// backlogTTL is how long the numbers of a backlog are used, so that frequent requests for the metrics
	// do not burden the database.
	backlogTTL = 5 * time.Second
	// backlogTimeout bounds the reading of the numbers, so that the other metrics are served soon.
	backlogTimeout = 2 * time.Second
)

// The metrics of a backlog. The outbox is the table of recorded events, which a relay passes on.
var (
	outboxUnsent = prometheus.NewDesc("locum_outbox_unsent", "Events that no relay has passed on yet, up to 100000.", nil, nil)
	outboxLag    = prometheus.NewDesc("locum_outbox_lag_seconds", "Age of the oldest of them.", nil, nil)
	tasksOpen    = prometheus.NewDesc("locum_tasks",
		"Tasks that are not finished by queue and state, up to 100000 altogether.", []string{"queue", "state"},
		nil)
	tasksOldest = prometheus.NewDesc(
		"locum_tasks_oldest_seconds",
		"For how long the oldest task of a queue could have been started.",
		[]string{"queue"},
		nil,
	)
)

// Describe implements prometheus.Collector.
func (b *backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{outboxUnsent, outboxLag, tasksOpen, tasksOldest} {
		out <- d
	}
}

// Collect implements prometheus.Collector: it sends the numbers of the backlog. It sends nothing while
// the storage is unavailable, so that the other metrics are still served.
func (b *backlog) Collect(out chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if now := time.Now(); now.Sub(b.readAt) > backlogTTL {
		b.readAt, b.metrics = now, b.read()
	}

	for _, m := range b.metrics {
		out <- m
	}
}

// read reads the numbers from the storage. It leaves out numbers that cannot be read, because a zero
// would look as if nothing waited.
func (b *backlog) read() []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
	defer cancel()
	var metrics []prometheus.Metric
	addGauge := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics = append(metrics, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
	}
	// A time in the future (of a task that is due later) has no age.
	ageInSeconds := func(since time.Time) float64 { return max(0, b.deps.Clock.Now().Sub(since).Seconds()) }

	if unsent, oldest, err := b.storage.lag(ctx); err == nil {
		addGauge(outboxUnsent, float64(unsent))

		lag := 0.0
		if unsent > 0 {
			lag = ageInSeconds(oldest)
		}

		addGauge(outboxLag, lag)
	}

	backlogs, err := b.storage.tasks().Backlog(ctx) // one for each queue and state
	if err != nil {
		return metrics
	}

	for _, tasks := range backlogs {
		addGauge(tasksOpen, float64(tasks.Tasks), string(tasks.Queue), string(tasks.State))

		if tasks.State == task.Waiting {
			addGauge(tasksOldest, ageInSeconds(tasks.Oldest), string(tasks.Queue))
		}
	}

	return metrics
}

// serveMetrics serves the metrics on the address http.metrics_addr, if it is set.
func serveMetrics(lc fx.Lifecycle, cfg *config.Config, promRegistry *prometheus.Registry, log *slog.Logger) {
	if cfg.HTTP.MetricsAddr == "" {
		return
	}

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(promRegistry, promhttp.HandlerOpts{}))

	// Profiles are served to the same clients as metrics.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)

	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.MetricsAddr)
			if err != nil {
				return cfg.Err("http.metrics_addr", err.Error())
			}

			go func() {
				if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					log.Error("metrics server failed", "error", err)
				}
			}()

			return nil
		},
		OnStop: server.Shutdown,
	})
}

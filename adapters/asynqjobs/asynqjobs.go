// Package asynqjobs carries jobs through Redis with Asynq.
package asynqjobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"

	"github.com/locumhq/locum/core/job"
)

const (
	queue   = "locum"
	workers = 8
	// patience is how long Redis may take to answer.
	patience = 2 * time.Second
)

// Queue implements job.Queue.
type Queue struct {
	redis  goredis.UniversalClient
	client *asynq.Client
	log    *slog.Logger
}

// Open makes a queue from a URL. It does not wait for Redis to be there.
//
//	redis://[user:password@]host[:port][/db]           one server; rediss:// with TLS
//	redis-cluster://a:7000,b:7000                      a cluster
//	redis-sentinel://a:26379,b:26379/0?master_name=NAME  behind sentinels
func Open(rawURL string, log *slog.Logger) (*Queue, error) {
	redis, err := connect(rawURL)
	if err != nil {
		return nil, err
	}
	return &Queue{redis: redis, client: asynq.NewClientFromRedisClient(redis), log: log}, nil
}

func connect(rawURL string) (goredis.UniversalClient, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	scheme, mode, _ := strings.Cut(scheme, "-")
	plain := scheme + "://" + moreHosts(rest)
	switch mode {
	case "cluster":
		o, err := goredis.ParseClusterURL(plain)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled = true
		return goredis.NewClusterClient(o), nil
	case "sentinel":
		o, err := goredis.ParseFailoverURL(plain)
		if err != nil {
			return nil, err
		}
		if o.MasterName == "" {
			return nil, errors.New("redis-sentinel needs ?master_name=")
		}
		o.ContextTimeoutEnabled = true
		return goredis.NewFailoverClient(o), nil
	}
	o, err := goredis.ParseURL(plain)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	return goredis.NewClient(o), nil
}

// moreHosts turns a,b,c/0?x=y into go-redis' form of it: a/0?x=y&addr=b&addr=c.
func moreHosts(rest string) string {
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, hasPath := strings.Cut(rest, "/")
	user, hosts, hasUser := strings.Cut(authority, "@")
	if !hasUser {
		user, hosts = "", authority
	}
	all := strings.Split(hosts, ",")
	out := all[0]
	if hasUser {
		out = user + "@" + out
	}
	if hasPath {
		out += "/" + path
	}
	for _, host := range all[1:] {
		query += "&addr=" + host
	}
	if query = strings.TrimPrefix(query, "&"); query != "" {
		out += "?" + query
	}
	return out
}

// Enqueue implements job.Queue.
func (q *Queue) Enqueue(ctx context.Context, jobs ...job.Job) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, j := range jobs {
		// Asynq tries nothing again: the outcome is known where the job was made.
		_, err := q.client.EnqueueContext(ctx, asynq.NewTask(j.Kind, j.Payload),
			asynq.Queue(queue), asynq.TaskID(j.Key), asynq.MaxRetry(0), asynq.Timeout(job.Longest+5*time.Second))
		if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
			return fmt.Errorf("enqueue %s: %w", j.Kind, err)
		}
	}
	return nil
}

// Work implements job.Queue.
func (q *Queue) Work(ctx context.Context, do job.Handler) error {
	server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
		Concurrency: workers, Queues: map[string]int{queue: 1},
		TaskCheckInterval: 200 * time.Millisecond, ShutdownTimeout: job.Longest,
		Logger: quiet{q.log}, LogLevel: asynq.WarnLevel,
	})
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		key, _ := asynq.GetTaskID(ctx)
		if err := job.Run(ctx, do, job.Job{Kind: t.Type(), Key: key, Payload: t.Payload()}); err != nil {
			q.log.Error("job failed", "kind", t.Type(), "key", key, "error", err)
		}
		// A task that failed would be kept as an archive of what is in the
		// database anyway.
		return nil
	}))
	if err != nil {
		return err
	}
	<-ctx.Done()
	server.Shutdown()
	return nil
}

// Close ends the connections.
func (q *Queue) Close() error { return q.redis.Close() }

// quiet hands Asynq's words to our log.
type quiet struct{ log *slog.Logger }

func (l quiet) Debug(args ...any) { l.log.Debug(fmt.Sprint(args...)) }
func (l quiet) Info(args ...any)  { l.log.Info(fmt.Sprint(args...)) }
func (l quiet) Warn(args ...any)  { l.log.Warn(fmt.Sprint(args...)) }
func (l quiet) Error(args ...any) { l.log.Error(fmt.Sprint(args...)) }

// Fatal implements asynq.Logger; a library does not end the process.
func (l quiet) Fatal(args ...any) { l.log.Error(fmt.Sprint(args...)) }

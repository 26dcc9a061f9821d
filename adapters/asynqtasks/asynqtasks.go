// Package asynqtasks implements a queue in Redis with Asynq.
package asynqtasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/locumhq/locum/adapters/internal/redisurl"
	"github.com/locumhq/locum/core/task"
)

const (
	// timeout bounds a call to Redis.
	timeout = 2 * time.Second
	// concurrency is the number of references that are sent to Redis at the same time, because
	// Asynq has no batch operation.
	concurrency = 16
)

// Queue implements task.Queue. Asynq stores references to tasks; the tasks themselves are in the
// database.
type Queue struct {
	redis  goredis.UniversalClient
	client *asynq.Client
	prefix string // of the names of queues in Asynq
	log    *slog.Logger
}

// asynqName returns the name of a queue in Asynq, which is part of the keys in Redis.
func (q *Queue) asynqName(queue task.QueueName) string { return q.prefix + "-" + string(queue) }

// Open returns a queue in the Redis of a URL, which package redisurl describes. It does
// not wait for a connection.
func Open(rawURL string, log *slog.Logger) (*Queue, error) {
	options, err := redisurl.Parse(rawURL)
	if err != nil {
		return nil, err
	}

	redis := options.Connect()

	return &Queue{redis: redis, client: asynq.NewClientFromRedisClient(redis), prefix: options.Prefix, log: log}, nil
}

// Enqueue implements task.Queue.
func (q *Queue) Enqueue(ctx context.Context, refs ...task.Reference) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	// The first error cancels the other requests, which would probably fail, too.
	sending, ctx := errgroup.WithContext(ctx)
	sending.SetLimit(concurrency)

	for _, ref := range refs {
		sending.Go(func() error { return q.enqueue(ctx, ref) })
	}

	return sending.Wait()
}

// enqueue sends one reference to Redis. A reference that is there already is no error.
func (q *Queue) enqueue(ctx context.Context, ref task.Reference) error {
	// The tools of Asynq show the type of a task, which is therefore its kind.
	asynqTask := asynq.NewTask(ref.Kind, []byte(ref.ID))

	_, err := q.client.EnqueueContext(ctx, asynqTask,
		asynq.Queue(q.asynqName(ref.Queue)),
		// Asynq refuses a reference with an id that is in Redis already.
		asynq.TaskID(fmt.Sprintf("%s:%d", ref.ID, ref.Enqueues)),
		// The store decides when a task is due again, and may extend its lease. Asynq therefore does
		// not retry, and has a timeout that no task reaches.
		asynq.MaxRetry(0),
		asynq.Timeout(24*time.Hour),
	)
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("handing a task to Redis: %w", err)
	}

	return nil
}

// Work implements task.Queue. Each queue has its own Asynq server with its own workers. With
// one server for all queues, a slow queue could occupy all workers, even with weights.
func (q *Queue) Work(ctx context.Context, do func(context.Context, task.Reference)) error {
	var servers []*asynq.Server

	// All servers shut down at the same time, because each may wait for its running tasks.
	defer func() {
		var shutdowns sync.WaitGroup
		for _, server := range servers {
			shutdowns.Go(server.Shutdown)
		}

		shutdowns.Wait()
	}()

	for queue, workers := range task.Workers {
		server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
			Concurrency:       workers,
			Queues:            map[string]int{q.asynqName(queue): 1}, // with a weight, which has no effect for one queue
			TaskCheckInterval: 200 * time.Millisecond,
			ShutdownTimeout:   25 * time.Second,
			Logger:            logger{q.log},
			LogLevel:          asynq.WarnLevel,
		})

		err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
			// The task has its own time limit, which the store may extend.
			do(context.WithoutCancel(ctx), task.Reference{Queue: queue, Kind: t.Type(), ID: string(t.Payload())})
			return nil
		}))
		if err != nil {
			return err
		}

		servers = append(servers, server)
	}

	<-ctx.Done()

	return nil
}

// Embedded implements task.Queue: processes share a Redis.
func (q *Queue) Embedded() bool { return false }

// Close ends the connections.
func (q *Queue) Close() error { return q.redis.Close() }

// Ping reports whether Redis responds.
func (q *Queue) Ping(ctx context.Context) error { return q.redis.Ping(ctx).Err() }

// logger writes Asynq's log lines to the service's log.
type logger struct{ log *slog.Logger }

func (l logger) Debug(args ...any) { l.log.Debug(fmt.Sprint(args...)) }
func (l logger) Info(args ...any)  { l.log.Info(fmt.Sprint(args...)) }
func (l logger) Warn(args ...any)  { l.log.Warn(fmt.Sprint(args...)) }
func (l logger) Error(args ...any) { l.log.Error(fmt.Sprint(args...)) }

// Fatal implements asynq.Logger; a library does not end the process.
func (l logger) Fatal(args ...any) { l.log.Error(fmt.Sprint(args...)) }

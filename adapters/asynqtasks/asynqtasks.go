// Package asynqtasks carries tasks through Redis with Asynq.
package asynqtasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/locumhq/locum/core/task"
)

const (
	// taskType is all that Asynq knows of a task beside its id.
	taskType = "task"
	// patience is how long Redis may take to answer.
	patience = 2 * time.Second
	// atOnce is how many tickets travel to Redis side by side: Asynq takes them
	// one by one.
	atOnce = 16
)

// queueOf is the queue of a class. Its name is part of the keys in Redis.
func (q *Queue) queueOf(c task.Class) string { return q.prefix + "-" + string(c) }

// Queue implements task.Queue.
type Queue struct {
	redis  goredis.UniversalClient
	client *asynq.Client
	prefix string
	log    *slog.Logger
}

// Open makes a queue from a URL. It does not wait for Redis to be there.
//
//	redis://[user:password@]host[:port][/db]           one server; rediss:// with TLS
//	redis-cluster://a:7000,b:7000                      a cluster
//	redis-sentinel://a:26379,b:26379/0?master_name=NAME  behind sentinels
//
// With ?prefix=NAME the keys are NAME's own: a cluster has no numbered
// databases that would keep two services apart.
func Open(rawURL string, log *slog.Logger) (*Queue, error) {
	rawURL, prefix, err := cutPrefix(rawURL)
	if err != nil {
		return nil, err
	}
	redis, err := connect(rawURL)
	if err != nil {
		return nil, err
	}
	// The library prints each failed dial; they all reach us as errors too.
	logging.Disable()
	return &Queue{redis: redis, client: asynq.NewClientFromRedisClient(redis), prefix: prefix, log: log}, nil
}

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// cutPrefix takes our own parameter out of the URL.
func cutPrefix(rawURL string) (string, string, error) {
	rest, query, _ := strings.Cut(rawURL, "?")
	prefix := "locum"
	var others []string
	for _, pair := range strings.Split(query, "&") {
		if value, ours := strings.CutPrefix(pair, "prefix="); ours {
			prefix = value
		} else if pair != "" {
			others = append(others, pair)
		}
	}
	if !prefixes.MatchString(prefix) {
		return "", "", errors.New("prefix: want 1 to 40 letters, digits, _ and -")
	}
	if len(others) > 0 {
		rest += "?" + strings.Join(others, "&")
	}
	return rest, prefix, nil
}

// discreet keeps the words of the URL parser back, which quote the password that
// it could not read.
func discreet(err error) error {
	var unreadable *url.Error
	if errors.As(err, &unreadable) {
		return errors.New("not a Redis address that can be read; special characters in a password are written as %XX")
	}
	return err
}

func connect(rawURL string) (goredis.UniversalClient, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	scheme, mode, _ := strings.Cut(scheme, "-")
	plain := scheme + "://" + moreHosts(rest)
	switch mode {
	case "cluster":
		o, err := goredis.ParseClusterURL(plain)
		if err != nil {
			return nil, discreet(err)
		}
		o.ContextTimeoutEnabled = true
		return goredis.NewClusterClient(o), nil
	case "sentinel":
		o, err := goredis.ParseFailoverURL(plain)
		if err != nil {
			return nil, discreet(err)
		}
		if o.MasterName == "" {
			return nil, errors.New("redis-sentinel needs ?master_name=")
		}
		o.ContextTimeoutEnabled = true
		return goredis.NewFailoverClient(o), nil
	}
	o, err := goredis.ParseURL(plain)
	if err != nil {
		return nil, discreet(err)
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

// Enqueue implements task.Queue.
func (q *Queue) Enqueue(ctx context.Context, tickets ...task.Ticket) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if len(tickets) == 1 {
		return q.enqueue(ctx, tickets[0])
	}
	next := make(chan task.Ticket)
	failed := make(chan error, min(atOnce, len(tickets)))
	var sending sync.WaitGroup
	for range cap(failed) {
		sending.Go(func() {
			for t := range next {
				if err := q.enqueue(ctx, t); err != nil {
					cancel() // the others would fail as well, later
					failed <- err
					return
				}
			}
		})
	}
	for _, t := range tickets {
		select {
		case next <- t:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	sending.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

func (q *Queue) enqueue(ctx context.Context, t task.Ticket) error {
	// The task's id keeps a ticket from standing in Redis twice, and no more: the
	// store decides whether there is anything to do. Asynq tries nothing again,
	// for the same reason, and its clock does not end what the store's may
	// prolong.
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask(taskType, []byte(t.ID)), asynq.Queue(q.queueOf(t.Class)),
		asynq.TaskID(fmt.Sprintf("%s:%d", t.ID, t.Turn)), asynq.MaxRetry(0), asynq.Timeout(24*time.Hour))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("handing a task to Redis: %w", err)
	}
	return nil
}

// Work implements task.Queue. Each class has an Asynq server of its own: weights
// in one server would share its workers out only while some are free, and one
// slow class would hold them all.
func (q *Queue) Work(ctx context.Context, do func(context.Context, task.Ticket)) error {
	var servers []*asynq.Server
	defer func() {
		var ending sync.WaitGroup
		for _, s := range servers {
			ending.Go(s.Shutdown)
		}
		ending.Wait()
	}()
	for class, workers := range task.Workers {
		server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
			Concurrency: workers, Queues: map[string]int{q.queueOf(class): 1},
			TaskCheckInterval: 200 * time.Millisecond, ShutdownTimeout: 25 * time.Second,
			Logger: quiet{q.log}, LogLevel: asynq.WarnLevel,
		})
		err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
			do(context.WithoutCancel(ctx), task.Ticket{Class: class, ID: string(t.Payload())})
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

// Close ends the connections.
func (q *Queue) Close() error { return q.redis.Close() }

// Ping says whether Redis answers.
func (q *Queue) Ping(ctx context.Context) error { return q.redis.Ping(ctx).Err() }

// quiet hands Asynq's words to our log.
type quiet struct{ log *slog.Logger }

func (l quiet) Debug(args ...any) { l.log.Debug(fmt.Sprint(args...)) }
func (l quiet) Info(args ...any)  { l.log.Info(fmt.Sprint(args...)) }
func (l quiet) Warn(args ...any)  { l.log.Warn(fmt.Sprint(args...)) }
func (l quiet) Error(args ...any) { l.log.Error(fmt.Sprint(args...)) }

// Fatal implements asynq.Logger; a library does not end the process.
func (l quiet) Fatal(args ...any) { l.log.Error(fmt.Sprint(args...)) }

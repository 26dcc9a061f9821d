// Package natsqueue is a task queue on NATS JetStream: a stream with a subject for
// each queue of tasks. It connects to a server, or runs one inside of the process.
//
// A reference is acknowledged when a worker takes it. If the process ends before the task
// does, the reference is lost, and the service enqueues another one after a while: tasks
// are stored by the service, the queue only refers to them.
package natsqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/task"
)

const (
	stream = "LOCUM_TASKS"
	// subjectPrefix precedes the name of a queue in its subject.
	subjectPrefix = "locum.tasks."
	// maxAge is the age at which references are deleted. The service repeats those of
	// tasks that are still due.
	maxAge = time.Hour
	// ackWait is the time after which a reference that no worker took is delivered again.
	ackWait = 5 * time.Second
	// timeout is the longest that a call waits for the server.
	timeout = 5 * time.Second
	// startTimeout is the longest that the embedded server takes to start.
	startTimeout = 20 * time.Second
	// createAttempts is how often a stream or a consumer is requested, each time for as long
	// as timeout. A request that the server gets while it stops is never answered.
	createAttempts = 4
)

// Queue implements task.Queue, adapters.Pinger and adapters.Closer.
type Queue struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	embedded *server.Server // nil if the queue is on another server
}

// Open opens a queue for nats://HOST:PORT, or for embedded:FOLDER with a server inside
// of the process that stores references in the folder. It is a bootstrap.QueueOpener.
func Open(ctx context.Context, url string, _ adapters.Deps) (task.Queue, error) {
	q := &Queue{}
	if folder, ok := strings.CutPrefix(url, "embedded:"); ok {
		if folder == "" {
			return nil, errors.New("want embedded:FOLDER")
		}

		embedded, err := startServer(folder)
		if err != nil {
			return nil, err
		}

		q.embedded = embedded
	}

	if err := q.connect(ctx, url); err != nil {
		return nil, errors.Join(err, q.Close())
	}

	return q, nil
}

// startServer starts a server within the process, which listens at no port.
func startServer(folder string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "locum",
		DontListen: true,
		JetStream:  true,
		StoreDir:   folder,
		NoSigs:     true,
	})
	if err != nil {
		return nil, err
	}

	s.Start()

	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		return nil, errors.New("the embedded server does not start")
	}

	return s, nil
}

// connect connects to the server, or within the process to the embedded one.
func (q *Queue) connect(ctx context.Context, url string) (err error) {
	options := []nats.Option{nats.Name("locum"), nats.MaxReconnects(-1)}
	if q.embedded != nil {
		url, options = "", append(options, nats.InProcessServer(q.embedded))
	}

	if q.conn, err = nats.Connect(url, options...); err != nil {
		return err
	}

	if q.js, err = jetstream.New(q.conn); err != nil {
		return err
	}

	return q.createStream(ctx)
}

// createStream creates the stream, which a server that has lost its data does not have.
func (q *Queue) createStream(ctx context.Context) error {
	return create(ctx, func(ctx context.Context) error {
		_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name:      stream,
			Subjects:  []string{subjectPrefix + "*"},
			Retention: jetstream.WorkQueuePolicy,
			MaxAge:    maxAge,
			// A reference that is enqueued twice within this time is stored once.
			Duplicates: time.Minute,
		})

		return err
	})
}

// createConsumer creates the consumer of a queue if the server does not have it.
func (q *Queue) createConsumer(ctx context.Context, name task.QueueName) (consumer jetstream.Consumer, err error) {
	err = create(ctx, func(ctx context.Context) (err error) {
		consumer, err = q.js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
			Durable:       "locum-" + string(name),
			FilterSubject: subjectPrefix + string(name),
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       ackWait,
			MaxAckPending: -1,
		})

		return err
	})

	return consumer, err
}

// create repeats a request that may be repeated, while it gets no answer in time.
func create(ctx context.Context, request func(ctx context.Context) error) (err error) {
	for range createAttempts {
		err = withTimeout(ctx, request)
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}

	return err
}

// withTimeout sends a request, whose answer it awaits no longer than timeout.
func withTimeout(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return request(ctx)
}

// Enqueue implements task.Queue.
func (q *Queue) Enqueue(ctx context.Context, refs ...task.Reference) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	// All references are sent before the first acknowledgement is awaited.
	acks := make([]jetstream.PubAckFuture, len(refs))
	for i, t := range refs {
		if err := ctx.Err(); err != nil {
			return err
		}

		ack, err := q.publish(t)
		if err != nil {
			return err
		}

		acks[i] = ack
	}

	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	return nil
}

// publish sends a reference, and returns the acknowledgement that the server will send.
func (q *Queue) publish(t task.Reference) (jetstream.PubAckFuture, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}

	// The server stores a reference with the same id once.
	id := fmt.Sprintf("%s/%s/%d", t.Queue, t.ID, t.Enqueues)

	return q.js.PublishAsync(subjectPrefix+string(t.Queue), data, jetstream.WithMsgID(id))
}

// Work implements task.Queue.
func (q *Queue) Work(ctx context.Context, do func(ctx context.Context, t task.Reference)) error {
	if err := q.createStream(ctx); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var working sync.WaitGroup
	for name, workers := range task.Workers {
		working.Go(func() {
			if err := q.workOn(ctx, name, workers, do); err != nil {
				cancel(err)
			}
		})
	}

	working.Wait()

	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}

	return nil
}

// workOn executes the tasks of a queue until ctx is done, and waits for those that are
// running.
func (q *Queue) workOn(
	ctx context.Context, name task.QueueName, workers int, do func(ctx context.Context, t task.Reference),
) error {
	consumer, err := q.createConsumer(ctx, name)
	if err != nil {
		return err
	}

	messages, err := consumer.Messages(jetstream.PullMaxMessages(workers))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, messages.Drain)()
	defer messages.Stop()

	var running sync.WaitGroup
	defer running.Wait()

	for slots := make(chan struct{}, workers); ; {
		m, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return q.conn.FlushTimeout(timeout)
		}

		if err != nil {
			return err
		}

		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}

		if ctx.Err() != nil { // another worker takes it
			if err := m.Nak(); err != nil {
				return err
			}

			continue
		}

		running.Go(func() {
			defer func() { <-slots }()

			var t task.Reference
			if err := json.Unmarshal(m.Data(), &t); err != nil {
				return // it is not a reference of this service
			}

			if err := m.Ack(); err != nil {
				return // the server delivers it again
			}

			do(context.WithoutCancel(ctx), t)
		})
	}
}

// Ping implements adapters.Pinger.
func (q *Queue) Ping(ctx context.Context) error {
	_, err := q.js.Stream(ctx, stream)
	return err
}

// Embedded implements task.Queue.
func (q *Queue) Embedded() bool { return q.embedded != nil }

// Close implements adapters.Closer.
func (q *Queue) Close() error {
	if q.conn != nil {
		q.conn.Close()
	}

	if q.embedded != nil {
		q.embedded.Shutdown()
		q.embedded.WaitForShutdown()
	}

	return nil
}

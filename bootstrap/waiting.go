package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.uber.org/fx"

	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/task"
)

// reserve is the part of the start timeout that is kept for reporting which
// database did not answer.
const reserve = 3 * time.Second

// fitSchemas applies the missing migrations of embedded databases and returns an
// error for every other database whose schema is not the one of this version.
func fitSchemas(ctx context.Context, c *config.Config, s *storage, log *slog.Logger) error {
	for _, db := range s.databases {
		if db.Schema == nil {
			continue
		}
		if err := fitSchema(ctx, c, db, log); err != nil {
			return err
		}
	}
	return nil
}

func fitSchema(ctx context.Context, c *config.Config, db *database, log *slog.Logger) error {
	if db.Embedded {
		if _, err := db.Schema.Up(ctx); err != nil {
			return c.Err(db.setting, err.Error())
		}
	}
	// A database that is away, after a reboot of all machines perhaps, comes back.
	begun, end := time.Now(), time.Now().Add(startWithin)
	if deadline, ok := ctx.Deadline(); ok {
		end = deadline
	}
	// A start whose earlier steps took long still waits for half of what is left.
	end = end.Add(-min(reserve, time.Until(end)/2))
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	host := cmp.Or(config.Hosts(db.url), "the database")
	var away error
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := db.Schema.Check(ctx)
		switch {
		case err == nil && away != nil:
			log.Info("the database answers", "key", db.setting, "host", host)
			return nil
		case err == nil:
			return nil
		case fault.KindOf(err) != fault.Unavailable:
			return c.Err(db.setting, err.Error())
		case away == nil:
			log.Warn("the database does not answer, waiting for it", "key", db.setting, "host", host, "until", end.UTC().Format(time.RFC3339), "error", reason(err))
		}
		if away == nil || ctx.Err() == nil { // the last that is not only about the end of the wait
			away = err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return c.Err(db.setting, fmt.Sprintf("no answer from %s within %s: %s", host, time.Since(begun).Round(time.Second), reason(away)))
		}
	}
}

// reason is what the store's driver says, for whom the fault's own words, made
// for clients, tell nothing; in one line.
func reason(err error) string {
	if f := fault.Of(err); f.Unwrap() != nil {
		err = f.Unwrap()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// heardWithin is how long an adapter may take before its silence is spoken of.
const heardWithin = 2 * time.Second

// warnOfSilence says at the start which of the adapters that the process can do
// without do not answer. Nothing waits for them.
func warnOfSilence(lc fx.Lifecycle, c *config.Config, l limit.Limiter, q task.Queue, log *slog.Logger) {
	ask := func(key, url, meanwhile string, adapter any) {
		ctx, cancel := context.WithTimeout(context.Background(), heardWithin)
		defer cancel()
		if err := pingOf(adapter)(ctx); err != nil {
			log.Warn("no answer yet; "+meanwhile, "key", key, "host", config.Hosts(url), "error", err)
		}
	}
	lc.Append(fx.Hook{OnStart: func(context.Context) error {
		go ask("limiter.url", c.Limiter.URL, "until there is one, limits are counted in this process alone", l)
		go ask("queue.url", c.Queue.URL, "until there is one, jobs wait in the database", q)
		return nil
	}})
}

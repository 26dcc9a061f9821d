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

// reportTime is the part of the start timeout that is reserved for reporting which database
// is unavailable.
const reportTime = 3 * time.Second

// prepareSchemas applies the missing migrations of embedded databases (in local files). It does not migrate
// other databases, and returns an error if their schema is not that of this version.
func prepareSchemas(ctx context.Context, cfg *config.Config, store *storage, log *slog.Logger) error {
	for _, db := range store.databases {
		if db.Schema == nil {
			continue
		}

		if err := prepareSchema(ctx, cfg, db, log); err != nil {
			return err
		}
	}

	return nil
}

// prepareSchema migrates an embedded database, and waits until the schema of any database can be
// used. It fails at once if the schema is wrong.
func prepareSchema(ctx context.Context, cfg *config.Config, db *database, log *slog.Logger) error {
	if db.Embedded {
		if _, err := db.Schema.Up(ctx); err != nil {
			return cfg.Err(db.setting, err.Error())
		}
	}

	begun, deadline := time.Now(), waitDeadline(ctx)

	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()

	host := cmp.Or(config.Hosts(db.url), "the database")

	// Check the schema, again and again while the database is unavailable, for example after a reboot
	// of all servers.
	const firstPause, longestPause = 50 * time.Millisecond, time.Second

	var unavailable error // from the last check that failed for this reason
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := db.Schema.Check(ctx)

		wasUnavailable := unavailable != nil
		if err == nil {
			if wasUnavailable {
				log.Info("database is available", "key", db.setting, "host", host)
			}

			return nil
		}

		switch {
		case fault.KindOf(err) != fault.Unavailable:
			return cfg.Err(db.setting, err.Error())
		case !wasUnavailable:
			until := deadline.UTC().Format(time.RFC3339)
			log.Warn("database is unavailable; waiting", "key", db.setting, "host", host, "until", until, "error", driverError(err))
		}

		// A check after the deadline fails because the time is over. Keep the error of the check before, which
		// has the reason.
		if !wasUnavailable || ctx.Err() == nil {
			unavailable = err
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			waited := time.Since(begun).Round(time.Second)
			return cfg.Err(db.setting, fmt.Sprintf("no answer from %s within %s: %s", host, waited, driverError(unavailable)))
		}
	}
}

// waitDeadline returns the time until which a start waits for a database. It is reportTime before the
// context of the start ends. If little time is left, because earlier steps took long, it is after half of
// the remaining time.
func waitDeadline(ctx context.Context) time.Time {
	startEnd, isBounded := ctx.Deadline()
	if !isBounded {
		startEnd = time.Now().Add(startTimeout)
	}

	return startEnd.Add(-min(reportTime, time.Until(startEnd)/2))
}

// driverError returns the error of the driver in one line. The fault itself is a message for
// clients and has no details.
func driverError(err error) string {
	if f := fault.Of(err); f.Unwrap() != nil {
		err = f.Unwrap()
	}

	return strings.Join(strings.Fields(err.Error()), " ")
}

// pingTimeout bounds the check of an optional adapter at the start.
const pingTimeout = 2 * time.Second

// warnUnreachable logs the optional adapters that are unreachable at the start. The start
// does not wait for them.
func warnUnreachable(lc fx.Lifecycle, cfg *config.Config, limiter limit.Limiter, queue task.Queue, log *slog.Logger) {
	check := func(key, url, fallback string, adapter any) {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()

		if err := pingOf(adapter)(ctx); err != nil {
			log.Warn("adapter is unreachable; "+fallback, "key", key, "host", config.Hosts(url), "error", err)
		}
	}

	lc.Append(fx.Hook{OnStart: func(context.Context) error {
		go check("limiter.url", cfg.Limiter.URL, "limits are counted in this process only", limiter)
		go check("queue.url", cfg.Queue.URL, "tasks wait in the database", queue)
		return nil
	}})
}

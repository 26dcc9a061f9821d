package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/migrations"
)

// Schema manages the tables; it implements adapters.Schema.
type Schema struct{ *DB }

// Embedded implements adapters.Schema: a SQLite file belongs to one server.
func (s Schema) Embedded() bool { return s.dialect.Embedded() }

// dialectFiles are the migrations as the dialect reads them.
func dialectFiles(d Dialect) (fs.FS, error) {
	out := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base, special := strings.CutSuffix(name, ".sqlite.sql")
		target := name
		if special {
			if d.Name() != "sqlite" {
				continue
			}
			target = base + ".sql"
		} else if _, taken := out[target]; taken {
			continue // the dialect's own file came first
		}
		body, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			return nil, err
		}
		out[target] = &fstest.MapFile{Data: d.Migration(body)}
	}
	return out, nil
}

// migrationPool returns the connections for migrations. For SQLite it is one of its
// own: goose writes timestamps in SQLite's format, which the others do not read.
func (s Schema) migrationPool() (pool *sql.DB, done func() error, err error) {
	if _, ok := s.dialect.(SQLite); ok {
		pool, err = openSQLite(sqlitePath(s.url), "", 1)
		return pool, func() error { return pool.Close() }, err
	}
	if s.direct == nil {
		return s.sql, func() error { return nil }, nil
	}
	return s.direct, func() error { return nil }, nil
}

// with runs fn with a provider of goose.
func (s Schema) with(fn func(*goose.Provider) error) (err error) {
	files, err := dialectFiles(s.dialect)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	locker, err := s.dialect.MigrationLock()
	if err != nil {
		return err
	}
	if locker != nil {
		options = append(options, goose.WithSessionLocker(locker))
	}
	pool, done, err := s.migrationPool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	p, err := goose.NewProvider(s.dialect.Migrations(), pool, files, options...)
	if err != nil {
		return err
	}
	return wrap(markUnavailable(s.dialect, fn(p)))
}

// errNoDirectURL is the error of migrations behind a transaction pooler, which gives
// the lock of one process to all.
var errNoDirectURL = errors.New("migrations do not work behind a transaction pooler; set database.direct_url")

// Up implements adapters.Schema.
func (s Schema) Up(ctx context.Context) (names []string, err error) {
	if s.direct == nil {
		return nil, errNoDirectURL
	}
	err = s.with(func(p *goose.Provider) error {
		results, err := p.Up(ctx)
		for _, r := range results {
			names = append(names, r.Source.Path)
		}
		return err
	})
	return names, err
}

// Down implements adapters.Schema.
func (s Schema) Down(ctx context.Context) (name string, err error) {
	if s.direct == nil {
		return "", errNoDirectURL
	}
	err = s.with(func(p *goose.Provider) error {
		r, err := p.Down(ctx)
		if err == nil {
			name = r.Source.Path
		}
		return err
	})
	return name, err
}

// Status implements adapters.Schema.
func (s Schema) Status(ctx context.Context) (out []adapters.SchemaStep, err error) {
	err = s.with(func(p *goose.Provider) error {
		steps, err := p.Status(ctx)
		for _, step := range steps {
			out = append(out, adapters.SchemaStep{Version: step.Source.Version, Name: step.Source.Path, Applied: step.State == goose.StateApplied})
		}
		return err
	})
	return out, err
}

// Check implements adapters.Schema.
func (s Schema) Check(ctx context.Context) error {
	return s.with(func(p *goose.Provider) error {
		have, want, err := p.GetVersions(ctx)
		switch {
		case err != nil:
			return err
		case have < want:
			return fmt.Errorf("the schema is at version %d and this binary needs %d; run `locum migrate up`", have, want)
		case have > want:
			return fmt.Errorf("the schema is at version %d and this binary knows only %d; run a newer locum, or that one's `locum migrate down`", have, want)
		}
		steps, err := p.Status(ctx)
		for _, step := range steps {
			if err == nil && step.State != goose.StateApplied {
				err = fmt.Errorf("the schema is at version %d without step %s, which is older; steps are applied in their order, so restore a backup or revert the later ones with `locum migrate down`", have, step.Source.Path)
			}
		}
		return err
	})
}

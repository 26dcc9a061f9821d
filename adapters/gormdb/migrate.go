package gormdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/migrations"
)

// Schema manages the tables; it implements adapters.Schema.
type Schema struct{ *DB }

// Embedded implements adapters.Schema: a SQLite file belongs to one server.
func (s Schema) Embedded() bool { return !s.pg() }

// dialectFiles are the migrations as the dialect reads them.
func dialectFiles(d dialect) (fs.FS, error) {
	out := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base, special := strings.CutSuffix(name, ".sqlite.sql")
		target := name
		if special {
			if d != sqlite {
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
		out[target] = &fstest.MapFile{Data: d.rewrite(body)}
	}
	return out, nil
}

// with runs fn on a goose provider. On SQLite it gets a connection of its own:
// goose writes moments in SQLite's form, which ours do not read.
func (s Schema) with(fn func(*goose.Provider) error) (err error) {
	files, err := dialectFiles(s.dialect)
	if err != nil {
		return err
	}
	pool, options := s.sql, []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if s.pg() {
		// Of several starters one migrates and the others wait for it.
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	} else {
		if pool, err = openSQLite(s.path, "", 1); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pool.Close()) }()
	}
	p, err := goose.NewProvider(s.dialect.goose(), pool, files, options...)
	if err != nil {
		return err
	}
	return wrap(fn(p))
}

// Up implements adapters.Schema.
func (s Schema) Up(ctx context.Context) (names []string, err error) {
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

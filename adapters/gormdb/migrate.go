package gormdb

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/locumhq/locum/migrations"
)

// MigrationStatus is one numbered step of the schema.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

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

func (db *DB) provider() (*goose.Provider, error) {
	files, err := dialectFiles(db.dialect)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if db.pg() {
		// Of several starters one migrates and the others wait for it.
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(db.dialect.goose(), db.sql, files, options...)
}

// MigrateUp brings the schema to the newest version and names what it applied.
func (db *DB) MigrateUp(ctx context.Context) ([]string, error) {
	p, err := db.provider()
	if err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	var names []string
	for _, r := range results {
		names = append(names, r.Source.Path)
	}
	return names, err
}

// MigrateDown takes the newest version back and names it.
func (db *DB) MigrateDown(ctx context.Context) (string, error) {
	p, err := db.provider()
	if err != nil {
		return "", err
	}
	r, err := p.Down(ctx)
	if err != nil {
		return "", err
	}
	return r.Source.Path, nil
}

// MigrationStatus lists the versions that this binary knows.
func (db *DB) MigrationStatus(ctx context.Context) ([]MigrationStatus, error) {
	p, err := db.provider()
	if err != nil {
		return nil, err
	}
	steps, err := p.Status(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]MigrationStatus, len(steps))
	for i, s := range steps {
		out[i] = MigrationStatus{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied}
	}
	return out, nil
}

// CheckSchema is nil when the schema is the one that this binary was built
// for, and says otherwise which of the two is behind.
func (db *DB) CheckSchema(ctx context.Context) error {
	p, err := db.provider()
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return wrap(err)
	case have < want:
		return fmt.Errorf("the database's schema is at version %d and this binary needs %d: run `locum migrate up`", have, want)
	case have > want:
		return fmt.Errorf("the database's schema is at version %d and this binary knows only %d: run a newer locum, or the newer one's `locum migrate down`", have, want)
	}
	return nil
}

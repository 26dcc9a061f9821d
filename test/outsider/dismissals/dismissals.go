// Package dismissals replaces one repository of gormdb: the dismissals of jobseeker are in
// a table of this package, in the database and the transactions of the other repositories.
// Register Open with bootstrap.WithModuleStorage("jobseeker", …). The SQL of its table is
// for SQLite and Postgres.
package dismissals

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Open opens the storage of jobseeker in the database of the URL, which begins with own+.
func Open(ctx context.Context, url string, d adapters.Deps) (adapters.Storage, error) {
	s, err := gormdb.Open(ctx, strings.TrimPrefix(url, "own+"), d)
	if err != nil {
		return s, err
	}

	// Replace the repository, and extend the two ports of gormdb that do not know its table.
	j := &s.Jobseeker
	j.Dismissals, j.PersonalData = Dismissals{j.Tx}, PersonalData{j.PersonalData, j.Tx}
	j.Schema = Schema{j.Schema, j.Tx}

	return s, nil
}

// Dismissals implements jobseeker.Dismissals.
type Dismissals struct{ tx tx.Runner }

type dismissal struct {
	UserID, ListingID string
	DismissedAt       time.Time
}

// TableName implements schema.Tabler.
func (dismissal) TableName() string { return "own_dismissals" }

// inTx runs fn in the transaction of ctx, or in one of its own.
func inTx(ctx context.Context, r tx.Runner, fn func(q *gorm.DB) error) error {
	return r.Do(ctx, func(ctx context.Context) error {
		q, err := gormdb.Conn(ctx)
		if err != nil {
			return err
		}

		return fn(q)
	})
}

// Create implements jobseeker.Dismissals. It deletes the oldest dismissals of the user that exceed the limit.
func (d Dismissals) Create(ctx context.Context, userID, listingID string, at time.Time, limit int) error {
	return inTx(ctx, d.tx, func(q *gorm.DB) error {
		row := dismissal{UserID: userID, ListingID: listingID, DismissedAt: at}
		if err := q.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}

		var excess []string // ids of listings

		err := q.Model(&dismissal{}).
			Where("user_id = ?", userID).
			Order("dismissed_at DESC, listing_id DESC").
			Limit(1_000).
			Offset(limit).
			Pluck("listing_id", &excess).
			Error
		if err != nil || len(excess) == 0 {
			return err
		}

		return q.Where("user_id = ? AND listing_id IN ?", userID, excess).Delete(&dismissal{}).Error
	})
}

// ListByListings implements jobseeker.Dismissals.
func (d Dismissals) ListByListings(
	ctx context.Context, userID string, listingIDs []string,
) (found []string, err error) {
	err = inTx(ctx, d.tx, func(q *gorm.DB) error {
		return q.Model(&dismissal{}).Where("user_id = ? AND listing_id IN ?", userID, listingIDs).Pluck("listing_id",
			&found).Error
	})

	return found, err
}

// PersonalData is the one of gormdb, which does not know the table of this package.
type PersonalData struct {
	jobseeker.PersonalData
	tx tx.Runner
}

// DeleteByUser implements jobseeker.PersonalData.
func (p PersonalData) DeleteByUser(ctx context.Context, userID string, now time.Time) error {
	return p.tx.Do(ctx, func(ctx context.Context) error {
		if err := p.PersonalData.DeleteByUser(ctx, userID, now); err != nil {
			return err
		}

		return inTx(ctx, p.tx,
			func(q *gorm.DB) error { return q.Where("user_id = ?", userID).Delete(&dismissal{}).Error })
	})
}

// Schema is the schema of gormdb with the table of this package.
type Schema struct {
	adapters.Schema
	tx tx.Runner
}

const (
	// step is the name of the migration that creates the table.
	step   = "own/dismissals"
	create = `CREATE TABLE IF NOT EXISTS own_dismissals (user_id VARCHAR(36) NOT NULL, listing_id VARCHAR(36) NOT NULL,
		dismissed_at TIMESTAMP NOT NULL, PRIMARY KEY (user_id, listing_id))`
)

// exists reports whether the table of this package exists, that is whether its migration was applied.
func (s Schema) exists(ctx context.Context) (exists bool, err error) {
	err = inTx(ctx, s.tx, func(q *gorm.DB) error { exists = q.Migrator().HasTable(&dismissal{}); return nil })
	return exists, err
}

// Check implements adapters.Schema.
func (s Schema) Check(ctx context.Context) error {
	if err := s.Schema.Check(ctx); err != nil {
		return err
	}

	exists, err := s.exists(ctx)
	if err == nil && !exists {
		err = errors.New("the table own_dismissals is missing; run `locum migrate up`")
	}

	return err
}

// Up implements adapters.Schema.
func (s Schema) Up(ctx context.Context) ([]string, error) {
	applied, err := s.Schema.Up(ctx)
	if err != nil {
		return applied, err
	}

	if exists, err := s.exists(ctx); exists || err != nil {
		return applied, err
	}

	err = inTx(ctx, s.tx, func(q *gorm.DB) error { return q.Exec(create).Error })

	return append(applied, step), err
}

// Down implements adapters.Schema. The migration of this package is the last one, so it is reverted first.
func (s Schema) Down(ctx context.Context) (string, error) {
	exists, err := s.exists(ctx)
	if err != nil {
		return "", err
	}

	if !exists {
		return s.Schema.Down(ctx)
	}

	return step, inTx(ctx, s.tx, func(q *gorm.DB) error { return q.Migrator().DropTable(&dismissal{}) })
}

// Status implements adapters.Schema.
func (s Schema) Status(ctx context.Context) ([]adapters.SchemaStep, error) {
	steps, err := s.Schema.Status(ctx)
	if err != nil {
		return nil, err
	}

	exists, err := s.exists(ctx)

	return append(slices.Clip(steps), adapters.SchemaStep{Name: step, Applied: exists}), err
}

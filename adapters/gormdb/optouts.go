package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm/clause"
)

// OptOuts implements identity.OptOuts.
type OptOuts struct{ *DB }

type optOutRow struct {
	Mailbox   string
	CreatedAt time.Time
}

// TableName returns the table's name.
func (optOutRow) TableName() string { return "invitation_opt_outs" }

// Create implements identity.OptOuts.
func (d OptOuts) Create(ctx context.Context, mailbox string, at time.Time) error {
	return wrap(d.q(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&optOutRow{mailbox, at}).Error)
}

// Exists implements identity.OptOuts.
func (d OptOuts) Exists(ctx context.Context, mailbox string) (bool, error) {
	var n int64
	err := d.q(ctx).Model(&optOutRow{}).Where("mailbox = ?", mailbox).Count(&n).Error
	return n > 0, wrap(err)
}

package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/jobseeker"
)

// Onboardings stores how far visitors have come.
type Onboardings struct{ *DB }

type onboardingRow struct {
	VisitorKind string
	Visitor     string
	Email       string
	Source      string
	Preferences string
	Steps       string
	TouchedAt   time.Time
	Version     int64
}

// TableName tells GORM the table.
func (onboardingRow) TableName() string { return "onboardings" }

// visitorKey is how the visitor is named in the table.
func visitorKey(v jobseeker.Visitor) (kind, visitor string) {
	if v.UserID != "" {
		return "user", v.UserID
	}
	return "guest", v.GuestKey
}

// Find implements jobseeker.Onboardings.
func (d Onboardings) Find(ctx context.Context, v jobseeker.Visitor) (jobseeker.Onboarding, error) {
	kind, visitor := visitorKey(v)
	var rows []onboardingRow
	if err := d.locked(ctx).Where("visitor_kind = ? AND visitor = ?", kind, visitor).Limit(1).Find(&rows).Error; err != nil {
		return jobseeker.Onboarding{}, wrap(err)
	}
	o := jobseeker.Onboarding{Visitor: v}
	if len(rows) == 0 {
		return o, nil
	}
	r := rows[0]
	o.Email, o.Source, o.Preferences, o.TouchedAt, o.Version = r.Email, r.Source, r.Preferences, r.TouchedAt, r.Version
	return o, json.Unmarshal([]byte(r.Steps), &o.Steps)
}

// Lock implements jobseeker.Onboardings.
func (d Onboardings) Lock(ctx context.Context, v jobseeker.Visitor) (jobseeker.Onboarding, error) {
	kind, visitor := visitorKey(v)
	fresh := onboardingRow{VisitorKind: kind, Visitor: visitor, Steps: "[]", TouchedAt: d.clock.Now(), Version: 1}
	if err := d.q(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&fresh).Error; err != nil {
		return jobseeker.Onboarding{}, wrap(err)
	}
	return d.Find(ctx, v)
}

// Save implements jobseeker.Onboardings.
func (d Onboardings) Save(ctx context.Context, o jobseeker.Onboarding) error {
	steps, err := toJSON(orEmpty(o.Steps))
	if err != nil {
		return err
	}
	kind, visitor := visitorKey(o.Visitor)
	return saved(d.q(ctx).Exec(`UPDATE onboardings SET email = ?, source = ?, preferences = ?, steps = ?, touched_at = ?, version = version + 1
		WHERE visitor_kind = ? AND visitor = ? AND version = ?`,
		o.Email, o.Source, o.Preferences, string(steps), o.TouchedAt, kind, visitor, o.Version))
}

// Delete implements jobseeker.Onboardings.
func (d Onboardings) Delete(ctx context.Context, v jobseeker.Visitor) error {
	kind, visitor := visitorKey(v)
	return wrap(d.q(ctx).Exec("DELETE FROM onboardings WHERE visitor_kind = ? AND visitor = ?", kind, visitor).Error)
}

// Forget implements jobseeker.Onboardings.
func (d Onboardings) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec(`DELETE FROM onboardings WHERE visitor_kind = 'guest' AND visitor IN
		(SELECT visitor FROM onboardings WHERE visitor_kind = 'guest' AND touched_at < ? ORDER BY touched_at LIMIT ?)`, before, n)
	return int(res.RowsAffected), wrap(res.Error)
}

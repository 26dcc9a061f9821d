package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/jobseeker"
)

// Onboardings implements jobseeker.Onboardings.
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

// TableName implements schema.Tabler.
func (onboardingRow) TableName() string { return "onboardings" }

// The values of onboardingRow.VisitorKind.
const (
	userVisitor  = "user"
	guestVisitor = "guest"
)

// visitorKey returns the primary key of the visitor.
func visitorKey(v jobseeker.Visitor) (kind, visitor string) {
	if v.UserID != "" {
		return userVisitor, v.UserID
	}
	return guestVisitor, v.GuestKey
}

// Get implements jobseeker.Onboardings.
func (d Onboardings) Get(ctx context.Context, v jobseeker.Visitor) (jobseeker.Onboarding, error) {
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

// Upsert implements jobseeker.Onboardings.
func (d Onboardings) Upsert(ctx context.Context, o jobseeker.Onboarding) error {
	kind, visitor := visitorKey(o.Visitor)
	stored := func() *gorm.DB {
		return d.q(ctx).Model(&onboardingRow{}).Where("visitor_kind = ? AND visitor = ? AND version = ?", kind, visitor, o.Version)
	}
	if o.IsEmpty() {
		if o.Version == 0 {
			return nil
		}
		return saved(stored().Delete(&onboardingRow{}))
	}
	steps, err := toJSON(orEmpty(o.Steps))
	if err != nil {
		return err
	}
	if o.Version == 0 {
		return saved(createNew(d.q(ctx), &onboardingRow{VisitorKind: kind, Visitor: visitor,
			Email: o.Email, Source: o.Source, Preferences: o.Preferences, Steps: string(steps), TouchedAt: o.TouchedAt, Version: 1}, "visitor_kind", "visitor"))
	}
	return saved(stored().Updates(map[string]any{"email": o.Email, "source": o.Source, "preferences": o.Preferences, "steps": string(steps),
		"touched_at": o.TouchedAt, "version": o.Version + 1}))
}

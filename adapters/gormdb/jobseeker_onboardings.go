package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/jobseeker"
)

// onboardings implements jobseeker.Onboardings.
type onboardings struct{ *DB }

type onboardingRow struct {
	VisitorKind string
	Visitor     string
	Email       string
	Source      string
	Preferences string
	Steps       []jobseeker.Progress `gorm:"serializer:json_column"`
	TouchedAt   time.Time
	Version     int64
}

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
func (d onboardings) Get(ctx context.Context, v jobseeker.Visitor) (jobseeker.Onboarding, error) {
	kind, visitor := visitorKey(v)
	r, err := take[onboardingRow](d.locked(ctx).Where("visitor_kind = ? AND visitor = ?", kind, visitor), nil)
	return jobseeker.Onboarding{Visitor: v, Email: r.Email, Source: r.Source, Preferences: r.Preferences, Steps: r.Steps, TouchedAt: r.TouchedAt, Version: r.Version}, err
}

// Upsert implements jobseeker.Onboardings.
func (d onboardings) Upsert(ctx context.Context, o jobseeker.Onboarding) error {
	kind, visitor := visitorKey(o.Visitor)
	stored := func() *gorm.DB {
		return d.q(ctx).Model(&onboardingRow{}).Where("visitor_kind = ? AND visitor = ? AND version = ?", kind, visitor, o.Version)
	}
	r := onboardingRow{VisitorKind: kind, Visitor: visitor, Email: o.Email, Source: o.Source, Preferences: o.Preferences, Steps: o.Steps, TouchedAt: o.TouchedAt, Version: o.Version + 1}
	switch {
	case o.IsEmpty() && o.Version == 0:
		return nil
	case o.IsEmpty():
		return one(stored().Delete(&onboardingRow{}), errStale)
	case o.Version == 0:
		return one(createNew(d.q(ctx), &r, "visitor_kind", "visitor"), errStale)
	}
	return updateVersion(stored(), &r, "visitor_kind", "visitor")
}

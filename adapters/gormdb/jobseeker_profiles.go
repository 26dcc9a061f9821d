package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/jobseeker"
)

// profiles implements jobseeker.Profiles.
type profiles struct{ *DB }

// profileRow contains the columns of seekers that belong to the profile.
type profileRow struct {
	UserID             string
	FirstName          string
	LastName           string
	Bio                string
	Phone              string
	Location           string
	Specialty          string
	CurrentRole        string `gorm:"column:job_role"`
	Experience         string
	PreferredLocation  string
	LocationRadius     int
	EmploymentTypes    []string `gorm:"serializer:json_column"`
	SalaryMin          *float64
	SalaryMax          *float64
	JobAlerts          bool
	EmailNotifications bool
	ShowProfile        bool
	Number             int64
}

// TableName implements schema.Tabler.
func (profileRow) TableName() string { return "seekers" }

// seekerRow contains the columns of seekers that have no default.
type seekerRow struct {
	UserID            string
	PreferredLocation string
	EmploymentTypes   string
	DigestAfter       time.Time
	DigestWaiting     bool
}

// Get implements jobseeker.Profiles. A profile that is not stored cannot be locked, so
// it stores one.
func (d profiles) Get(ctx context.Context, userID string) (jobseeker.Profile, error) {
	if d.currentTx(ctx) != nil {
		empty := seekerRow{UserID: userID, EmploymentTypes: "[]", DigestAfter: d.clock.Now()}
		if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"user_id"})).Create(&empty).Error; err != nil {
			return jobseeker.Profile{}, wrap(err)
		}
	}

	r, err := takeRowIfAny[profileRow](d.locked(ctx).Where("user_id = ?", userID))
	if err == nil && r.UserID == "" {
		return jobseeker.NewProfile(userID), nil
	}

	return jobseeker.Profile(r), err
}

// Update implements jobseeker.Profiles.
func (d profiles) Update(ctx context.Context, p jobseeker.Profile) error {
	return d.Do(ctx, func(ctx context.Context) (err error) {
		r := profileRow(p)
		if r.Number == 0 {
			if r.Number, err = d.nextNumber(ctx); err != nil {
				return err
			}
		}

		return updateVersion(d.conn(ctx).Model(&profileRow{}).Where("user_id = ?", p.UserID), &r, except{"user_id"})
	})
}

// numberRow is the last number that was assigned.
type numberRow struct {
	Name string
	Last int64
}

// nextNumber returns the next number of a profile, from a counter in the table numbers.
func (d profiles) nextNumber(ctx context.Context) (int64, error) {
	rows, err := updateReturning[numberRow](
		d.conn(ctx).Where("name = ?", "seekers"),
		"name",
		map[string]any{"last": gorm.Expr("last + 1")},
		"last",
	)
	if err != nil {
		return 0, err
	}

	if len(rows) == 0 {
		return 0, errors.New("the table numbers has no row for seekers")
	}

	return rows[0].Last, nil
}

// onboardings implements jobseeker.Onboardings.
type onboardings struct{ *DB }

// onboardingRow is the progress of a visitor, a user or a guest, through the first steps on the site.
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
	r, err := takeRowIfAny[onboardingRow](d.locked(ctx).Where("visitor_kind = ? AND visitor = ?", kind, visitor))

	return jobseeker.Onboarding{
		Visitor:     v,
		Email:       r.Email,
		Source:      r.Source,
		Preferences: r.Preferences,
		Steps:       r.Steps,
		TouchedAt:   r.TouchedAt,
		Version:     r.Version,
	}, err
}

// Upsert implements jobseeker.Onboardings.
func (d onboardings) Upsert(ctx context.Context, o jobseeker.Onboarding) error {
	kind, visitor := visitorKey(o.Visitor)
	stored := func() *gorm.DB {
		return d.conn(ctx).Model(&onboardingRow{}).Where("visitor_kind = ? AND visitor = ? AND version = ?", kind, visitor, o.Version)
	}

	r := onboardingRow{
		VisitorKind: kind,
		Visitor:     visitor,
		Email:       o.Email,
		Source:      o.Source,
		Preferences: o.Preferences,
		Steps:       o.Steps,
		TouchedAt:   o.TouchedAt,
		Version:     o.Version + 1,
	}
	switch {
	case o.IsEmpty() && o.Version == 0: // there is no row
		return nil
	case o.IsEmpty():
		return requireRow(stored().Delete(&onboardingRow{}), errStale)
	case o.Version == 0:
		return requireRow(createIfAbsent(d.conn(ctx), &r, "visitor_kind", "visitor"), errStale)
	}

	return updateVersion(stored(), &r, except{"visitor_kind", "visitor"})
}

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

// profileRow contains the columns of the table seekers that belong to the profile of a jobseeker.
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
	Number             int64 // identifies the account in conversations; 0 until it is assigned
}

// TableName implements schema.Tabler.
func (profileRow) TableName() string { return "seekers" }

// seekerRow contains the columns of the table seekers that have no default. With them, a row can be created
// that has no profile yet.
type seekerRow struct {
	UserID            string
	PreferredLocation string
	EmploymentTypes   string
	// A digest is an e-mail with new jobs for the user's searches. If DigestWaiting is set, the
	// next one is sent after DigestAfter.
	DigestAfter   time.Time
	DigestWaiting bool
}

// Get implements jobseeker.Profiles. Inside a transaction, it locks the row until the end, and first creates it
// if there is none. Outside of a transaction, it returns a new profile if there is no row.
func (d profiles) Get(ctx context.Context, userID string) (jobseeker.Profile, error) {
	if locksRow := d.currentTx(ctx) != nil; locksRow {
		empty := seekerRow{UserID: userID, EmploymentTypes: "[]", DigestAfter: d.clock.Now()}
		if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"user_id"})).Create(&empty).Error; err != nil {
			return jobseeker.Profile{}, wrap(err)
		}
	}

	row, err := takeRowIfAny[profileRow](d.locked(ctx).Where("user_id = ?", userID))

	isAbsent := err == nil && row.UserID == ""
	if isAbsent {
		return jobseeker.NewProfile(userID), nil
	}

	return jobseeker.Profile(row), err
}

// Update implements jobseeker.Profiles. It gives a profile without a number the next one.
func (d profiles) Update(ctx context.Context, p jobseeker.Profile) error {
	return d.Do(ctx, func(ctx context.Context) (err error) {
		row := profileRow(p)
		if row.Number == 0 {
			if row.Number, err = d.nextNumber(ctx); err != nil {
				return err
			}
		}

		return updateVersion(d.conn(ctx).Model(&profileRow{}).Where("user_id = ?", p.UserID), &row, except{"user_id"})
	})
}

// numberRow is a counter in the table numbers, with the last number that was assigned.
type numberRow struct {
	Name string
	Last int64
}

// nextNumber increments the counter of profiles and returns the new number.
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

// onboardingRow is the progress of a visitor through the first steps on the site. A visitor is a user or a
// guest, who has no account.
type onboardingRow struct {
	VisitorKind string
	Visitor     string // the id of the user, or the key of the guest
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

// visitorKey returns the primary key of the visitor's row.
func visitorKey(v jobseeker.Visitor) (kind, visitor string) {
	if v.UserID != "" {
		return userVisitor, v.UserID
	}

	return guestVisitor, v.GuestKey
}

// Get implements jobseeker.Onboardings. Without a row, it returns an empty onboarding with the version 0.
func (d onboardings) Get(ctx context.Context, v jobseeker.Visitor) (jobseeker.Onboarding, error) {
	kind, visitor := visitorKey(v)
	row, err := takeRowIfAny[onboardingRow](d.locked(ctx).Where("visitor_kind = ? AND visitor = ?", kind, visitor))

	return jobseeker.Onboarding{
		Visitor:     v,
		Email:       row.Email,
		Source:      row.Source,
		Preferences: row.Preferences,
		Steps:       row.Steps,
		TouchedAt:   row.TouchedAt,
		Version:     row.Version,
	}, err
}

// Upsert implements jobseeker.Onboardings. An empty onboarding has no row. Upsert returns errStale if another
// transaction has changed, created or deleted the row since it was read.
func (d onboardings) Upsert(ctx context.Context, o jobseeker.Onboarding) error {
	kind, visitor := visitorKey(o.Visitor)
	previous := func() *gorm.DB {
		return d.conn(ctx).Model(&onboardingRow{}).Where("visitor_kind = ? AND visitor = ? AND version = ?", kind, visitor, o.Version)
	}

	row := onboardingRow{
		VisitorKind: kind,
		Visitor:     visitor,
		Email:       o.Email,
		Source:      o.Source,
		Preferences: o.Preferences,
		Steps:       o.Steps,
		TouchedAt:   o.TouchedAt,
		Version:     o.Version + 1,
	}
	hasRow := o.Version > 0

	switch {
	case o.IsEmpty() && !hasRow:
		return nil
	case o.IsEmpty():
		return requireRow(previous().Delete(&onboardingRow{}), errStale)
	case !hasRow:
		return requireRow(createIfAbsent(d.conn(ctx), &row, "visitor_kind", "visitor"), errStale)
	}

	return updateVersion(previous(), &row, except{"visitor_kind", "visitor"})
}

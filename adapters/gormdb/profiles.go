package gormdb

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/jobseeker"
)

// Profiles implements jobseeker.Profiles.
type Profiles struct{ *DB }

// profileRow has the columns of seekers that belong to the profile.
type profileRow struct {
	UserID             string `gorm:"primaryKey"`
	FirstName          string
	LastName           string
	Bio                string
	Phone              string
	Location           string
	Specialty          string
	JobRole            string
	Experience         string
	PreferredLocation  string
	LocationRadius     int
	EmploymentTypes    string
	SalaryMin          *float64
	SalaryMax          *float64
	JobAlerts          bool
	EmailNotifications bool
	ShowProfile        bool
	Number             *int64
}

// TableName implements schema.Tabler.
func (profileRow) TableName() string { return "seekers" }

// seekerRow has the columns of seekers that have no default.
type seekerRow struct {
	UserID            string
	PreferredLocation string
	EmploymentTypes   string
	DigestAfter       time.Time
	DigestWaiting     bool
}

// TableName implements schema.Tabler.
func (seekerRow) TableName() string { return "seekers" }

// Get implements jobseeker.Profiles. A profile that is not stored cannot be locked, so
// it stores one.
func (d Profiles) Get(ctx context.Context, userID string) (jobseeker.Profile, error) {
	if d.current(ctx) != nil {
		empty := seekerRow{UserID: userID, EmploymentTypes: "[]", DigestAfter: d.clock.Now()}
		if err := d.q(ctx).Clauses(onConflict([]string{"user_id"})).Create(&empty).Error; err != nil {
			return jobseeker.Profile{}, wrap(err)
		}
	}
	var rows []profileRow
	if err := d.locked(ctx).Where("user_id = ?", userID).Limit(1).Find(&rows).Error; err != nil {
		return jobseeker.Profile{}, wrap(err)
	}
	if len(rows) == 0 {
		return jobseeker.NewProfile(userID), nil
	}
	return rows[0].profile()
}

func (r profileRow) profile() (jobseeker.Profile, error) {
	p := jobseeker.Profile{
		UserID: r.UserID, FirstName: r.FirstName, LastName: r.LastName, Bio: r.Bio, Phone: r.Phone, Location: r.Location,
		Specialty: r.Specialty, CurrentRole: r.JobRole, Experience: r.Experience,
		PreferredLocation: r.PreferredLocation, LocationRadius: r.LocationRadius, SalaryMin: r.SalaryMin, SalaryMax: r.SalaryMax,
		JobAlerts: r.JobAlerts, EmailNotifications: r.EmailNotifications, ShowProfile: r.ShowProfile,
	}
	if r.Number != nil {
		p.Number = *r.Number
	}
	if r.EmploymentTypes == "[]" {
		return p, nil
	}
	return p, json.Unmarshal([]byte(r.EmploymentTypes), &p.EmploymentTypes)
}

// Update implements jobseeker.Profiles.
func (d Profiles) Update(ctx context.Context, p jobseeker.Profile) error {
	types, err := toJSON(orEmpty(p.EmploymentTypes))
	if err != nil {
		return err
	}
	number := p.Number
	r := profileRow{
		UserID: p.UserID, FirstName: p.FirstName, LastName: p.LastName, Bio: p.Bio, Phone: p.Phone, Location: p.Location,
		Specialty: p.Specialty, JobRole: p.CurrentRole, Experience: p.Experience,
		PreferredLocation: p.PreferredLocation, LocationRadius: p.LocationRadius, EmploymentTypes: string(types), SalaryMin: p.SalaryMin, SalaryMax: p.SalaryMax,
		JobAlerts: p.JobAlerts, EmailNotifications: p.EmailNotifications, ShowProfile: p.ShowProfile, Number: &number,
	}
	return d.Do(ctx, func(ctx context.Context) error {
		if p.Number == 0 {
			var err error
			if number, err = d.nextNumber(ctx); err != nil {
				return err
			}
		}
		return saved(d.q(ctx).Select("*").Omit("user_id").Where("user_id = ?", p.UserID).Updates(&r))
	})
}

// numberRow is the last number that was assigned.
type numberRow struct {
	Name string
	Last int64
}

// TableName implements schema.Tabler.
func (numberRow) TableName() string { return "numbers" }

func (d Profiles) nextNumber(ctx context.Context) (int64, error) {
	rows, err := updateReturning[numberRow](d.q(ctx).Where("name = ?", "seekers"), "name", map[string]any{"last": gorm.Expr("last + 1")}, "last")
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, errors.New("the table numbers has no row for seekers")
	}
	return rows[0].Last, nil
}

package gormdb

import (
	"context"
	"encoding/json"

	"github.com/locumhq/locum/modules/jobseeker"
)

// Profiles stores what users say of themselves.
type Profiles struct{ *DB }

// profileRow is the part of a seeker that the user writes.
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
}

// TableName tells GORM the table.
func (profileRow) TableName() string { return "seekers" }

// Lock implements jobseeker.Profiles.
func (d Profiles) Lock(ctx context.Context, userID string) error {
	err := d.q(ctx).Exec(`INSERT INTO seekers (user_id, preferred_location, employment_types, digest_after, digest_waiting)
		VALUES (?, '', '[]', ?, FALSE) ON CONFLICT (user_id) DO NOTHING`, userID, d.clock.Now()).Error
	if err != nil {
		return wrap(err)
	}
	var id string
	return wrap(d.locked(ctx).Table("seekers").Select("user_id").Where("user_id = ?", userID).Scan(&id).Error)
}

// Find implements jobseeker.Profiles.
func (d Profiles) Find(ctx context.Context, userID string) (jobseeker.Profile, error) {
	var rows []profileRow
	if err := d.q(ctx).Where("user_id = ?", userID).Limit(1).Find(&rows).Error; err != nil {
		return jobseeker.Profile{}, wrap(err)
	}
	if len(rows) == 0 {
		return jobseeker.NewProfile(userID), nil
	}
	r := rows[0]
	p := jobseeker.Profile{
		UserID: r.UserID, FirstName: r.FirstName, LastName: r.LastName, Bio: r.Bio, Phone: r.Phone, Location: r.Location,
		Specialty: r.Specialty, CurrentRole: r.JobRole, Experience: r.Experience,
		PreferredLocation: r.PreferredLocation, LocationRadius: r.LocationRadius, SalaryMin: r.SalaryMin, SalaryMax: r.SalaryMax,
		JobAlerts: r.JobAlerts, EmailNotifications: r.EmailNotifications, ShowProfile: r.ShowProfile,
	}
	if r.EmploymentTypes == "[]" {
		return p, nil
	}
	return p, json.Unmarshal([]byte(r.EmploymentTypes), &p.EmploymentTypes)
}

// Save implements jobseeker.Profiles.
func (d Profiles) Save(ctx context.Context, p jobseeker.Profile) error {
	types, err := toJSON(orEmpty(p.EmploymentTypes))
	if err != nil {
		return err
	}
	r := profileRow{
		UserID: p.UserID, FirstName: p.FirstName, LastName: p.LastName, Bio: p.Bio, Phone: p.Phone, Location: p.Location,
		Specialty: p.Specialty, JobRole: p.CurrentRole, Experience: p.Experience,
		PreferredLocation: p.PreferredLocation, LocationRadius: p.LocationRadius, EmploymentTypes: string(types), SalaryMin: p.SalaryMin, SalaryMax: p.SalaryMax,
		JobAlerts: p.JobAlerts, EmailNotifications: p.EmailNotifications, ShowProfile: p.ShowProfile,
	}
	return saved(d.q(ctx).Select("*").Omit("user_id").Where("user_id = ?", p.UserID).Updates(&r))
}

// Number implements jobseeker.Profiles. It is given out when it is first asked
// for.
func (d Profiles) Number(ctx context.Context, userID string) (n int64, err error) {
	given := func(ctx context.Context) error {
		return wrap(d.q(ctx).Raw(`SELECT COALESCE(number, 0) FROM seekers WHERE user_id = ?`, userID).Scan(&n).Error)
	}
	if err := given(ctx); err != nil || n > 0 {
		return n, err
	}
	err = d.Do(ctx, func(ctx context.Context) error {
		if err := d.Lock(ctx, userID); err != nil {
			return err
		}
		if err := given(ctx); err != nil || n > 0 {
			return err
		}
		if err := d.q(ctx).Raw(`UPDATE numbers SET last = last + 1 WHERE name = 'seekers' RETURNING last`).Scan(&n).Error; err != nil {
			return wrap(err)
		}
		return wrap(d.q(ctx).Exec(`UPDATE seekers SET number = ? WHERE user_id = ?`, n, userID).Error)
	})
	return n, err
}

// Deaf implements jobseeker.Profiles.
func (d Profiles) Deaf(ctx context.Context, userIDs []string) (ids []string, err error) {
	err = d.q(ctx).Raw("SELECT user_id FROM seekers WHERE NOT job_alerts AND ?", d.dialect.In("user_id", userIDs)).Scan(&ids).Error
	return ids, wrap(err)
}

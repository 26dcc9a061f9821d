package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// Appointments stores interviews.
type Appointments struct{ *DB }

type interviewRow struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	ScheduledAt    time.Time
	Location       string
	Interviewer    string
	Notes          string
	Status         string
	Outcome        string
	Sequence       int
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	ChangedAt      time.Time
}

// TableName tells GORM the table.
func (interviewRow) TableName() string { return "interviews" }

func (r interviewRow) key() string { return r.ID }

func appointmentsOf(rows []interviewRow) []hiring.Appointment {
	out := make([]hiring.Appointment, len(rows))
	for i, r := range rows {
		out[i] = hiring.Appointment{ID: r.ID, ApplicationID: r.ApplicationID, OrganizationID: r.OrganizationID, ScheduledAt: r.ScheduledAt,
			Location: r.Location, Interviewer: r.Interviewer, Notes: r.Notes, Status: hiring.InterviewStatus(r.Status), Outcome: hiring.Outcome(r.Outcome),
			Sequence: r.Sequence, CreatedAt: r.CreatedAt, ChangedAt: r.ChangedAt}
	}
	return out
}

// Save implements hiring.Appointments.
func (d Appointments) Save(ctx context.Context, a hiring.Appointment) error {
	r := interviewRow{ID: a.ID, ApplicationID: a.ApplicationID, OrganizationID: a.OrganizationID, ScheduledAt: a.ScheduledAt,
		Location: a.Location, Interviewer: a.Interviewer, Notes: a.Notes, Status: string(a.Status), Outcome: string(a.Outcome),
		Sequence: a.Sequence, CreatedAt: a.CreatedAt, ChangedAt: a.ChangedAt}
	res := d.q(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "id"}},
		DoUpdates: clause.AssignmentColumns([]string{"scheduled_at", "location", "interviewer", "notes", "status", "outcome", "sequence", "changed_at"}),
		Where:     clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "interviews.organization_id = ?", Vars: []any{a.OrganizationID}}}},
	}).Create(&r)
	return saved(res)
}

// ForApplications implements hiring.Appointments.
func (d Appointments) ForApplications(ctx context.Context, organizationID string, applicationIDs []string) ([]hiring.Appointment, error) {
	var rows []interviewRow
	if err := d.q(ctx).Where("? AND organization_id = ?", d.dialect.In("application_id", applicationIDs), organizationID).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	return appointmentsOf(rows), nil
}

// Standing implements hiring.Appointments.
func (d Appointments) Standing(ctx context.Context, applicantID string, applicationIDs []string) ([]hiring.Appointment, error) {
	var rows []interviewRow
	err := d.q(ctx).Where("application_id IN (SELECT id FROM applications WHERE id IN ? AND applicant_id = ?) AND status = 'scheduled'", applicationIDs, applicantID).Find(&rows).Error
	return appointmentsOf(rows), wrap(err)
}

// Ahead implements hiring.Appointments.
func (d Appointments) Ahead(ctx context.Context, organizationID string, after time.Time, n int) ([]hiring.Appointment, error) {
	var rows []interviewRow
	err := d.locked(ctx).Where("organization_id = ? AND status = 'scheduled' AND scheduled_at > ?", organizationID, after).Order("id").Limit(n).Find(&rows).Error
	return appointmentsOf(rows), wrap(err)
}

// Page implements hiring.Appointments.
func (d Appointments) Page(ctx context.Context, organizationID string, status hiring.InterviewStatus, r page.Request) (out page.Result[hiring.Appointment], err error) {
	where, args := "organization_id = ?", []any{organizationID}
	if status != "" {
		where, args = where+" AND status = ?", append(args, string(status))
	}
	rows, out, err := pageOf[interviewRow, hiring.Appointment](ctx, d.DB, nil, r, where, args...)
	out.Items = appointmentsOf(rows)
	return out, err
}

// Letters stores what employers wrote to applicants.
type Letters struct{ *DB }

type letterRow struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	SenderID       string
	Subject        string
	Text           string
	SentAt         time.Time
}

// TableName tells GORM the table.
func (letterRow) TableName() string { return "application_letters" }

// Add implements hiring.Letters.
func (d Letters) Add(ctx context.Context, l hiring.Letter) error {
	return wrap(d.q(ctx).Create((*letterRow)(&l)).Error)
}

// Find implements hiring.Letters.
func (d Letters) Find(ctx context.Context, organizationID, id string) (hiring.Letter, error) {
	var r letterRow
	err := d.q(ctx).Where("id = ? AND organization_id = ?", id, organizationID).Take(&r).Error
	return hiring.Letter(r), orNotFound(err, hiring.ErrNotFound)
}

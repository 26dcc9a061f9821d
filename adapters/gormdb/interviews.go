package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// Appointments implements hiring.Appointments.
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

// TableName implements schema.Tabler.
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

// Upsert implements hiring.Appointments.
func (d Appointments) Upsert(ctx context.Context, a hiring.Appointment) error {
	r := interviewRow{ID: a.ID, ApplicationID: a.ApplicationID, OrganizationID: a.OrganizationID, ScheduledAt: a.ScheduledAt,
		Location: a.Location, Interviewer: a.Interviewer, Notes: a.Notes, Status: string(a.Status), Outcome: string(a.Outcome),
		Sequence: a.Sequence, CreatedAt: a.CreatedAt, ChangedAt: a.ChangedAt}
	res := d.q(ctx).Select("scheduled_at", "location", "interviewer", "notes", "status", "outcome", "sequence", "changed_at").
		Where("id = ? AND organization_id = ?", a.ID, a.OrganizationID).Updates(&r)
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}
	return wrap(d.q(ctx).Create(&r).Error)
}

// List implements hiring.Appointments.
func (d Appointments) List(ctx context.Context, organizationID string, f hiring.AppointmentFilter, r page.Request) (page.Result[hiring.Appointment], error) {
	rows, out, err := listOf[interviewRow, hiring.Appointment](ctx, d.DB, r, list{locked: true, where: func(q *gorm.DB) *gorm.DB {
		q = q.Where("organization_id = ?", organizationID)
		if len(f.ApplicationIDs) > 0 {
			q = q.Where("?", d.dialect.In("application_id", f.ApplicationIDs))
		}
		if f.Status != "" {
			q = q.Where("status = ?", string(f.Status))
		}
		if !f.ScheduledAfter.IsZero() {
			q = q.Where("scheduled_at > ?", f.ScheduledAfter)
		}
		return q
	}})
	out.Items = appointmentsOf(rows)
	return out, err
}

// ApplicantMessages implements hiring.Messages.
type ApplicantMessages struct{ *DB }

type applicantMessageRow struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	SenderID       string
	Subject        string
	Text           string
	SentAt         time.Time
}

// TableName implements schema.Tabler.
func (applicantMessageRow) TableName() string { return "application_letters" }

// Create implements hiring.Messages.
func (d ApplicantMessages) Create(ctx context.Context, m hiring.Message) error {
	return wrap(d.q(ctx).Create((*applicantMessageRow)(&m)).Error)
}

// Get implements hiring.Messages.
func (d ApplicantMessages) Get(ctx context.Context, organizationID, id string) (hiring.Message, error) {
	var r applicantMessageRow
	err := d.q(ctx).Where("id = ? AND organization_id = ?", id, organizationID).Take(&r).Error
	return hiring.Message(r), orNotFound(err, hiring.ErrNotFound)
}

package gormdb

import (
	"context"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// appointments implements hiring.Appointments.
type appointments struct{ *DB }

type interviewRow hiring.Appointment

// Upsert implements hiring.Appointments.
func (d appointments) Upsert(ctx context.Context, a hiring.Appointment) error {
	r := (*interviewRow)(&a)
	res := d.q(ctx).Select("scheduled_at", "location", "interviewer", "notes", "status", "outcome", "sequence", "changed_at").
		Where("id = ? AND organization_id = ?", a.ID, a.OrganizationID).Updates(r)
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}
	return wrap(d.q(ctx).Create(r).Error)
}

// List implements hiring.Appointments.
func (d appointments) List(ctx context.Context, organizationID string, f hiring.AppointmentFilter, r page.Request) (page.Result[hiring.Appointment], error) {
	return pageOf(ctx, d.DB, r, query{locked: true, where: func(q *gorm.DB) *gorm.DB {
		q = among(q.Where("organization_id = ?", organizationID), "application_id", f.ApplicationIDs)
		return optional(equal(q, "status", f.Status), "scheduled_at > ?", f.ScheduledAfter)
	}}, func(r interviewRow) hiring.Appointment { return hiring.Appointment(r) })
}

// applicantMessages implements hiring.Messages.
type applicantMessages struct{ *DB }

type applicantMessageRow hiring.Message

// TableName implements schema.Tabler.
func (applicantMessageRow) TableName() string { return "application_letters" }

// Create implements hiring.Messages.
func (d applicantMessages) Create(ctx context.Context, m hiring.Message) error {
	return wrap(d.q(ctx).Create((*applicantMessageRow)(&m)).Error)
}

// Get implements hiring.Messages.
func (d applicantMessages) Get(ctx context.Context, organizationID, id string) (hiring.Message, error) {
	r, err := take[applicantMessageRow](d.q(ctx).Where("id = ? AND organization_id = ?", id, organizationID), hiring.ErrNotFound)
	return hiring.Message(r), err
}

package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// Applications stores applications and their timelines.
type Applications struct{ *DB }

// applicationRow begins with what lists show; the long texts stay in the table.
type applicationRow struct {
	ID             string
	ListingID      string
	OrganizationID string
	ApplicantID    string
	Status         string
	Tracker        string
	TrackerColor   string
	CoverLetter    string
	ResumeURL      string `gorm:"column:resume_url"`
	Answers        string
	AppliedAt      time.Time
	ChangedAt      time.Time
	WithdrawnAt    *time.Time
}

// TableName tells GORM the table.
func (applicationRow) TableName() string { return "applications" }

func (r applicationRow) key() string { return r.ID }

var applicationListColumns = []string{"id", "listing_id", "organization_id", "applicant_id", "status", "tracker", "tracker_color",
	"applied_at", "changed_at", "withdrawn_at"}

func toApplicationRow(a hiring.Application) (applicationRow, error) {
	answers, err := json.Marshal(a.Answers)
	if a.Answers == nil {
		answers = []byte("[]")
	}
	return applicationRow{
		ID: a.ID, ListingID: a.ListingID, OrganizationID: a.OrganizationID, ApplicantID: a.ApplicantID, Status: string(a.Status),
		Tracker: string(a.Tracker), TrackerColor: a.TrackerColor, CoverLetter: a.CoverLetter, ResumeURL: a.ResumeURL, Answers: string(answers),
		AppliedAt: a.AppliedAt, ChangedAt: a.ChangedAt, WithdrawnAt: a.WithdrawnAt,
	}, err
}

func (r applicationRow) application() (hiring.Application, error) {
	a := hiring.Application{
		ID: r.ID, ListingID: r.ListingID, OrganizationID: r.OrganizationID, ApplicantID: r.ApplicantID, Status: hiring.Status(r.Status),
		Tracker: hiring.Status(r.Tracker), TrackerColor: r.TrackerColor, CoverLetter: r.CoverLetter, ResumeURL: r.ResumeURL,
		AppliedAt: r.AppliedAt, ChangedAt: r.ChangedAt, WithdrawnAt: r.WithdrawnAt,
	}
	if r.Answers == "" || r.Answers == "[]" {
		return a, nil
	}
	return a, json.Unmarshal([]byte(r.Answers), &a.Answers)
}

func applicationsOf(rows []applicationRow) ([]hiring.Application, error) {
	out := make([]hiring.Application, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = r.application(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type changeRow struct {
	ID            string
	ApplicationID string
	Actor         string
	ActorID       string
	FromStatus    string
	ToStatus      string
	At            time.Time
}

// TableName tells GORM the table.
func (changeRow) TableName() string { return "application_changes" }

// Add implements hiring.Applications.
func (d Applications) Add(ctx context.Context, a hiring.Application, told ...event.Event) error {
	r, err := toApplicationRow(a)
	if err != nil {
		return err
	}
	if d.pg() && len(told) == 1 && d.current(ctx) == nil {
		return d.addAtOnce(ctx, r, told[0])
	}
	return d.Do(ctx, func(ctx context.Context) error {
		res := d.q(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "listing_id"}, {Name: "applicant_id"}}, DoNothing: true}).Create(&r)
		if res.Error == nil && res.RowsAffected == 0 {
			return hiring.ErrAlreadyApplied
		}
		if res.Error != nil {
			return wrap(res.Error)
		}
		return Outbox(d).Record(ctx, told...)
	})
}

// addAtOnce is Add in one statement, which is its own transaction: one journey
// to the server instead of four.
func (d Applications) addAtOnce(ctx context.Context, r applicationRow, told event.Event) error {
	e, err := Outbox(d).row(ctx, told)
	if err != nil {
		return err
	}
	// Past GORM, whose reading of the placeholders takes a fifth of the time.
	res, err := d.q(ctx).Statement.ConnPool.ExecContext(ctx, `WITH added AS (
			INSERT INTO applications (id, listing_id, organization_id, applicant_id, status, tracker, tracker_color, cover_letter, answers, applied_at, changed_at, withdrawn_at, resume_url)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $19) ON CONFLICT (listing_id, applicant_id) DO NOTHING RETURNING id)
		INSERT INTO outbox (id, type, subject, payload, recorded_at, attempts, trace)
		SELECT $13::uuid, $14, $15, $16, $17::timestamptz, 0, $18 FROM added`,
		r.ID, r.ListingID, r.OrganizationID, r.ApplicantID, r.Status, r.Tracker, r.TrackerColor, r.CoverLetter, r.Answers, r.AppliedAt, r.ChangedAt, r.WithdrawnAt,
		e.ID, e.Type, e.Subject, e.Payload, e.RecordedAt, e.Trace, r.ResumeURL)
	if err != nil {
		return wrap(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, error(hiring.ErrAlreadyApplied))
	}
	d.recorded(ctx)
	return nil
}

// ForOrganization implements hiring.Applications.
func (d Applications) ForOrganization(ctx context.Context, organizationID string, ids []string) ([]hiring.Application, error) {
	var rows []applicationRow
	// In one order, so that two batches which share rows do not wait for each other.
	if err := d.locked(ctx).Where("organization_id = ? AND id IN ?", organizationID, ids).Order("id").Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	return applicationsOf(rows)
}

// ForApplicant implements hiring.Applications.
func (d Applications) ForApplicant(ctx context.Context, applicantID, id string) (hiring.Application, error) {
	var r applicationRow
	err := d.locked(ctx).Where("id = ? AND applicant_id = ? AND withdrawn_at IS NULL", id, applicantID).Take(&r).Error
	if err := orNotFound(err, hiring.ErrNotFound); err != nil {
		return hiring.Application{}, err
	}
	return r.application()
}

// SaveStatuses implements hiring.Applications: one statement for each status
// that the applications end in, and one for the timelines.
func (d Applications) SaveStatuses(ctx context.Context, organizationID string, as []hiring.Application, changes []hiring.Change) error {
	byStatus := map[hiring.Status][]string{}
	for _, a := range as {
		byStatus[a.Status] = append(byStatus[a.Status], a.ID)
	}
	for _, status := range hiring.Statuses {
		ids := byStatus[status]
		if len(ids) == 0 {
			continue
		}
		i := slices.IndexFunc(as, func(a hiring.Application) bool { return a.Status == status })
		res := d.q(ctx).Exec(`UPDATE applications SET status = ?, changed_at = ?, tracker = ''
			WHERE organization_id = ? AND id IN ? AND withdrawn_at IS NULL`, string(status), as[i].ChangedAt, organizationID, ids)
		if res.Error != nil {
			return wrap(res.Error)
		}
		if res.RowsAffected != int64(len(ids)) {
			return errStale
		}
	}
	return d.addChanges(ctx, changes)
}

// SaveOwn implements hiring.Applications.
func (d Applications) SaveOwn(ctx context.Context, applicantID string, a hiring.Application, changes ...hiring.Change) error {
	res := d.q(ctx).Exec(`UPDATE applications SET status = ?, changed_at = ?, tracker = ?, tracker_color = ?, withdrawn_at = ?
		WHERE id = ? AND applicant_id = ? AND withdrawn_at IS NULL`,
		string(a.Status), a.ChangedAt, string(a.Tracker), a.TrackerColor, a.WithdrawnAt, a.ID, applicantID)
	if err := saved(res); err != nil {
		return err
	}
	return d.addChanges(ctx, changes)
}

// Left implements hiring.Applications.
func (d Applications) Left(ctx context.Context, applicantID string, n int) ([]hiring.Application, error) {
	var rows []applicationRow
	if err := d.locked(ctx).Where("applicant_id = ? AND withdrawn_at IS NULL", applicantID).Order("id").Limit(n).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	return applicationsOf(rows)
}

// Erase implements hiring.Applications.
func (d Applications) Erase(ctx context.Context, applicantID string) error {
	const theirs = `(SELECT id FROM applications WHERE applicant_id = ? AND withdrawn_at IS NOT NULL)`
	return d.Do(ctx, func(ctx context.Context) error {
		for _, statement := range []string{
			`UPDATE applications SET cover_letter = '', resume_url = '', answers = '[]', tracker = '', tracker_color = '' WHERE applicant_id = ? AND withdrawn_at IS NOT NULL`,
			`UPDATE interviews SET notes = '' WHERE application_id IN ` + theirs,
			`DELETE FROM application_letters WHERE application_id IN ` + theirs,
		} {
			if err := d.q(ctx).Exec(statement, applicantID).Error; err != nil {
				return wrap(err)
			}
		}
		return nil
	})
}

func (d Applications) addChanges(ctx context.Context, changes []hiring.Change) error {
	if len(changes) == 0 {
		return nil
	}
	rows := make([]changeRow, len(changes))
	for i, c := range changes {
		rows[i] = changeRow{ID: c.ID, ApplicationID: c.ApplicationID, Actor: string(c.Actor), ActorID: c.ActorID,
			FromStatus: string(c.From), ToStatus: string(c.To), At: c.At}
	}
	return wrap(d.q(ctx).Create(&rows).Error)
}

// Timeline implements hiring.Applications.
func (d Applications) Timeline(ctx context.Context, organizationID, applicationID string, n int) ([]hiring.Change, error) {
	var rows []changeRow
	if err := d.q(ctx).Where("application_id = (SELECT id FROM applications WHERE id = ? AND organization_id = ?)", applicationID, organizationID).Order("id DESC").Limit(n).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	slices.Reverse(rows)
	out := make([]hiring.Change, len(rows))
	for i, r := range rows {
		out[i] = hiring.Change{ID: r.ID, ApplicationID: r.ApplicationID, Actor: hiring.ActorKind(r.Actor), ActorID: r.ActorID,
			From: hiring.Status(r.FromStatus), To: hiring.Status(r.ToStatus), At: r.At}
	}
	return out, nil
}

// PageForOrganization implements hiring.Applications.
func (d Applications) PageForOrganization(ctx context.Context, organizationID string, r page.Request) (page.Result[hiring.Application], error) {
	return d.page(ctx, r, "organization_id = ?", organizationID)
}

// PageForApplicant implements hiring.Applications.
func (d Applications) PageForApplicant(ctx context.Context, applicantID string, r page.Request) (page.Result[hiring.Application], error) {
	return d.page(ctx, r, "applicant_id = ? AND withdrawn_at IS NULL", applicantID)
}

func (d Applications) page(ctx context.Context, r page.Request, whose, owner string) (page.Result[hiring.Application], error) {
	rows, out, err := pageOf[applicationRow, hiring.Application](ctx, d.DB, applicationListColumns, r, whose, owner)
	if err != nil {
		return out, err
	}
	out.Items, err = applicationsOf(rows)
	return out, err
}

// AppliedLately implements hiring.Applications.
func (d Applications) AppliedLately(ctx context.Context, applicantID string, n int) (ids []string, err error) {
	err = d.q(ctx).Raw("SELECT listing_id FROM applications WHERE applicant_id = ? AND withdrawn_at IS NULL ORDER BY id DESC LIMIT ?", applicantID, n).Scan(&ids).Error
	return ids, wrap(err)
}

// AppliedAmong implements hiring.Applications.
func (d Applications) AppliedAmong(ctx context.Context, applicantID string, listingIDs []string) (map[string]bool, error) {
	return d.idSet(ctx, "SELECT listing_id FROM applications WHERE ? AND applicant_id = ?", d.dialect.In("listing_id", listingIDs), applicantID)
}

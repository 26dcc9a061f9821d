package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// Applications implements hiring.Applications.
type Applications struct{ *DB }

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

// TableName implements schema.Tabler.
func (applicationRow) TableName() string { return "applications" }

func (r applicationRow) key() string { return r.ID }

// applicationListColumns are those without details, which may be long texts.
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

// TableName implements schema.Tabler.
func (changeRow) TableName() string { return "application_changes" }

// Create implements hiring.Applications.
func (d Applications) Create(ctx context.Context, a hiring.Application) error {
	r, err := toApplicationRow(a)
	if err != nil {
		return err
	}
	return d.insert(ctx, insert{rows: &r, key: []string{"listing_id", "applicant_id"}, duplicate: hiring.ErrAlreadyApplied})
}

// selection adds conditions to a query.
type selection func(q *gorm.DB) *gorm.DB

// part is the part of the visible applications that one index returns in the order of
// their ids. The parts of a Visibility have no row in common.
type part struct {
	visible selection
	// shown is an expression for the status that is shown.
	shown string
}

func parts(v hiring.Visibility, withdrawn hiring.WithdrawnFilter) (out []part) {
	if v.OrganizationID != "" {
		out = append(out, part{shown: "status", visible: func(q *gorm.DB) *gorm.DB { return q.Where("organization_id = ?", v.OrganizationID) }})
	}
	if v.ApplicantID != "" {
		out = append(out, part{shown: "CASE WHEN tracker <> '' THEN tracker ELSE status END", visible: func(q *gorm.DB) *gorm.DB {
			q = q.Where("applicant_id = ?", v.ApplicantID)
			switch withdrawn {
			case hiring.ExcludeWithdrawn:
				q = q.Where("withdrawn_at IS NULL")
			case hiring.OnlyWithdrawn:
				q = q.Where("withdrawn_at IS NOT NULL")
			}
			if v.OrganizationID != "" {
				q = q.Where("organization_id <> ?", v.OrganizationID)
			}
			return q
		}})
	}
	return out
}

// filtered returns the selection of the visible applications that the filter selects.
// Statements are not prepared, because they depend on the filter of a client.
func (d Applications) filtered(p part, f hiring.ApplicationFilter) selection {
	return func(q *gorm.DB) *gorm.DB {
		q = p.visible(unprepared(q))
		if len(f.IDs) > 0 {
			q = q.Where("?", d.dialect.In("id", f.IDs))
		}
		if len(f.ListingIDs) == 1 {
			q = q.Where("listing_id = ?", f.ListingIDs[0])
		} else if len(f.ListingIDs) > 1 {
			q = q.Where("?", d.dialect.In("listing_id", f.ListingIDs))
		}
		if f.ApplicantID != "" {
			q = q.Where("applicant_id = ?", f.ApplicantID)
		}
		if len(f.Statuses) > 0 {
			q = q.Where("status IN ?", f.Statuses)
		}
		if !f.AppliedFrom.IsZero() {
			q = q.Where("applied_at >= ?", f.AppliedFrom)
		}
		if !f.AppliedUntil.IsZero() {
			q = q.Where("applied_at < ?", f.AppliedUntil)
		}
		return q
	}
}

// Get implements hiring.Applications.
func (d Applications) Get(ctx context.Context, v hiring.Visibility, id string) (hiring.Application, error) {
	for _, p := range parts(v, hiring.ExcludeWithdrawn) {
		var rows []applicationRow
		if err := p.visible(d.locked(ctx)).Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil {
			return hiring.Application{}, wrap(err)
		}
		if len(rows) > 0 {
			return rows[0].application()
		}
	}
	return hiring.Application{}, hiring.ErrNotFound
}

// List implements hiring.Applications.
func (d Applications) List(ctx context.Context, v hiring.Visibility, f hiring.ApplicationFilter, r page.Request) (out page.Result[hiring.Application], err error) {
	columns := applicationListColumns
	if f.Details {
		columns = nil
	}
	var rows []applicationRow
	switch parts := parts(v, f.Withdrawn); len(parts) {
	case 0:
	case 1:
		rows, out, err = listOf[applicationRow, hiring.Application](ctx, d.DB, r, list{columns: columns, where: d.filtered(parts[0], f), locked: true})
	default:
		rows, out, err = d.listParts(ctx, parts, f, columns, r)
	}
	if err != nil {
		return out, err
	}
	out.Items, err = applicationsOf(rows)
	return out, err
}

// listParts reads one page of several parts: the ids up to the end of the page of each,
// and the rows of those that are in the page.
func (d Applications) listParts(ctx context.Context, parts []part, f hiring.ApplicationFilter, columns []string, r page.Request) (rows []applicationRow, out page.Result[hiring.Application], err error) {
	offset := r.Offset()
	if r.Cursor != "" {
		offset = 0
	}
	var ids []string
	for _, p := range parts {
		q := d.filtered(p, f)(d.q(ctx).Model(&applicationRow{}))
		if r.Cursor != "" {
			q = q.Where("id < ?", r.Cursor)
		}
		var found []string
		if err := q.Order("id DESC").Limit(offset+r.Size+1).Pluck("id", &found).Error; err != nil {
			return nil, out, wrap(err)
		}
		ids = append(ids, found...)
		if r.WithoutTotal {
			continue
		}
		n, err := countLimited(d.filtered(p, f)(d.q(ctx).Model(&applicationRow{})))
		if err != nil {
			return nil, out, err
		}
		out.Total += n
	}
	if out.Total > page.MaxExact {
		out.Total, out.TotalIsEstimate = page.MaxExact, true
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(b, a) })
	ids = ids[min(offset, len(ids)):]
	if len(ids) > r.Size {
		ids = ids[:r.Size]
		out.NextCursor = ids[r.Size-1]
	}
	if len(ids) == 0 {
		return nil, out, nil
	}
	q := d.q(ctx).Where("?", d.dialect.In("id", ids)).Order("id DESC")
	if columns != nil {
		q = q.Select(columns)
	}
	return rows, out, wrap(q.Find(&rows).Error)
}

// CountByStatus implements hiring.Applications.
func (d Applications) CountByStatus(ctx context.Context, v hiring.Visibility, f hiring.ApplicationFilter) (map[hiring.Status]int, error) {
	out := map[hiring.Status]int{}
	for _, p := range parts(v, f.Withdrawn) {
		counts, err := countedBy[hiring.Status](d.filtered(p, f)(d.q(ctx).Model(&applicationRow{})).Select(p.shown + " AS name, count(*) AS n").Group(p.shown))
		if err != nil {
			return nil, err
		}
		for status, n := range counts {
			out[status] += n
		}
	}
	return out, nil
}

// UpdateStatuses implements hiring.Applications, with a statement for each new status
// and one for the timelines.
func (d Applications) UpdateStatuses(ctx context.Context, organizationID string, as []hiring.Application, changes []hiring.Change) error {
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
		res := d.q(ctx).Model(&applicationRow{}).Where("organization_id = ? AND id IN ? AND withdrawn_at IS NULL", organizationID, ids).
			Updates(map[string]any{"status": string(status), "changed_at": as[i].ChangedAt, "tracker": ""})
		if res.Error != nil {
			return wrap(res.Error)
		}
		if res.RowsAffected != int64(len(ids)) {
			return errStale
		}
	}
	return d.createChanges(ctx, changes)
}

// Update implements hiring.Applications.
func (d Applications) Update(ctx context.Context, applicantID string, a hiring.Application, changes ...hiring.Change) error {
	res := d.q(ctx).Model(&applicationRow{}).Where("id = ? AND applicant_id = ? AND withdrawn_at IS NULL", a.ID, applicantID).Updates(map[string]any{
		"status": string(a.Status), "changed_at": a.ChangedAt, "tracker": string(a.Tracker), "tracker_color": a.TrackerColor, "withdrawn_at": a.WithdrawnAt})
	if err := saved(res); err != nil {
		return err
	}
	return d.createChanges(ctx, changes)
}

func (d Applications) createChanges(ctx context.Context, changes []hiring.Change) error {
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

// ListChanges implements hiring.Applications.
func (d Applications) ListChanges(ctx context.Context, organizationID, applicationID string, n int) ([]hiring.Change, error) {
	owned := d.q(ctx).Model(&applicationRow{}).Select("id").Where("id = ? AND organization_id = ?", applicationID, organizationID)
	var rows []changeRow
	if err := d.q(ctx).Where("application_id = (?)", owned).Order("id DESC").Limit(n).Find(&rows).Error; err != nil {
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

// ApplicantPersonalData implements hiring.PersonalData.
type ApplicantPersonalData struct{ *DB }

// EraseByApplicant implements hiring.PersonalData.
func (d ApplicantPersonalData) EraseByApplicant(ctx context.Context, applicantID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		withdrawn := func() *gorm.DB {
			return d.q(ctx).Model(&applicationRow{}).Where("applicant_id = ? AND withdrawn_at IS NOT NULL", applicantID)
		}
		var ids []string
		if err := withdrawn().Pluck("id", &ids).Error; err != nil {
			return wrap(err)
		}
		of := d.dialect.In("application_id", ids)
		texts := map[string]any{"cover_letter": "", "resume_url": "", "answers": "[]", "tracker": "", "tracker_color": ""}
		return wrap(firstError(
			withdrawn().Updates(texts).Error,
			d.q(ctx).Model(&interviewRow{}).Where("?", of).Update("notes", "").Error,
			d.q(ctx).Where("?", of).Delete(&applicantMessageRow{}).Error))
	})
}

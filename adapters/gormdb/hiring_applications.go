package gormdb

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// applications implements hiring.Applications and hiring.ApplicationCounts.
type applications struct{ *DB }

// applicationRow is an application for a job. Tracker and TrackerColor are what applicants set in their
// own list of applications; the employer sees Status only.
type applicationRow struct {
	ID             string
	ListingID      string
	OrganizationID string
	ApplicantID    string
	Status         hiring.Status
	Tracker        hiring.Status
	TrackerColor   string
	CoverLetter    string
	ResumeURL      string
	Answers        []hiring.Answer `gorm:"serializer:json_column"`
	AppliedAt      time.Time
	ChangedAt      time.Time
	WithdrawnAt    *time.Time
}

func (r applicationRow) application() hiring.Application { return hiring.Application(r) }

// applicationListColumns are the columns without the details, which may be long texts.
var applicationListColumns = []string{"id", "listing_id", "organization_id", "applicant_id", "status", "tracker", "tracker_color",
	"applied_at", "changed_at", "withdrawn_at"}

// applicationChangeRow is one change of the status in the timeline of an application.
type applicationChangeRow struct {
	ID            string
	ApplicationID string
	Actor         hiring.ActorKind
	ActorID       string
	From          hiring.Status `gorm:"column:from_status"`
	To            hiring.Status `gorm:"column:to_status"`
	At            time.Time
}

// Create implements hiring.Applications.
func (d applications) Create(ctx context.Context, a hiring.Application) error {
	return d.insert(ctx, insert{
		rows:         (*applicationRow)(&a),
		key:          []string{"listing_id", "applicant_id"},
		errDuplicate: hiring.ErrAlreadyApplied,
	})
}

// visiblePart is a part of the applications that a user with a hiring.Visibility can see. An index
// returns the rows of each part in the order of ids. The parts of a Visibility have no row in common.
type visiblePart struct {
	// visible selects the applications of the part.
	visible selection
	// shownStatus is the expression for the status that the user sees: applicants may have set their
	// own in the column tracker.
	shownStatus string
}

// withdrawalConditions returns one condition for each part of an applicant's applications that the
// filter selects. The condition is empty for a part with all applications.
//
// One partial index contains the applications that are withdrawn, and another one those that are not.
// A list with both is merged from two parts. If the filter names a few applications, one part
// suffices, because their rows are found by id.
func withdrawalConditions(f hiring.ApplicationFilter) []string {
	const isActive, isWithdrawn = "withdrawn_at IS NULL", "withdrawn_at IS NOT NULL"
	switch {
	case f.Withdrawn == hiring.ExcludeWithdrawn:
		return []string{isActive}
	case f.Withdrawn == hiring.OnlyWithdrawn:
		return []string{isWithdrawn}
	case len(f.IDs) > 0 || len(f.ListingIDs) > 0:
		return []string{""}
	}

	return []string{isActive, isWithdrawn}
}

// visibleParts returns the parts of the applications that a user with v can see: those to the user's
// organization, and those that the user has sent to others.
func visibleParts(v hiring.Visibility, f hiring.ApplicationFilter) (parts []visiblePart) {
	if v.OrganizationID != "" {
		parts = append(parts, visiblePart{
			shownStatus: "status",
			visible:     func(q *gorm.DB) *gorm.DB { return q.Where("organization_id = ?", v.OrganizationID) },
		})
	}

	if v.ApplicantID == "" {
		return parts
	}

	for _, condition := range withdrawalConditions(f) {
		parts = append(parts, visiblePart{
			shownStatus: "CASE WHEN tracker <> '' THEN tracker ELSE status END",
			visible: func(q *gorm.DB) *gorm.DB {
				q = q.Where("applicant_id = ?", v.ApplicantID)
				if condition != "" {
					q = q.Where(condition)
				}

				return whereIfSet(q, "organization_id <> ?", v.OrganizationID)
			},
		})
	}

	return parts
}

// selectFiltered returns the conditions for the applications of the part that the filter selects.
// The statements are not prepared, because they depend on the filter of a client.
func (d applications) selectFiltered(p visiblePart, f hiring.ApplicationFilter) selection {
	return func(q *gorm.DB) *gorm.DB {
		q = p.visible(withoutPreparing(q))
		q = whereInIfSet(q, "id", f.IDs)

		q = whereInIfSet(q, "listing_id", f.ListingIDs)
		if len(f.Statuses) > 0 {
			q = q.Where("status IN ?", f.Statuses)
		}

		q = whereEqual(q, "applicant_id", f.ApplicantID)
		q = whereIfSet(q, "applied_at >= ?", f.AppliedFrom)

		return whereIfSet(q, "applied_at < ?", f.AppliedUntil)
	}
}

// Get implements hiring.Applications. Inside a transaction, it locks the row until the end.
func (d applications) Get(ctx context.Context, v hiring.Visibility, id string) (hiring.Application, error) {
	for _, part := range visibleParts(v, hiring.ApplicationFilter{}) {
		row, err := takeRowIfAny[applicationRow](part.visible(d.locked(ctx)).Where("id = ?", id))
		if err != nil || row.ID != "" {
			return row.application(), err
		}
	}

	return hiring.Application{}, hiring.ErrNotFound
}

// List implements hiring.Applications.
func (d applications) List(
	ctx context.Context,
	v hiring.Visibility,
	f hiring.ApplicationFilter,
	r page.Request,
) (page.Result[hiring.Application], error) {
	columns := applicationListColumns
	if f.Details {
		columns = nil
	}

	switch parts := visibleParts(v, f); len(parts) {
	case 0:
		return page.Result[hiring.Application]{Items: []hiring.Application{}}, nil
	case 1:
		query := listQuery{columns: columns, where: d.selectFiltered(parts[0], f), locksRows: true}
		return listPage(ctx, d.DB, r, query, applicationRow.application)
	default:
		return d.listParts(ctx, parts, f, columns, r)
	}
}

// listParts reads one page of a list that consists of several parts. It first reads the ids of
// each part up to the end of the page, and then the rows of the ids that are in the page.
func (d applications) listParts(
	ctx context.Context,
	parts []visiblePart,
	f hiring.ApplicationFilter,
	columns []string,
	r page.Request,
) (result page.Result[hiring.Application], err error) {
	offset := r.Offset()
	if r.Cursor != "" {
		offset = 0 // a cursor takes the place of the page number
	}

	// Read the ids and the number of rows of each part. One id more than the page shows that there
	// is a next page.
	var ids []string
	for _, part := range parts {
		rows := func() *gorm.DB { return d.selectFiltered(part, f)(d.conn(ctx).Model(&applicationRow{})) }

		var idsOfPart []string

		first := whereIfSet(rows(), "id < ?", r.Cursor).Order("id DESC").Limit(offset + r.Size + 1)
		if err := first.Pluck("id", &idsOfPart).Error; err != nil {
			return result, wrap(err)
		}

		ids = append(ids, idsOfPart...)

		// Counting reads many rows. Callers that show no total do without.
		if r.WithoutTotal {
			continue
		}

		n, err := countLimited(rows())
		if err != nil {
			return result, err
		}

		result.Total += n
	}

	if result.Total > page.MaxExact {
		result.Total, result.TotalIsEstimate = page.MaxExact, true
	}

	// Merge the ids, and reduce them to those of the page.
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(b, a) }) // newest first

	ids = ids[min(offset, len(ids)):]
	if len(ids) > r.Size {
		ids = ids[:r.Size]
		result.NextCursor = ids[r.Size-1]
	}

	if len(ids) == 0 {
		result.Items = []hiring.Application{}
		return result, nil
	}

	// Read the rows of the page.
	q := whereIn(d.conn(ctx), "id", ids).Order("id DESC")
	if columns != nil {
		q = q.Select(columns)
	}

	result.Items, err = findRows(q, applicationRow.application)

	return result, err
}

// CountByStatus implements hiring.Applications. It adds up the counts of all parts that the user can see.
func (d applications) CountByStatus(ctx context.Context, v hiring.Visibility, f hiring.ApplicationFilter) (map[hiring.Status]int, error) {
	totals := map[hiring.Status]int{}
	for _, part := range visibleParts(v, f) {
		rows := d.selectFiltered(part, f)(d.conn(ctx).Model(&applicationRow{}))

		counts, err := scanCounts[hiring.Status](rows.Select(part.shownStatus + " AS name, count(*) AS n").Group(part.shownStatus))
		if err != nil {
			return nil, err
		}

		for status, n := range counts {
			totals[status] += n
		}
	}

	return totals, nil
}

// CountByListing implements hiring.ApplicationCounts.
func (d applications) CountByListing(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error) {
	return scanCounts[string](d.unprepared(ctx).
		Table("applications").
		Select("listing_id AS name, count(*) AS n").
		Where("organization_id = ?", organizationID).
		Where(d.dialect.In("listing_id", listingIDs)).
		Group("listing_id"))
}

// UpdateStatuses implements hiring.Applications. It executes one statement for each new status, and one
// that adds the changes to the timelines. A change by the employer resets the applicant's own
// status, which is in the column tracker.
func (d applications) UpdateStatuses(ctx context.Context, organizationID string, as []hiring.Application, changes []hiring.Change) error {
	byStatus := map[hiring.Status][]hiring.Application{}
	for _, a := range as {
		byStatus[a.Status] = append(byStatus[a.Status], a)
	}

	for _, status := range hiring.Statuses {
		changed := byStatus[status]
		if len(changed) == 0 {
			continue
		}

		ids := list.Map(changed, func(a hiring.Application) string { return a.ID })

		res := d.conn(ctx).
			Model(&applicationRow{}).
			Where("organization_id = ? AND id IN ? AND withdrawn_at IS NULL", organizationID, ids).
			Updates(map[string]any{"status": status, "changed_at": changed[0].ChangedAt, "tracker": ""}) // all have the same time
		if res.Error != nil {
			return wrap(res.Error)
		}

		if res.RowsAffected != int64(len(ids)) { // an application was withdrawn in the meantime
			return errStale
		}
	}

	return d.createChanges(ctx, changes)
}

// Update implements hiring.Applications. It returns errStale for an application that was withdrawn
// in the meantime.
func (d applications) Update(ctx context.Context, applicantID string, a hiring.Application, changes ...hiring.Change) error {
	res := d.conn(ctx).
		Select("status", "changed_at", "tracker", "tracker_color", "withdrawn_at").
		Where("id = ? AND applicant_id = ? AND withdrawn_at IS NULL", a.ID, applicantID).
		Updates((*applicationRow)(&a))
	if err := requireRow(res, errStale); err != nil {
		return err
	}

	return d.createChanges(ctx, changes)
}

// createChanges adds the changes to the timelines of their applications.
func (d applications) createChanges(ctx context.Context, changes []hiring.Change) error {
	rows := list.Map(changes, func(c hiring.Change) applicationChangeRow { return applicationChangeRow(c) })
	return createRows(d.conn(ctx), rows)
}

// ListChanges implements hiring.Applications. It reads the last n changes and returns them oldest first.
func (d applications) ListChanges(ctx context.Context, organizationID, applicationID string, n int) ([]hiring.Change, error) {
	owned := d.conn(ctx).
		Model(&applicationRow{}).
		Select("id").
		Where("id = ? AND organization_id = ?", applicationID, organizationID)
	changes, err := findRows(
		d.conn(ctx).Where("application_id = (?)", owned).Order("id DESC").Limit(n),
		func(r applicationChangeRow) hiring.Change { return hiring.Change(r) },
	)

	slices.Reverse(changes)

	return changes, err
}

// applicantData implements hiring.PersonalData.
type applicantData struct{ *DB }

// EraseByApplicant implements hiring.PersonalData. The rows of the applications remain, without texts.
func (d applicantData) EraseByApplicant(ctx context.Context, applicantID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		withdrawn := func() *gorm.DB {
			return d.conn(ctx).Model(&applicationRow{}).Where("applicant_id = ? AND withdrawn_at IS NOT NULL", applicantID)
		}

		var ids []string
		if err := withdrawn().Pluck("id", &ids).Error; err != nil {
			return wrap(err)
		}

		noTexts := map[string]any{"cover_letter": "", "resume_url": "", "answers": "[]", "tracker": "", "tracker_color": ""}
		if err := withdrawn().Updates(noTexts).Error; err != nil {
			return wrap(err)
		}

		isOfApplication := d.dialect.In("application_id", ids)
		if err := d.conn(ctx).Model(&interviewRow{}).Where("?", isOfApplication).Update("notes", "").Error; err != nil {
			return wrap(err)
		}

		return deleteFrom(
			d.conn(ctx).Where("?", isOfApplication),
			&applicantMessageRow{},
			&applicationNoteRow{},
			&applicationRatingRow{},
		)
	})
}

// appointments implements hiring.Appointments.
type appointments struct{ *DB }

type interviewRow hiring.Appointment

// Upsert implements hiring.Appointments. It updates the row of the appointment, and creates it if there is none.
func (d appointments) Upsert(ctx context.Context, a hiring.Appointment) error {
	row := (*interviewRow)(&a)

	updated := d.conn(ctx).
		Select("scheduled_at", "location", "interviewer", "notes", "status", "outcome", "sequence", "changed_at").
		Where("id = ? AND organization_id = ?", a.ID, a.OrganizationID).
		Updates(row)
	if updated.Error != nil || updated.RowsAffected > 0 {
		return wrap(updated.Error)
	}

	return wrap(d.conn(ctx).Create(row).Error)
}

// List implements hiring.Appointments.
func (d appointments) List(
	ctx context.Context,
	organizationID string,
	f hiring.AppointmentFilter,
	r page.Request,
) (page.Result[hiring.Appointment], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = q.Where("organization_id = ?", organizationID)
		q = whereInIfSet(q, "application_id", f.ApplicationIDs)
		q = whereEqual(q, "status", f.Status)

		return whereIfSet(q, "scheduled_at > ?", f.ScheduledAfter)
	}

	return listPage(ctx, d.DB, r, listQuery{locksRows: true, where: selected},
		func(r interviewRow) hiring.Appointment { return hiring.Appointment(r) })
}

// applicantMessages implements hiring.Messages.
type applicantMessages struct{ *DB }

type applicantMessageRow hiring.Message

// TableName implements schema.Tabler.
func (applicantMessageRow) TableName() string { return "application_letters" }

// Create implements hiring.Messages.
func (d applicantMessages) Create(ctx context.Context, m hiring.Message) error {
	return wrap(d.conn(ctx).Create((*applicantMessageRow)(&m)).Error)
}

// Get implements hiring.Messages.
func (d applicantMessages) Get(ctx context.Context, organizationID, id string) (hiring.Message, error) {
	selected := d.conn(ctx).Where("id = ? AND organization_id = ?", id, organizationID)
	row, err := takeRow[applicantMessageRow](selected, hiring.ErrNotFound)

	return hiring.Message(row), err
}

// List implements hiring.Messages.
func (d applicantMessages) List(ctx context.Context, organizationID, applicationID string, n int) ([]hiring.Message, error) {
	// An application has few messages. They are sorted here, because no index has them in order.
	found, err := findRows(
		d.conn(ctx).Where("application_id = ? AND organization_id = ?", applicationID, organizationID),
		func(r applicantMessageRow) hiring.Message { return hiring.Message(r) },
	)

	slices.SortFunc(found, func(a, b hiring.Message) int { return cmp.Compare(b.ID, a.ID) })

	return found[:min(n, len(found))], err
}

// exports implements hiring.Exports.
type exports struct{ *DB }

type exportRow struct {
	ID             string
	OrganizationID string
	UserID         string
	Kind           string
	Filters        map[string]string `gorm:"serializer:json_column"`
	State          hiring.ExportState
	RowsDone       int
	RowsTotal      int
	CreatedAt      time.Time
	FinishedAt     *time.Time
}

func (r exportRow) export() hiring.Export { return hiring.Export(r) }

// Create implements hiring.Exports.
func (d exports) Create(ctx context.Context, e hiring.Export, limit int) error {
	r := exportRow(e)
	return createBelowLimit(ctx, d.DB, &r, "exports of "+e.OrganizationID, limit, hiring.ErrTooManyExports,
		"organization_id = ? AND finished_at IS NULL", e.OrganizationID)
}

// Get implements hiring.Exports.
func (d exports) Get(ctx context.Context, organizationID, id string) (hiring.Export, error) {
	selected := d.conn(ctx).Where("id = ? AND organization_id = ?", id, organizationID)
	row, err := takeRow[exportRow](selected, hiring.ErrExportNotFound)

	return row.export(), err
}

// List implements hiring.Exports.
func (d exports) List(ctx context.Context, f hiring.ExportFilter, n int) ([]hiring.Export, error) {
	q := whereEqual(whereInIfSet(d.locked(ctx), "organization_id", f.OrganizationIDs), "kind", f.Kind)
	if f.Unfinished {
		q = q.Where("finished_at IS NULL")
	}

	if f.Begun {
		q = q.Where("state <> ?", hiring.ExportQueued)
	}

	return findRows(whereIfSet(q, "created_at < ?", f.CreatedBefore).Limit(n), exportRow.export)
}

// Update implements hiring.Exports.
func (d exports) Update(ctx context.Context, e hiring.Export) error {
	res := d.conn(ctx).
		Select("state", "rows_done", "rows_total", "finished_at").
		Where("id = ? AND organization_id = ? AND state <> ?", e.ID, e.OrganizationID, hiring.ExportDone).
		Updates((*exportRow)(&e))

	return requireRow(res, errStale)
}

// Delete implements hiring.Exports.
func (d exports) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	return wrap(whereIn(d.conn(ctx), "id", ids).Delete(&exportRow{}).Error)
}

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

// applicationRow is an application for a job.
type applicationRow struct {
	ID             string
	ListingID      string
	OrganizationID string // the employer
	ApplicantID    string
	Status         hiring.Status // that the employer has set
	// Tracker and TrackerColor are the status and its color that applicants have set in their own
	// list of applications, where it takes the place of Status. The employer does not see them.
	Tracker      hiring.Status
	TrackerColor string
	CoverLetter  string
	ResumeURL    string
	Answers      []hiring.Answer `gorm:"serializer:json_column"`
	AppliedAt    time.Time
	ChangedAt    time.Time
	WithdrawnAt  *time.Time
}

func (r applicationRow) application() hiring.Application { return hiring.Application(r) }

// applicationListColumns are the columns of a list without details, which may be long texts.
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

// A hiring.Visibility says which applications a user can see: those to the user's organization, and
// those that the user has sent. No index contains both in the order of a list. So a list of both is read
// in parts. Each part has an index with its rows in that order, and the rows of the parts are merged.

// visiblePart is a part of the applications that a user with a Visibility can see. An index returns
// the rows of a part in the order of ids. The parts of a Visibility have no row in common.
type visiblePart struct {
	// visible selects the applications of the part.
	visible selection
	// shownStatus is the SQL expression for the status that the user sees in this part.
	shownStatus string
}

// withdrawalConditions returns the SQL conditions of the parts into which an applicant's own applications
// are divided. An empty condition stands for a part with all of them.
//
// There are two parts, because there are two partial indexes: one contains the withdrawn applications and
// the other one the rest. One part is enough if the list has only one of these kinds. One part is also
// enough if the filter names applications or listings, because the rows are then found by these ids.
func withdrawalConditions(f hiring.ApplicationFilter) []string {
	const isActive, isWithdrawn = "withdrawn_at IS NULL", "withdrawn_at IS NOT NULL"
	switch {
	case f.Withdrawn == hiring.ExcludeWithdrawn:
		return []string{isActive}
	case f.Withdrawn == hiring.OnlyWithdrawn:
		return []string{isWithdrawn}
	case len(f.IDs) > 0 || len(f.ListingIDs) > 0:
		const noCondition = ""
		return []string{noCondition}
	}

	return []string{isActive, isWithdrawn}
}

// visibleParts returns the parts of the applications that a user with the visibility v can see: those to
// the user's organization, and those that the user has sent to others. f is the filter of the list.
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

// Get implements hiring.Applications. It returns an application that the user with the visibility v can
// see. Inside a transaction, it locks the row until the end.
func (d applications) Get(ctx context.Context, v hiring.Visibility, id string) (hiring.Application, error) {
	noFilter := hiring.ApplicationFilter{}
	for _, part := range visibleParts(v, noFilter) {
		row, err := takeRowIfAny[applicationRow](part.visible(d.locked(ctx)).Where("id = ?", id))
		if err != nil || row.ID != "" {
			return row.application(), err
		}
	}

	return hiring.Application{}, hiring.ErrNotFound
}

// List implements hiring.Applications. It lists the applications that the user with the visibility v can
// see, newest first.
func (d applications) List(
	ctx context.Context,
	v hiring.Visibility,
	f hiring.ApplicationFilter,
	request page.Request,
) (page.Result[hiring.Application], error) {
	columns := applicationListColumns
	if f.Details {
		columns = nil // all
	}

	switch parts := visibleParts(v, f); len(parts) {
	case 0:
		return page.Result[hiring.Application]{Items: []hiring.Application{}}, nil
	case 1:
		query := listQuery{columns: columns, where: d.selectFiltered(parts[0], f), locksRows: true}
		return listPage(ctx, d.DB, request, query, applicationRow.application)
	default:
		return d.listParts(ctx, parts, f, columns, request)
	}
}

// listParts reads one page of a list that is merged from several parts. It first reads the ids of
// each part up to the end of the page, and then the rows of the ids that are in the page.
func (d applications) listParts(
	ctx context.Context,
	parts []visiblePart,
	f hiring.ApplicationFilter,
	columns []string,
	request page.Request,
) (result page.Result[hiring.Application], err error) {
	offset := request.Offset()
	if request.Cursor != "" {
		offset = 0 // a cursor takes the place of the page number
	}

	// Read the ids and the number of rows of each part.
	var ids []string
	for _, part := range parts {
		newQuery := func() *gorm.DB { return d.selectFiltered(part, f)(d.conn(ctx).Model(&applicationRow{})) }

		// Read one id more than up to the end of the page. If it exists, there is a next page.
		upToPage := whereIfSet(newQuery(), "id < ?", request.Cursor).Order("id DESC").Limit(offset + request.Size + 1)

		var idsOfPart []string
		if err := upToPage.Pluck("id", &idsOfPart).Error; err != nil {
			return result, wrap(err)
		}

		ids = append(ids, idsOfPart...)

		// Counting reads many rows, so that it is left out for callers that show no total.
		if request.WithoutTotal {
			continue
		}

		counted, err := countLimited(newQuery())
		if err != nil {
			return result, err
		}

		result.Total += counted
	}

	if result.Total > page.MaxExact {
		result.Total, result.TotalIsEstimate = page.MaxExact, true
	}

	// Merge the ids, and reduce them to those of the page.
	newestFirst := func(a, b string) int { return cmp.Compare(b, a) } // ids are in the order of creation
	slices.SortFunc(ids, newestFirst)

	ids = ids[min(offset, len(ids)):]
	if hasNextPage := len(ids) > request.Size; hasNextPage {
		ids = ids[:request.Size]
		result.NextCursor = ids[request.Size-1]
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

// CountByStatus implements hiring.Applications. It counts the applications that the user with the
// visibility v can see, by the status that the user sees.
func (d applications) CountByStatus(
	ctx context.Context,
	v hiring.Visibility,
	f hiring.ApplicationFilter,
) (map[hiring.Status]int, error) {
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

// UpdateStatuses implements hiring.Applications. It stores the statuses of applications, with one statement
// for each status, and adds the changes to the timelines. An applicant may have set another status in their
// own list, in the column tracker. A status that the employer sets replaces it, so that tracker is emptied.
func (d applications) UpdateStatuses(
	ctx context.Context,
	organizationID string,
	changed []hiring.Application,
	changes []hiring.Change,
) error {
	byStatus := map[hiring.Status][]hiring.Application{}
	for _, a := range changed {
		byStatus[a.Status] = append(byStatus[a.Status], a)
	}

	for _, status := range hiring.Statuses {
		withStatus := byStatus[status]
		if len(withStatus) == 0 {
			continue
		}

		ids := list.Map(withStatus, func(a hiring.Application) string { return a.ID })
		changedAt := withStatus[0].ChangedAt // the same for all

		res := d.conn(ctx).
			Model(&applicationRow{}).
			Where("organization_id = ? AND id IN ? AND withdrawn_at IS NULL", organizationID, ids).
			Updates(map[string]any{"status": status, "changed_at": changedAt, "tracker": ""})
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
	// The id of the application, or NULL if it belongs to another organization.
	ownApplication := d.conn(ctx).
		Model(&applicationRow{}).
		Select("id").
		Where("id = ? AND organization_id = ?", applicationID, organizationID)
	newestChanges := d.conn(ctx).Where("application_id = (?)", ownApplication).Order("id DESC").Limit(n)

	changes, err := findRows(newestChanges, func(r applicationChangeRow) hiring.Change { return hiring.Change(r) })
	slices.Reverse(changes)

	return changes, err
}

// applicantData implements hiring.PersonalData.
type applicantData struct{ *DB }

// EraseByApplicant implements hiring.PersonalData. It erases the texts of the applicant's withdrawn
// applications and of their interviews, and deletes the messages, notes and ratings. The rows of the
// applications remain.
func (d applicantData) EraseByApplicant(ctx context.Context, applicantID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		queryWithdrawn := func() *gorm.DB {
			return d.conn(ctx).Model(&applicationRow{}).Where("applicant_id = ? AND withdrawn_at IS NOT NULL", applicantID)
		}

		var ids []string
		if err := queryWithdrawn().Pluck("id", &ids).Error; err != nil {
			return wrap(err)
		}

		noTexts := map[string]any{"cover_letter": "", "resume_url": "", "answers": "[]", "tracker": "", "tracker_color": ""}
		if err := queryWithdrawn().Updates(noTexts).Error; err != nil {
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

// appointments implements hiring.Appointments. An appointment is the interview of an applicant.
type appointments struct{ *DB }

// interviewRow is a row of the table interviews.
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

// List implements hiring.Appointments. Inside a transaction, it locks the rows until the end.
func (d appointments) List(
	ctx context.Context,
	organizationID string,
	f hiring.AppointmentFilter,
	request page.Request,
) (page.Result[hiring.Appointment], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = q.Where("organization_id = ?", organizationID)
		q = whereInIfSet(q, "application_id", f.ApplicationIDs)
		q = whereEqual(q, "status", f.Status)

		return whereIfSet(q, "scheduled_at > ?", f.ScheduledAfter)
	}

	return listPage(ctx, d.DB, request, listQuery{locksRows: true, where: selected},
		func(r interviewRow) hiring.Appointment { return hiring.Appointment(r) })
}

// applicantMessages implements hiring.Messages, the messages of an employer to applicants.
type applicantMessages struct{ *DB }

// applicantMessageRow is a message to the applicant of an application.
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

// List implements hiring.Messages. It returns the newest n messages about an application.
func (d applicantMessages) List(ctx context.Context, organizationID, applicationID string, n int) ([]hiring.Message, error) {
	// An application has few messages. They are sorted here, because no index has them in order.
	found, err := findRows(
		d.conn(ctx).Where("application_id = ? AND organization_id = ?", applicationID, organizationID),
		func(r applicantMessageRow) hiring.Message { return hiring.Message(r) },
	)

	newestFirst := func(a, b hiring.Message) int { return cmp.Compare(b.ID, a.ID) }
	slices.SortFunc(found, newestFirst)

	return found[:min(n, len(found))], err
}

// exports implements hiring.Exports.
type exports struct{ *DB }

// exportRow is an export: a file with the rows of a list, which a task writes in the background.
type exportRow struct {
	ID             string
	OrganizationID string
	UserID         string            // who has requested the export
	Kind           string            // the list that is exported
	Filters        map[string]string `gorm:"serializer:json_column"`
	State          hiring.ExportState
	RowsDone       int
	RowsTotal      int
	CreatedAt      time.Time
	FinishedAt     *time.Time
}

func (r exportRow) export() hiring.Export { return hiring.Export(r) }

// Create implements hiring.Exports. The limit is for the unfinished exports of the organization.
func (d exports) Create(ctx context.Context, e hiring.Export, limit int) error {
	row := exportRow(e)
	unfinished := func(q *gorm.DB) *gorm.DB {
		return q.Where("organization_id = ? AND finished_at IS NULL", e.OrganizationID)
	}

	return createBelowLimit(ctx, d.DB, &row, rowLimit{
		maximum:    limit,
		errReached: hiring.ErrTooManyExports,
		counted:    unfinished,
		lock:       "exports of " + e.OrganizationID,
	})
}

// Get implements hiring.Exports.
func (d exports) Get(ctx context.Context, organizationID, id string) (hiring.Export, error) {
	selected := d.conn(ctx).Where("id = ? AND organization_id = ?", id, organizationID)
	row, err := takeRow[exportRow](selected, hiring.ErrExportNotFound)

	return row.export(), err
}

// List implements hiring.Exports. Inside a transaction, it locks the rows until the end.
func (d exports) List(ctx context.Context, f hiring.ExportFilter, n int) ([]hiring.Export, error) {
	q := whereInIfSet(d.locked(ctx), "organization_id", f.OrganizationIDs)
	q = whereEqual(q, "kind", f.Kind)

	if f.Unfinished {
		q = q.Where("finished_at IS NULL")
	}

	if f.Begun {
		q = q.Where("state <> ?", hiring.ExportQueued)
	}

	q = whereIfSet(q, "created_at < ?", f.CreatedBefore)

	return findRows(q.Limit(n), exportRow.export)
}

// Update implements hiring.Exports. It stores the progress of an export. It returns errStale if the export is
// done or was deleted.
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

package hiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// ExportState is the state of an export.
type ExportState string

// The states.
const (
	ExportQueued  ExportState = "queued"
	ExportRunning ExportState = "running"
	ExportDone    ExportState = "completed"
	ExportFailed  ExportState = "failed"
)

// Export is a CSV file with a table of an organization (its jobs or its applications), which a task
// writes in the background.
type Export struct {
	ID             string
	OrganizationID string
	UserID         string // of the member who started it
	Kind           string // name of the table: "jobs" or "applications"
	Filters        map[string]string
	State          ExportState
	RowsDone       int // written so far
	RowsTotal      int // an estimate until the export is completed
	CreatedAt      time.Time
	FinishedAt     *time.Time // when it was completed or failed
}

// key returns the key of the file in the file store.
func (e Export) key() string { return "exports/" + e.OrganizationID + "/" + e.ID + ".csv" }

// kindExport is the kind of the tasks with an exportTask.
const kindExport = "hiring.export"

const (
	// maxUnfinishedExports is the maximum number of unfinished exports of an organization.
	maxUnfinishedExports = 5
	// exportAttempts is the maximum number of attempts of the task that writes an export.
	exportAttempts = 10
	// exportTaskTimeout is the timeout of one attempt.
	exportTaskTimeout = time.Hour
	// exportTimeout is the time after which an unfinished export counts as failed. It is
	// longer than all attempts with the pauses between them.
	exportTimeout = 24 * time.Hour
	// exportLifetime is the time after which an export is deleted.
	exportLifetime = 7 * 24 * time.Hour
	// rowsPerPage is the number of rows that are read at a time. The progress of an export is
	// stored after each page.
	rowsPerPage = 4_000
	// maxListed is the maximum number of exports that MyExports reads and sorts.
	maxListed = 1_000
	// linkLifetime and mailedLinkLifetime are the lifetimes of the links to a file in a response
	// and in an e-mail.
	linkLifetime       = time.Hour
	mailedLinkLifetime = 24 * time.Hour
)

// ExportService implements the use cases of exports.
type ExportService struct {
	*Shared
	Audit   audit.Recorder
	Exports Exports
	Files   files.Store
	Sealer  auth.Sealer
	// Tables are the tables that can be exported, by name.
	Tables  map[string]Table
	streams streams
}

// ExportInput describes an export to start.
type ExportInput struct {
	Kind    string        `json:"kind" validate:"required,oneof=jobs applications"`
	Filters ExportFilters `json:"filters"`
}

// ExportFilters are the filters of an export. Each table accepts some of them.
type ExportFilters struct {
	Status    *string `json:"status"`
	JobID     *string `json:"jobId"`
	StartDate *string `json:"startDate"`
	EndDate   *string `json:"endDate"`
}

// byName returns the fields that are not nil, by name.
func (f ExportFilters) byName() map[string]string {
	fields := map[string]*string{"status": f.Status, "jobId": f.JobID, "startDate": f.StartDate, "endDate": f.EndDate}

	filters := map[string]string{}
	for name, value := range fields {
		if value != nil {
			filters[name] = *value
		}
	}

	return filters
}

// ExportView is an export. If it is completed, it has a link to its file.
type ExportView struct {
	Export
	URL       string
	ExpiresAt *time.Time
}

// applicationsKind is the Export.Kind of the table of applications.
const applicationsKind = "applications"

// requiredPermission returns the permission to read an export of the kind.
func requiredPermission(kind string) auth.Permission {
	if kind == applicationsKind {
		return auth.ApplicationsView
	}

	return auth.AnyPermission
}

// StartExport stores an export and adds the task that writes it.
func (s *ExportService) StartExport(ctx context.Context, by auth.Actor, in ExportInput) (Export, error) {
	if err := by.Require(requiredPermission(in.Kind)); err != nil {
		return Export{}, err
	}

	table, exists := s.Tables[in.Kind]
	if !exists {
		kinds := slices.Sorted(maps.Keys(s.Tables))
		return Export{}, fault.InvalidField("kind", "must be one of: "+strings.Join(kinds, ", "))
	}

	filters := in.Filters.byName()
	if err := table.Check(filters); err != nil {
		return Export{}, err
	}

	export := Export{
		ID:             s.NewID(),
		OrganizationID: by.OrganizationID,
		UserID:         by.UserID,
		Kind:           in.Kind,
		Filters:        filters,
		State:          ExportQueued,
		CreatedAt:      s.Clock.Now(),
	}

	return export, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Exports.Create(ctx, export, maxUnfinishedExports); err != nil {
			return err
		}

		entry := audit.By(by, audit.ExportCreated, export.ID).With(export.Kind)
		if err := s.Audit.Record(ctx, entry); err != nil {
			return err
		}

		payload := exportTask{OrganizationID: export.OrganizationID, ID: export.ID}

		return s.Tasks.Add(ctx, task.New(kindExport, task.Exports, kindExport+"/"+export.ID, payload))
	})
}

// exportTask is the payload of the task that writes an export.
type exportTask struct {
	OrganizationID string `json:"organization_id"`
	ID             string `json:"id"`
}

// MyExport returns an export of the caller's organization.
func (s *ExportService) MyExport(ctx context.Context, by auth.Actor, exportID string) (ExportView, error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return ExportView{}, err
	}

	exportID, err := canonical(exportID, ErrExportNotFound)
	if err != nil {
		return ExportView{}, err
	}

	export, err := s.Exports.Get(ctx, by.OrganizationID, exportID)
	if err != nil {
		return ExportView{}, err
	}

	if err := by.Require(requiredPermission(export.Kind)); err != nil {
		return ExportView{}, err
	}

	if export.State != ExportDone {
		return ExportView{Export: export}, nil
	}

	expiresAt := s.Clock.Now().Add(linkLifetime).Truncate(time.Second)
	url, err := s.exportLink(export, by.UserID, expiresAt)

	return ExportView{Export: export, URL: url, ExpiresAt: &expiresAt}, err
}

// MyExports returns the exports of the caller's organization that the caller may read, at
// most n, the newest first.
func (s *ExportService) MyExports(ctx context.Context, by auth.Actor, n int) ([]Export, error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return nil, err
	}

	exports, err := s.Exports.List(ctx, ExportFilter{OrganizationIDs: []string{by.OrganizationID}}, maxListed)
	if err != nil {
		return nil, err
	}

	isForbidden := func(export Export) bool { return !by.May(requiredPermission(export.Kind)) }
	exports = slices.DeleteFunc(exports, isForbidden)
	slices.SortFunc(exports, func(a, b Export) int { return b.CreatedAt.Compare(a.CreatedAt) })

	return exports[:min(n, len(exports))], nil
}

// exportLink returns a link that downloads the file. Everyone who has the link can use it,
// until the given time and as long as the user has the permission to read the table.
func (s *ExportService) exportLink(e Export, userID string, until time.Time) (string, error) {
	subject := e.OrganizationID + "." + e.ID + "." + userID
	token, err := s.Sealer.Seal(auth.ForDownload, subject, until)

	return s.PublicURL + "/api/employers/exports/" + e.ID + "/file?token=" + token, err
}

// parseLinkSubject returns the parts of the subject that exportLink puts into a token. The userID
// is empty for links of earlier versions.
func parseLinkSubject(subject string) (organizationID, exportID, userID string) {
	organizationID, rest, _ := strings.Cut(subject, ".")
	exportID, userID, _ = strings.Cut(rest, ".")

	return organizationID, exportID, userID
}

// Download is the file of an export.
type Download struct {
	Name string
	Size int64 // in bytes, or unknownSize
	Body io.ReadCloser
}

// unknownSize is the Size of a Download that is written while it is read.
const unknownSize = -1

// exportName returns the name under which a client saves the file.
func exportName(kind string, at time.Time) string {
	return "locum-" + kind + "-" + at.Format("20060102") + ".csv"
}

// OpenExport opens the file of an export with the token of a link. It returns
// fault.ErrForbidden if the user for whom the link was created is no longer permitted to read
// the table.
func (s *ExportService) OpenExport(ctx context.Context, exportID, token string) (Download, error) {
	subject, err := s.Sealer.Unseal(auth.ForDownload, token)
	if err != nil {
		return Download{}, err
	}

	// The token must have been created for this export.
	organizationID, sealedID, userID := parseLinkSubject(subject)

	canonicalID, isID := id.Canonical(exportID)
	if !isID || sealedID != canonicalID {
		return Download{}, fault.ErrUnauthorized
	}

	export, err := s.Exports.Get(ctx, organizationID, sealedID)
	if err != nil {
		return Download{}, err
	}

	userID = cmp.Or(userID, export.UserID) // links of earlier versions name no user

	isPermitted, err := s.Organizations.May(ctx, organizationID, userID, requiredPermission(export.Kind))
	switch {
	case err != nil:
		return Download{}, err
	case !isPermitted:
		return Download{}, fault.ErrForbidden
	}

	body, info, err := s.Files.Open(ctx, export.key())
	switch {
	case errors.Is(err, files.ErrNotFound):
		return Download{}, ErrExportNotFound
	case err != nil:
		return Download{}, err
	}

	// The entry has no actor, because everyone who has the link can use it.
	entry := audit.Entry{
		Action:         audit.ExportDownloaded,
		OrganizationID: export.OrganizationID,
		Object:         export.ID,
		Detail:         export.Kind,
	}
	if err := s.Audit.Record(ctx, entry); err != nil {
		return Download{}, errors.Join(err, body.Close())
	}

	return Download{Name: exportName(export.Kind, export.CreatedAt), Size: info.Size, Body: body}, nil
}

// runExportTask writes the file of an export. After a crash, the next attempt writes the file
// from its beginning; a partial file is never visible.
func (s *ExportService) runExportTask(ctx context.Context, t task.Task, in exportTask) error {
	export, err := s.Exports.Get(ctx, in.OrganizationID, in.ID)
	if errors.Is(err, ErrExportNotFound) {
		// The export has expired, or was deleted because an applicant in it has deleted
		// their account. The previous attempt may have left a file.
		return s.Files.Delete(ctx, Export{OrganizationID: in.OrganizationID, ID: in.ID}.key())
	}

	if err != nil || export.State == ExportDone { // an earlier attempt may have completed it
		return err
	}

	err = s.writeFile(ctx, &export)

	isLastAttempt := t.Attempt == exportAttempts
	if err != nil && isLastAttempt {
		return errors.Join(err, s.markFailed(ctx, export))
	}

	return err
}

// markFailed stores that the export has failed, even if the context has timed out.
func (s *ExportService) markFailed(ctx context.Context, export Export) error {
	const timeout = 2 * time.Second

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()

	now := s.Clock.Now()
	export.State, export.FinishedAt = ExportFailed, &now

	return s.Exports.Update(ctx, export)
}

// writeFile writes the table into the file of the export, stores the progress after each page of rows,
// and completes the export.
func (s *ExportService) writeFile(ctx context.Context, export *Export) error {
	table, exists := s.Tables[export.Kind]
	if !exists {
		return fmt.Errorf("no table %q", export.Kind)
	}

	// The rows may come from a replica of the database, but only from one that has everything that
	// was written before.
	const maxStaleness = 0
	readCtx := tx.AllowStale(ctx, maxStaleness)

	// Mark the export as running, and reset the progress that a previous attempt may have stored.
	total, err := table.Count(readCtx, export.OrganizationID, export.Filters)
	if err != nil {
		return err
	}

	export.State = ExportRunning
	export.RowsDone = 0
	export.RowsTotal = total
	export.FinishedAt = nil

	if err := s.Exports.Update(ctx, *export); err != nil {
		return err
	}

	pages := &tablePages{table: table, ownerID: export.OrganizationID, filters: export.Filters}

	err = s.Files.Put(ctx, export.key(), func(w io.Writer) error { return s.writePages(ctx, readCtx, export, pages, w) })
	if err != nil {
		return err
	}

	return s.complete(ctx, export)
}

// writePages writes all pages of the table into w, as CSV. It reads the table with readCtx. It stores
// the progress of the export with ctx after each page.
func (s *ExportService) writePages(ctx, readCtx context.Context, export *Export, pages *tablePages, w io.Writer) error {
	page := new(csvfile.Page)
	for {
		hasNext, err := pages.next(readCtx, page)
		if err != nil {
			return err
		}

		if _, err := w.Write(page.Bytes()); err != nil {
			return err
		}

		export.RowsDone = pages.rows
		export.RowsTotal = max(export.RowsTotal, pages.rows) // rows may have been added since they were counted

		if err := s.Exports.Update(ctx, *export); err != nil {
			return err
		}

		if !hasNext {
			return nil
		}
	}
}

// complete marks the export as done and records the event about it.
func (s *ExportService) complete(ctx context.Context, export *Export) error {
	now := s.Clock.Now()
	export.State = ExportDone
	export.FinishedAt = &now
	export.RowsTotal = export.RowsDone

	finished := event.ExportFinished{
		ExportID:       export.ID,
		OrganizationID: export.OrganizationID,
		UserID:         export.UserID,
		FinishedAt:     now,
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Exports.Update(ctx, *export); err != nil {
			return err
		}

		return s.Events.Record(ctx, finished)
	})
}

// MailExport sends a link to the file to the member who started the export. It sends nothing
// to a user who has left the organization, has lost the permission to read the table, or does
// not want such e-mails.
func (s *ExportService) MailExport(ctx context.Context, m event.ExportFinished) error {
	export, err := s.Exports.Get(ctx, m.OrganizationID, m.ExportID)
	switch {
	case errors.Is(err, ErrExportNotFound):
		return nil // the export was deleted meanwhile
	case err != nil:
		return err
	}

	isPermitted, err := s.Organizations.May(ctx, export.OrganizationID, m.UserID, requiredPermission(export.Kind))
	if err != nil || !isPermitted {
		return err
	}

	wantsAlerts, err := s.Organizations.WantsAlerts(ctx, m.UserID)
	if err != nil || !wantsAlerts {
		return err
	}

	people, err := s.People.ByIDs(ctx, []string{m.UserID})
	if err != nil || people[m.UserID].Email == "" {
		return err
	}

	link, err := s.exportLink(export, m.UserID, s.Clock.Now().Add(mailedLinkLifetime))
	if err != nil {
		return err
	}

	return s.sendLetter(ctx, correspondence{people: people}, m.UserID, mail.Letter{
		ID:      "export-" + export.ID,
		Subject: "Your export is ready",
		Body: []mail.Block{
			{Text: fmt.Sprintf("Your export of %s is ready. Number of rows: %d.", export.Kind, export.RowsDone)},
			{Link: &mail.Link{Label: "Download it", URL: link}},
			{
				Text: "The link works for 24 hours, for everybody who has it, while you may see what is in the file. " +
					"The file is kept for 7 days.",
			},
		},
	})
}

// ForgetExports deletes expired exports. It also marks exports as failed that have been
// unfinished for exportTimeout, so that they do not count towards maxUnfinishedExports any more.
func (s *ExportService) ForgetExports(ctx context.Context) error {
	now := s.Clock.Now()

	timedOut := ExportFilter{Unfinished: true, CreatedBefore: now.Add(-exportTimeout)}

	err := tx.DoBatches(ctx, s.Tx, expireBatch, func(ctx context.Context) (int, error) {
		exports, err := s.Exports.List(ctx, timedOut, expireBatch)
		if err != nil {
			return 0, err
		}

		for _, e := range exports {
			e.State, e.FinishedAt = ExportFailed, &now
			if err := s.Exports.Update(ctx, e); err != nil {
				return 0, err
			}
		}

		return len(exports), nil
	})
	if err != nil {
		return err
	}

	expired := ExportFilter{CreatedBefore: now.Add(-exportLifetime)}

	return s.deleteExports(ctx, expired)
}

// deleteExports deletes the exports that match the filter, with their files, in batches.
func (s *ExportService) deleteExports(ctx context.Context, f ExportFilter) error {
	const batchSize = 100
	for {
		exports, err := s.Exports.List(ctx, f, batchSize)
		if err != nil || len(exports) == 0 {
			return err
		}

		ids := make([]string, len(exports))
		for i, e := range exports {
			// Delete the file before its row, because the file can only be found by its row.
			if err := s.Files.Delete(ctx, e.key()); err != nil {
				return err
			}

			ids[i] = e.ID
		}

		err = s.Tx.Do(ctx, func(ctx context.Context) error { return s.Exports.Delete(ctx, ids) })
		if err != nil {
			return err
		}
	}
}

// expireBatch is the maximum number of exports that one transaction marks as failed.
const expireBatch = 100

// Periodic returns the periodic tasks of exports.
func (s *ExportService) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "hiring.forget-exports", Every: time.Hour, Do: s.ForgetExports, Timeout: 5 * time.Minute}}
}

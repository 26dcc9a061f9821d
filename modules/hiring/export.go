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

// Export is a file with a table, which is written in the background.
type Export struct {
	ID             string
	OrganizationID string
	UserID         string // of the member who started it
	Kind           string // name of the table
	Filters        map[string]string
	State          ExportState
	RowsDone       int
	RowsTotal      int
	CreatedAt      time.Time
	FinishedAt     *time.Time
}

// key returns the key of the file in the file store.
func (e Export) key() string { return "exports/" + e.OrganizationID + "/" + e.ID + ".csv" }

const (
	kindExport = "hiring.export"
	// maxUnfinishedExports is the maximum number of unfinished exports of an organization.
	maxUnfinishedExports = 5
	exportAttempts       = 10
	exportTaskTimeout    = time.Hour
	rowsPerPage          = 4_000 // read at a time; the progress is stored after each page
	// exportTimeout is the time after which an unfinished export counts as failed. It is
	// longer than all attempts with the pauses between them.
	exportTimeout = 24 * time.Hour
	// exportLifetime is the time after which an export is deleted.
	exportLifetime = 7 * 24 * time.Hour
	// maxListed is the maximum number of exports that MyExports reads and sorts.
	maxListed          = 1_000
	linkLifetime       = time.Hour // of the link in a response
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

// filters returns the fields that are not nil, by name.
func (f ExportFilters) filters() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]*string{"status": f.Status, "jobId": f.JobID, "startDate": f.StartDate, "endDate": f.EndDate} {
		if value != nil {
			out[name] = *value
		}
	}

	return out
}

// ExportView is an export. If it is completed, it has a link to its file.
type ExportView struct {
	Export
	URL       string
	ExpiresAt *time.Time
}

// requiredPermission returns the permission to read an export of the kind.
func requiredPermission(kind string) auth.Permission {
	if kind == "applications" {
		return auth.ApplicationsView
	}

	return auth.AnyPermission
}

// StartExport stores an export and adds the task that writes it.
func (s *ExportService) StartExport(ctx context.Context, by auth.Actor, in ExportInput) (Export, error) {
	if err := by.Require(requiredPermission(in.Kind)); err != nil {
		return Export{}, err
	}

	table, ok := s.Tables[in.Kind]
	if !ok {
		return Export{}, fault.InvalidField("kind", "must be one of: "+strings.Join(slices.Sorted(maps.Keys(s.Tables)), ", "))
	}

	if err := table.Check(in.Filters.filters()); err != nil {
		return Export{}, err
	}

	var export Export

	return export, s.Tx.Do(ctx, func(ctx context.Context) error {
		export = Export{
			ID:             s.NewID(),
			OrganizationID: by.OrganizationID,
			UserID:         by.UserID,
			Kind:           in.Kind,
			Filters:        in.Filters.filters(),
			State:          ExportQueued,
			CreatedAt:      s.Clock.Now(),
		}
		if err := s.Exports.Create(ctx, export, maxUnfinishedExports); err != nil {
			return err
		}

		if err := s.Audit.Record(ctx, audit.By(by, audit.ExportCreated, export.ID).With(export.Kind)); err != nil {
			return err
		}

		return s.Tasks.Add(ctx, task.New(kindExport, task.Exports, kindExport+"/"+export.ID, exportTask{export.OrganizationID, export.ID}))
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

	e, err := s.Exports.Get(ctx, by.OrganizationID, exportID)
	if err != nil {
		return ExportView{}, err
	}

	if err := by.Require(requiredPermission(e.Kind)); err != nil {
		return ExportView{}, err
	}

	v := ExportView{Export: e}
	if e.State == ExportDone {
		until := s.Clock.Now().Add(linkLifetime).Truncate(time.Second)
		v.ExpiresAt = &until
		v.URL, err = s.exportLink(e, by.UserID, until)
	}

	return v, err
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

	exports = slices.DeleteFunc(exports, func(e Export) bool { return !by.May(requiredPermission(e.Kind)) })
	slices.SortFunc(exports, func(a, b Export) int { return b.CreatedAt.Compare(a.CreatedAt) })

	return exports[:min(n, len(exports))], nil
}

// exportLink returns a link that downloads the file. Everyone who has the link can use it,
// until the given time and as long as the user has the permission to read the table.
func (s *ExportService) exportLink(e Export, userID string, until time.Time) (string, error) {
	token, err := s.Sealer.Seal(auth.ForDownload, e.OrganizationID+"."+e.ID+"."+userID, until)
	return s.PublicURL + "/api/employers/exports/" + e.ID + "/file?token=" + token, err
}

// Download is the file of an export.
type Download struct {
	Name string
	Size int64 // in bytes, -1 if it is unknown
	Body io.ReadCloser
}

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

	organizationID, rest, _ := strings.Cut(subject, ".")

	sealedID, userID, _ := strings.Cut(rest, ".")
	if exportID, ok := id.Canonical(exportID); !ok || sealedID != exportID {
		return Download{}, fault.ErrUnauthorized
	}

	export, err := s.Exports.Get(ctx, organizationID, sealedID)
	if err != nil {
		return Download{}, err
	}

	userID = cmp.Or(userID, export.UserID) // links of earlier versions do not contain the user
	if isPermitted, err := s.Organizations.May(ctx, organizationID, userID, requiredPermission(export.Kind)); err != nil {
		return Download{}, err
	} else if !isPermitted {
		return Download{}, fault.ErrForbidden
	}

	body, info, err := s.Files.Open(ctx, export.key())
	if errors.Is(err, files.ErrNotFound) {
		return Download{}, ErrExportNotFound
	} else if err != nil {
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

// export executes the task of an export. After a crash, the next attempt writes the file
// from its beginning; a partial file is never visible.
func (s *ExportService) export(ctx context.Context, t task.Task, in exportTask) error {
	export, err := s.Exports.Get(ctx, in.OrganizationID, in.ID)
	if errors.Is(err, ErrExportNotFound) {
		// The export has expired, or was deleted because an applicant in it has deleted
		// their account. The previous attempt may have left a file.
		return s.Files.Delete(ctx, Export{OrganizationID: in.OrganizationID, ID: in.ID}.key())
	}

	if err != nil || export.State == ExportDone {
		return err
	}

	if err := s.writeFile(ctx, &export); err != nil {
		isLastAttempt := t.Attempt == exportAttempts
		if isLastAttempt {
			return errors.Join(err, s.markFailed(ctx, export))
		}

		return err
	}

	return nil
}

// markFailed stores that the export has failed, even if the context has timed out.
func (s *ExportService) markFailed(ctx context.Context, e Export) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()

	now := s.Clock.Now()
	e.State, e.FinishedAt = ExportFailed, &now

	return s.Exports.Update(ctx, e)
}

// writeFile writes the table into the file of the export, and updates the progress of the
// export after each page.
func (s *ExportService) writeFile(ctx context.Context, e *Export) error {
	table, ok := s.Tables[e.Kind]
	if !ok {
		return fmt.Errorf("no table %q", e.Kind)
	}

	// The rows may come from a replica, which must have all that was written before.
	readCtx := tx.AllowStale(ctx, 0)

	total, err := table.Count(readCtx, e.OrganizationID, e.Filters)
	if err != nil {
		return err
	}

	e.State = ExportRunning
	e.RowsDone = 0
	e.RowsTotal = total

	e.FinishedAt = nil
	if err := s.Exports.Update(ctx, *e); err != nil {
		return err
	}

	err = s.Files.Put(ctx, e.key(), func(w io.Writer) error {
		pages := tablePages{table: table, ownerID: e.OrganizationID, filters: e.Filters}

		page := new(csvfile.Page)
		for hasNext := true; hasNext; {
			var err error
			if hasNext, err = pages.next(readCtx, page); err != nil {
				return err
			}

			if _, err = w.Write(page.Bytes()); err != nil {
				return err
			}

			e.RowsDone, e.RowsTotal = pages.rows, max(e.RowsTotal, pages.rows)
			if err = s.Exports.Update(ctx, *e); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return err
	}

	now := s.Clock.Now()
	e.State = ExportDone
	e.FinishedAt = &now
	e.RowsTotal = e.RowsDone

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Exports.Update(ctx, *e); err != nil {
			return err
		}

		return s.Events.Record(
			ctx,
			event.ExportFinished{ExportID: e.ID, OrganizationID: e.OrganizationID, UserID: e.UserID, FinishedAt: now},
		)
	})
}

// MailExport sends a link to the file to the member who started the export. It sends nothing
// to a user who has left the organization, has lost the permission to read the table, or does
// not want such e-mails.
func (s *ExportService) MailExport(ctx context.Context, m event.ExportFinished) error {
	export, err := s.Exports.Get(ctx, m.OrganizationID, m.ExportID)
	if errors.Is(err, ErrExportNotFound) {
		return nil
	} else if err != nil {
		return err
	}

	if isPermitted, err := s.Organizations.May(ctx, export.OrganizationID, m.UserID, requiredPermission(export.Kind)); err != nil || !isPermitted {
		return err
	}

	if wants, err := s.Organizations.WantsAlerts(ctx, m.UserID); err != nil || !wants {
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
		ID: "export-" + export.ID, Subject: "Your export is ready",
		Body: []mail.Block{
			{Text: fmt.Sprintf("Your export of %s is ready. Number of rows: %d.", export.Kind, export.RowsDone)},
			{Link: &mail.Link{Label: "Download it", URL: link}},
			{
				Text: "The link works for 24 hours, for everybody who has it, while you may see what is in the file. The file is kept for 7 days.",
			},
		},
	})
}

// ForgetExports deletes expired exports. It also marks exports as failed that have been
// unfinished for exportTimeout, so that they do not count towards the limit any more.
func (s *ExportService) ForgetExports(ctx context.Context) error {
	now := s.Clock.Now()

	err := tx.DoBatches(ctx, s.Tx, expireBatch, func(ctx context.Context) (int, error) {
		unfinished, err := s.Exports.List(ctx, ExportFilter{Unfinished: true, CreatedBefore: now.Add(-exportTimeout)}, expireBatch)
		if err != nil {
			return 0, err
		}

		for _, e := range unfinished {
			e.State, e.FinishedAt = ExportFailed, &now
			if err := s.Exports.Update(ctx, e); err != nil {
				return 0, err
			}
		}

		return len(unfinished), nil
	})
	if err != nil {
		return err
	}

	return s.deleteExports(ctx, ExportFilter{CreatedBefore: now.Add(-exportLifetime)})
}

// deleteExports deletes the exports that match the filter, with their files.
func (s *ExportService) deleteExports(ctx context.Context, f ExportFilter) error {
	const batchSize = 100
	for {
		exports, err := s.Exports.List(ctx, f, batchSize)
		if err != nil || len(exports) == 0 {
			return err
		}

		ids := make([]string, len(exports))
		for i, e := range exports {
			// Without its row, a file could not be found any more.
			if err := s.Files.Delete(ctx, e.key()); err != nil {
				return err
			}

			ids[i] = e.ID
		}

		if err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Exports.Delete(ctx, ids) }); err != nil {
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

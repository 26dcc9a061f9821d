package hiring_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/filestore"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// newFileStore returns a file store in the folder.
func newFileStore(t testing.TB, folder string) files.Store {
	t.Helper()

	store, err := filestore.Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })

	return store
}

// Seal implements auth.Sealer, which the module uses for the tokens of download links. The token
// is PURPOSE|SUBJECT|EXPIRY, neither encrypted nor signed.
func (e *testEnv) Seal(p auth.Purpose, subject string, until time.Time) (string, error) {
	return fmt.Sprint(p, "|", subject, "|", until.Unix()), nil
}

// Unseal implements auth.Sealer. It refuses tokens of another purpose and expired ones.
func (e *testEnv) Unseal(p auth.Purpose, token string) (string, error) {
	parts := strings.Split(token, "|")
	if len(parts) != 3 || parts[0] != string(p) {
		return "", fault.ErrUnauthorized
	}

	subject, expiry := parts[1], parts[2]
	var until int64

	_, err := fmt.Sscan(expiry, &until)
	if err != nil || !e.clock.Now().Before(time.Unix(until, 0)) {
		return "", fault.ErrUnauthorized
	}

	return subject, nil
}

const (
	rowsPerPage = 4000              // the rows that the module reads at a time
	tableRows   = rowsPerPage + 800 // the rows of rowsTable, so that exports read it in two pages
)

// rowsTable is what exports of the kind "jobs" read in these tests. It implements hiring.Table
// with tableRows rows, each of which contains its number. The cursor is the number of the next
// row.
type rowsTable struct {
	failures atomic.Int64 // how often reading the second page still fails
}

func (*rowsTable) Columns() []string             { return []string{"n"} }
func (*rowsTable) Check(map[string]string) error { return nil }
func (*rowsTable) Count(context.Context, string, map[string]string) (int, error) {
	return tableRows, nil
}

func (r *rowsTable) AppendRows(
	_ context.Context,
	_ string,
	_ map[string]string,
	cursor string,
	n int,
	page *csvfile.Page,
) (next string, err error) {
	from := 0
	_, _ = fmt.Sscan(cursor, &from) // the first page has an empty cursor

	isFirstPage := from == 0
	if !isFirstPage && r.failures.Add(-1) >= 0 {
		return "", errors.New("the database is unavailable")
	}

	for i := from; i < min(from+n, tableRows); i++ {
		page.Row([]string{fmt.Sprint(i)})
	}

	if from+n < tableRows {
		next = fmt.Sprint(from + n)
	}

	return next, nil
}

// downloadExport downloads an export from its link and returns its rows, the first of which has
// the names of the columns.
func (e *testEnv) downloadExport(export hiring.ExportView) (_ hiring.Download, rows [][]string) {
	e.t.Helper()

	download, err := e.OpenExport(e.t.Context(), export.ID, tokenOf(export))
	require.NoError(e.t, err)

	defer func() { require.NoError(e.t, download.Body.Close()) }()

	raw, err := io.ReadAll(download.Body)
	require.NoError(e.t, err)
	require.EqualValues(e.t, len(raw), download.Size)

	rows, err = csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	require.NoError(e.t, err)

	return download, rows
}

// tokenOf returns the token in the link of an export.
func tokenOf(export hiring.ExportView) string {
	_, token, _ := strings.Cut(export.URL, "?token=")
	return token
}

// TestExport_Filters_SelectRows follows exports from the request to the download. Each filter
// selects among the applications to the organization. The download link is in the e-mail and in
// the response, but only after the background task has written the file. sentMails runs this
// task and the handlers that send e-mails.
func TestExport_Filters_SelectRows(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		listing, otherListing := env.newListing(employer), env.newListing(employer)
		reviewed := env.apply(newSeeker(), listing)
		pending := env.apply(newSeeker(), otherListing)
		require.NoError(t, env.setStatus(employer, reviewed.ID, "review"))

		_, err := env.Schedule(t.Context(), employer, reviewed.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.NoError(t, err)
		env.apply(newSeeker(), env.newListing(newEmployer())) // of another organization
		env.sentMails()

		// exportRows exports the applications that match the filters, and returns the rows of the
		// file. The first row is the header.
		exportRows := func(f hiring.ExportFilters) [][]string {
			t.Helper()

			export, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "applications", Filters: f})
			require.NoError(t, err)
			require.Equal(t, hiring.ExportQueued, export.State)

			before, err := env.MyExport(t.Context(), employer, strings.ToUpper(export.ID))
			require.NoError(t, err)
			require.Empty(t, before.URL)

			mails := env.sentMails()
			require.Len(t, mails, 1)
			require.Equal(t, "Your export is ready", mails[0].Subject)
			require.Contains(t, mails[0].Text, "/api/employers/exports/"+export.ID+"/file?token=")

			view, err := env.MyExport(t.Context(), employer, export.ID)
			require.NoError(t, err)
			require.Equal(t, hiring.ExportDone, view.State)

			download, rows := env.downloadExport(view)
			require.Equal(t, "locum-applications-20260317.csv", download.Name)
			require.Equal(t, view.RowsDone, len(rows)-1)
			require.Equal(t, view.RowsTotal, view.RowsDone)

			return rows
		}

		// Without filters, the file has both applications, the newest first.
		rows := exportRows(hiring.ExportFilters{})
		require.Equal(t,
			"id,job_id,job_title,applicant_name,applicant_email,status,applied_at,updated_at,"+
				"interview_at,interview_status,interview_outcome",
			strings.Join(rows[0], ","))

		const (
			idColumn               = 0
			statusColumn           = 5
			interviewAtColumn      = 8
			interviewStatusColumn  = 9
			interviewOutcomeColumn = 10
		)

		newest, oldest := rows[1], rows[2]
		require.Equal(t, pending.ID, newest[idColumn])
		require.Equal(t, reviewed.ID, oldest[idColumn])
		require.Equal(t, "review", oldest[statusColumn])
		require.Equal(t, "2027-03-27T11:00:00Z", oldest[interviewAtColumn])
		require.Equal(t, "scheduled", oldest[interviewStatusColumn])
		require.Equal(t, "pending", oldest[interviewOutcomeColumn])

		// Each filter selects one of them, or both, or none.
		byStatus := exportRows(hiring.ExportFilters{Status: ptr("review")})
		require.Equal(t, reviewed.ID, byStatus[1][idColumn])

		byJob := exportRows(hiring.ExportFilters{JobID: ptr(strings.ToUpper(otherListing))})
		require.Equal(t, pending.ID, byJob[1][idColumn])

		today := exportRows(hiring.ExportFilters{StartDate: ptr("2026-03-17"), EndDate: ptr("2026-03-17")})
		require.Len(t, today, 3, "the header and both applications: an end date includes its whole day")

		untilYesterday := exportRows(hiring.ExportFilters{EndDate: ptr("2026-03-16")})
		require.Len(t, untilYesterday, 1, "only the header")
	})
}

// TestExport_Interrupted_RestartsAndCompletes checks an export whose first attempts fail at the
// second page. Meanwhile it shows its progress and offers no partial file. In the end the file
// contains every row once.
func TestExport_Interrupted_RestartsAndCompletes(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	env.jobsTable.failures.Store(2) // the first two attempts fail

	export, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	require.Empty(t, env.sentMails()) // runs the first attempt

	// After the first attempt, the export shows the progress of one page.
	view, err := env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportRunning, view.State)
	require.Equal(t, rowsPerPage, view.RowsDone)
	require.Equal(t, tableRows, view.RowsTotal)
	require.Empty(t, view.URL)

	// The second attempt fails, too, and the third one completes the export.
	for range 2 {
		env.clock.Advance(time.Minute)
		env.work.All(t)
	}

	view, err = env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportDone, view.State)

	_, rows := env.downloadExport(view)
	require.Len(t, rows, 1+tableRows)
	require.Equal(t, fmt.Sprint(tableRows-1), rows[tableRows][0], "the number of the last row")
}

// TestExportNow_PageFails_ReturnsFault checks ExportNow, which sends a table while it reads it,
// without a background task. If a page cannot be read, reading the download fails, so that no
// client takes the table for complete.
func TestExportNow_PageFails_ReturnsFault(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)

	// readTable starts an export, which must succeed, and returns what Read returns.
	readTable := func() ([]byte, error) {
		download, err := env.ExportNow(t.Context(), newEmployer(), "jobs", hiring.ExportFilters{})
		require.NoError(t, err)

		require.EqualValues(t, -1, download.Size, "the size is unknown before the table is read")
		defer func() { require.NoError(t, download.Body.Close()) }()

		return io.ReadAll(download.Body)
	}

	env.jobsTable.failures.Store(1)

	part, err := readTable()
	require.Error(t, err, "an incomplete table is an error")
	require.Equal(t, 1+rowsPerPage, strings.Count(string(part), "\r\n"), "the header and the first page")

	whole, err := readTable()
	require.NoError(t, err)
	require.Equal(t, 1+tableRows, strings.Count(string(whole), "\r\n"), "the header and all rows")
}

// maxExports is the limit of the module for exports of an organization at the same time.
const maxExports = 5

// TestExportNow_FiveOpen_SixthRefused checks that an organization can have maxExports downloads
// open at the same time.
func TestExportNow_FiveOpen_SixthRefused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	var open []hiring.Download
	for range maxExports {
		download, err := env.ExportNow(t.Context(), employer, "jobs", hiring.ExportFilters{})
		require.NoError(t, err)

		open = append(open, download)
	}

	_, err := env.ExportNow(t.Context(), employer, "jobs", hiring.ExportFilters{})
	require.ErrorIs(t, err, hiring.ErrTooManyExports)

	// After the downloads were closed, another one can be opened. A second Close of the same
	// download must not free another place.
	for _, download := range open {
		require.NoError(t, download.Body.Close())
		require.NoError(t, download.Body.Close())
	}

	download, err := env.ExportNow(t.Context(), employer, "jobs", hiring.ExportFilters{})
	require.NoError(t, err)

	_, err = io.Copy(io.Discard, download.Body)
	require.NoError(t, err)

	_, err = download.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "nothing follows the last row")
	require.NoError(t, download.Body.Close())
}

// TestExportNow_InvalidOrForbidden_Refused checks that a filter with an unknown status is
// refused, and that neither members without permissions nor jobseekers can export a table.
func TestExportNow_InvalidOrForbidden_Refused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	_, err := env.ExportNow(t.Context(), newEmployer(), "applications", hiring.ExportFilters{Status: ptr("hired")})
	require.ErrorIs(t, err, hiring.ErrInvalidStatus)

	withoutPermissions := newEmployer()
	withoutPermissions.Permissions = nil
	_, err = env.ExportNow(t.Context(), withoutPermissions, "applications", hiring.ExportFilters{})
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.ExportNow(t.Context(), newSeeker(), "jobs", hiring.ExportFilters{})
	require.ErrorIs(t, err, fault.ErrForbidden)
}

// TestExport_CannotBeWritten_IsFailed checks that an export is failed after its last attempt,
// and that an operator who retries the dead task completes it.
func TestExport_CannotBeWritten_IsFailed(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	const maxAttempts = 20 // more than the task of an export has
	env.jobsTable.failures.Store(maxAttempts)

	export, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)

	for range maxAttempts {
		env.work.All(t)
		env.clock.Advance(5 * time.Hour) // longer than the delay before the next attempt
	}

	view, err := env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportFailed, view.State)
	require.NotNil(t, view.FinishedAt)

	// An operator repairs the cause and retries the task.
	env.jobsTable.failures.Store(0)

	dead, err := env.store.Hiring.Tasks.List(t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(t, err)

	_, err = env.store.Hiring.Tasks.Retry(t.Context(), []string{dead[0].ID})
	require.NoError(t, err)
	require.Len(t, env.sentMails(), 1)

	view, err = env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportDone, view.State)
}

// TestExport_WorkerLost_NotCountedAfterADay checks exports that no worker finishes. After a day
// the periodic ForgetExports marks them as failed, and they do not count towards the limit of
// maxExports any more.
func TestExport_WorkerLost_NotCountedAfterADay(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	var export hiring.Export
	for range maxExports {
		var err error
		export, err = env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
		require.NoError(t, err)
	}

	// Just before a day has passed, the unfinished exports count.
	env.clock.Advance(24*time.Hour - time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, hiring.ErrTooManyExports)

	// After a day, they have failed and do not count.
	env.clock.Advance(2 * time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	view, err := env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportFailed, view.State)

	_, err = env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)

	// The tasks of the exports run late, after all. They complete the exports that had failed.
	env.work.All(t)

	view, err = env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportDone, view.State)
}

// TestExport_RequesterLeft_GetsNoLink checks that a member who has requested an export gets no
// e-mail with the link if the member has lost the permission to read the table meanwhile.
func TestExport_RequesterLeft_GetsNoLink(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	for kind, neededPermission := range map[string]auth.Permission{
		"applications": auth.ApplicationsView,
		"jobs":         auth.AnyPermission,
	} {
		employer := newEmployer()

		// The actor of the request still has the permission, but the organization says that the
		// member has lost it.
		env.lostPermissions[employer.UserID] = neededPermission
		_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: kind})
		require.NoError(t, err)
		require.Empty(t, env.sentMails(), kind)

		// The member has got the permission back.
		delete(env.lostPermissions, employer.UserID)

		_, err = env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: kind})
		require.NoError(t, err)
		require.Len(t, env.sentMails(), 1, kind)
	}
}

// TestExport_OtherOrganization_NotFound checks that exports are visible only to members of
// their organization with the permission.
func TestExport_OtherOrganization_NotFound(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer, other := newEmployer(), newEmployer()
	withoutView := newEmployer(auth.JobsCreate) // a colleague who may not see applications
	withoutView.OrganizationID = employer.OrganizationID
	export, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "applications"})
	require.NoError(t, err)
	env.work.All(t)

	_, err = env.MyExport(t.Context(), other, export.ID)
	require.ErrorIs(t, err, hiring.ErrExportNotFound)

	_, err = env.MyExport(t.Context(), employer, "nonsense")
	require.ErrorIs(t, err, hiring.ErrExportNotFound)

	_, err = env.MyExport(t.Context(), withoutView, export.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.StartExport(t.Context(), withoutView, hiring.ExportInput{Kind: "applications"})
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.StartExport(t.Context(), newSeeker(), hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.MyExport(t.Context(), newSeeker(), export.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)
}

// TestOpenExport_InvalidToken_Unauthorized checks that a link is valid for one export, one
// purpose and one hour.
func TestOpenExport_InvalidToken_Unauthorized(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	export, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "applications"})
	require.NoError(t, err)
	env.work.All(t)

	view, err := env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)

	token := tokenOf(view)
	for name, link := range map[string]struct{ exportID, token string }{
		"token of another export":  {exportID: stores.NewID(), token: token},
		"no token":                 {exportID: export.ID, token: ""},
		"malformed token":          {exportID: export.ID, token: "download|x"},
		"token of another purpose": {exportID: export.ID, token: strings.Replace(token, "download", "unsubscribe", 1)},
	} {
		_, err := env.OpenExport(t.Context(), link.exportID, link.token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
	}

	env.clock.Advance(time.Hour + time.Second) // a link is valid for an hour

	_, err = env.OpenExport(t.Context(), export.ID, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "an expired token")
}

// TestExport_AfterAWeek_DeletedWithFile checks that an export and its links end after 7 days,
// because the file contains names and addresses.
func TestExport_AfterAWeek_DeletedWithFile(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	export, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	env.sentMails()

	// Just before 7 days have passed, the export exists.
	env.clock.Advance(7*24*time.Hour - time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	view, err := env.MyExport(t.Context(), employer, export.ID)
	require.NoError(t, err)

	// After 7 days, neither the export nor its file exists.
	env.clock.Advance(2 * time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	_, err = env.MyExport(t.Context(), employer, export.ID)
	require.ErrorIs(t, err, hiring.ErrExportNotFound)

	_, err = env.OpenExport(t.Context(), export.ID, tokenOf(view))
	require.ErrorIs(t, err, hiring.ErrExportNotFound)
}

// TestExport_TooManyRunning_Refused checks that an organization cannot start another export
// while maxExports exports are unfinished.
func TestExport_TooManyRunning_Refused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)

	employer := newEmployer()
	for range maxExports {
		_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
		require.NoError(t, err)
	}

	_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, hiring.ErrTooManyExports)
	env.work.All(t) // finishes the exports

	_, err = env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
}

// TestStartExport_InvalidInput_Refused checks that invalid filters are refused when the export
// is requested.
func TestStartExport_InvalidInput_Refused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	for _, input := range []hiring.ExportInput{
		{Kind: "people"},
		{Kind: "applications", Filters: hiring.ExportFilters{Status: ptr("lost")}},
		{Kind: "applications", Filters: hiring.ExportFilters{JobID: ptr("x")}},
		{Kind: "applications", Filters: hiring.ExportFilters{EndDate: ptr("soon")}},
	} {
		_, err := env.StartExport(t.Context(), newEmployer(), input)
		require.Equal(t, fault.Invalid, fault.Of(err).Kind)
	}
}

// TestMyExports_OwnOrganization_NewestFirst checks that the list omits exports of other
// organizations and of applications that the member may not see.
func TestMyExports_OwnOrganization_NewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer(auth.ApplicationsView, auth.JobsUpdate)

		var ids []string
		for _, kind := range []string{"applications", "jobs", "applications"} {
			env.clock.Advance(time.Minute)

			started, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: kind})
			require.NoError(t, err)

			ids = append(ids, started.ID)
		}

		// listIDs returns the ids of at most n exports that the member may read.
		listIDs := func(by auth.Actor, n int) (listed []string) {
			t.Helper()

			exports, err := env.MyExports(t.Context(), by, n)
			require.NoError(t, err)

			for _, export := range exports {
				listed = append(listed, export.ID)
			}

			return listed
		}

		require.Equal(t, []string{ids[2], ids[1], ids[0]}, listIDs(employer, 10))
		require.Equal(t, []string{ids[2]}, listIDs(employer, 1))

		withoutApplications := employer
		withoutApplications.Permissions = []auth.Permission{auth.JobsUpdate}
		require.Equal(t, []string{ids[1]}, listIDs(withoutApplications, 10))
		require.Empty(t, listIDs(newEmployer(), 10))

		_, err := env.MyExports(t.Context(), newSeeker(), 10)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

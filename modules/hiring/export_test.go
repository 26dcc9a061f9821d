package hiring_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	const partsOfToken = 3 // those that Seal joins

	parts := strings.Split(token, "|")
	if len(parts) != partsOfToken {
		return "", fault.ErrUnauthorized
	}

	purpose, subject, expiry := parts[0], parts[1], parts[2]
	if purpose != string(p) {
		return "", fault.ErrUnauthorized
	}

	until, err := strconv.ParseInt(expiry, 10, 64)
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

	isFirstPage := cursor == ""
	if !isFirstPage {
		if r.failures.Add(-1) >= 0 {
			return "", errors.New("the database is unavailable")
		}

		from, err = strconv.Atoi(cursor)
		if err != nil {
			return "", err
		}
	}

	end := min(from+n, tableRows)
	for row := from; row < end; row++ {
		page.Row([]string{strconv.Itoa(row)})
	}

	isLastPage := end == tableRows
	if !isLastPage {
		next = strconv.Itoa(end)
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

// startExport requests an export and requires success. A task writes the file later.
func (e *testEnv) startExport(by auth.Actor, kind string) hiring.Export {
	e.t.Helper()

	export, err := e.StartExport(e.t.Context(), by, hiring.ExportInput{Kind: kind})
	require.NoError(e.t, err)

	return export
}

// myExport returns an export as the member sees it, and requires that the member may see it.
func (e *testEnv) myExport(by auth.Actor, id string) hiring.ExportView {
	e.t.Helper()

	view, err := e.MyExport(e.t.Context(), by, id)
	require.NoError(e.t, err)

	return view
}

// TestExport_Requested_LinkIsMailed follows an export from the request to the download. The download link
// is in the e-mail and in the response, but only after the background task has written the file.
func TestExport_Requested_LinkIsMailed(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		env.apply(newSeeker(), env.newListing(employer))
		env.sentMails() // drop the e-mails about the application

		// The export is queued. Its id may be given in upper case.
		export := env.startExport(employer, "applications")
		require.Equal(t, hiring.ExportQueued, export.State)
		require.Empty(t, env.myExport(employer, strings.ToUpper(export.ID)).URL)

		// sentMails runs the task that writes the file, and the handler that sends the e-mail.
		mails := env.sentMails()
		require.Len(t, mails, 1)
		require.Equal(t, "Your export is ready", mails[0].Subject)
		require.Contains(t, mails[0].Text, "/api/employers/exports/"+export.ID+"/file?token=")

		view := env.myExport(employer, export.ID)
		require.Equal(t, hiring.ExportDone, view.State)

		download, rows := env.downloadExport(view)
		require.Equal(t, "locum-applications-20260317.csv", download.Name, "with the date of the test's clock")
		require.Len(t, rows, 2, "the header and one application")
		require.Equal(t, 1, view.RowsDone)
		require.Equal(t, 1, view.RowsTotal)
	})
}

// Columns of an export of applications.
const (
	idColumn               = 0
	statusColumn           = 5
	interviewAtColumn      = 8
	interviewStatusColumn  = 9
	interviewOutcomeColumn = 10
)

// exportApplications exports the applications that match the filters, and returns the header and the
// other rows of the file.
func (e *testEnv) exportApplications(by auth.Actor, filters hiring.ExportFilters) (header []string, rows [][]string) {
	e.t.Helper()

	export, err := e.StartExport(e.t.Context(), by, hiring.ExportInput{Kind: "applications", Filters: filters})
	require.NoError(e.t, err)
	e.work.All(e.t)

	view := e.myExport(by, export.ID)
	_, fileRows := e.downloadExport(view)
	header, rows = fileRows[0], fileRows[1:]
	require.Len(e.t, rows, view.RowsDone)
	require.Equal(e.t, view.RowsTotal, view.RowsDone)

	return header, rows
}

// TestExport_Applications_HaveStatusAndInterview checks the columns and rows of an export without
// filters. It has the applications to the own organization, the newest first.
func TestExport_Applications_HaveStatusAndInterview(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		interviewed := env.apply(newSeeker(), env.newListing(employer))
		pending := env.apply(newSeeker(), env.newListing(employer))
		require.NoError(t, env.setStatus(employer, interviewed.ID, "review"))

		_, err := env.Schedule(t.Context(), employer, interviewed.ID, interviewInput(march27))
		require.NoError(t, err)
		env.apply(newSeeker(), env.newListing(newEmployer())) // to another organization

		header, rows := env.exportApplications(employer, hiring.ExportFilters{})
		require.Equal(t,
			"id,job_id,job_title,applicant_name,applicant_email,status,applied_at,updated_at,"+
				"interview_at,interview_status,interview_outcome",
			strings.Join(header, ","))
		require.Len(t, rows, 2)

		newest, oldest := rows[0], rows[1]
		require.Equal(t, pending.ID, newest[idColumn])
		require.Equal(t, interviewed.ID, oldest[idColumn])
		require.Equal(t, "review", oldest[statusColumn])
		require.Equal(t, "2027-03-27T11:00:00Z", oldest[interviewAtColumn])
		require.Equal(t, "scheduled", oldest[interviewStatusColumn])
		require.Equal(t, "pending", oldest[interviewOutcomeColumn])
	})
}

// TestExport_Filters_SelectRows checks the filters by status, listing and date on two applications: one in
// review, and a later pending one to another listing. Both are of 17 March 2026, the date of the test's
// clock.
func TestExport_Filters_SelectRows(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		otherListing := env.newListing(employer)
		reviewed := env.apply(newSeeker(), env.newListing(employer))
		pending := env.apply(newSeeker(), otherListing)
		require.NoError(t, env.setStatus(employer, reviewed.ID, "review"))

		for name, test := range map[string]struct {
			filters hiring.ExportFilters
			wantIDs []string
		}{
			"status":  {filters: hiring.ExportFilters{Status: ptr("review")}, wantIDs: []string{reviewed.ID}},
			"listing": {filters: hiring.ExportFilters{JobID: ptr(strings.ToUpper(otherListing))}, wantIDs: []string{pending.ID}},
			"one day, which includes the whole end date": {
				filters: hiring.ExportFilters{StartDate: ptr("2026-03-17"), EndDate: ptr("2026-03-17")},
				wantIDs: []string{pending.ID, reviewed.ID},
			},
			"until the day before": {filters: hiring.ExportFilters{EndDate: ptr("2026-03-16")}},
		} {
			_, rows := env.exportApplications(employer, test.filters)

			var ids []string
			for _, row := range rows {
				ids = append(ids, row[idColumn])
			}

			require.Equal(t, test.wantIDs, ids, name)
		}
	})
}

// TestExport_Interrupted_RestartsAndCompletes checks an export whose first attempts fail at the
// second page. Meanwhile it shows its progress and offers no partial file. In the end the file
// contains every row once.
func TestExport_Interrupted_RestartsAndCompletes(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	const failingAttempts = 2
	env.jobsTable.failures.Store(failingAttempts)

	export := env.startExport(employer, "jobs")
	require.Empty(t, env.sentMails()) // runs the first attempt

	// After the first attempt, the export shows the progress of one page.
	view := env.myExport(employer, export.ID)
	require.Equal(t, hiring.ExportRunning, view.State)
	require.Equal(t, rowsPerPage, view.RowsDone)
	require.Equal(t, tableRows, view.RowsTotal)
	require.Empty(t, view.URL)

	// The second attempt fails, too, and the third one completes the export.
	for range failingAttempts {
		env.clock.Advance(time.Minute) // longer than the delay before the next attempt
		env.work.All(t)
	}

	view = env.myExport(employer, export.ID)
	require.Equal(t, hiring.ExportDone, view.State)

	_, rows := env.downloadExport(view)
	require.Len(t, rows, 1+tableRows, "the header and all rows of the table")

	lastRow := rows[tableRows]
	require.Equal(t, []string{strconv.Itoa(tableRows - 1)}, lastRow, "the first row has the number 0")
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

		const unknownSize = -1
		require.EqualValues(t, unknownSize, download.Size, "before the table is read")

		defer func() { require.NoError(t, download.Body.Close()) }()

		return io.ReadAll(download.Body)
	}

	const lineEnd = "\r\n"

	// The second page cannot be read.
	env.jobsTable.failures.Store(1)

	part, err := readTable()
	require.Error(t, err, "an incomplete table is an error")
	require.Equal(t, 1+rowsPerPage, strings.Count(string(part), lineEnd), "the header and the first page")

	// Afterwards, all pages can be read.
	whole, err := readTable()
	require.NoError(t, err)
	require.Equal(t, 1+tableRows, strings.Count(string(whole), lineEnd), "the header and all rows")
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

	// After its last row, the download has ended.
	_, err = io.Copy(io.Discard, download.Body)
	require.NoError(t, err)

	oneByte := make([]byte, 1)
	_, err = download.Body.Read(oneByte)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, download.Body.Close())
}

// TestExportNow_UnknownStatus_IsRefused checks a filter with a status that applications do not have.
func TestExportNow_UnknownStatus_IsRefused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	unknownStatus := hiring.ExportFilters{Status: ptr("hired")}
	_, err := env.ExportNow(t.Context(), newEmployer(), "applications", unknownStatus)
	require.ErrorIs(t, err, hiring.ErrInvalidStatus)
}

// TestExportNow_WithoutPermission_IsForbidden checks that neither members without permissions nor
// jobseekers can export a table.
func TestExportNow_WithoutPermission_IsForbidden(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	withoutPermissions := newEmployer()
	withoutPermissions.Permissions = nil
	_, err := env.ExportNow(t.Context(), withoutPermissions, "applications", hiring.ExportFilters{})
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.ExportNow(t.Context(), newSeeker(), "jobs", hiring.ExportFilters{})
	require.ErrorIs(t, err, fault.ErrForbidden)
}

// TestExport_CannotBeWritten_IsFailed checks that an export is failed after the last attempt of its task,
// which is then dead. An operator who has repaired the cause retries the task, and it completes the export.
func TestExport_CannotBeWritten_IsFailed(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	const maxAttempts = 20 // more than the task of an export has
	env.jobsTable.failures.Store(maxAttempts)

	export := env.startExport(employer, "jobs")

	for range maxAttempts {
		env.work.All(t)
		env.clock.Advance(5 * time.Hour) // longer than the delay before the next attempt
	}

	view := env.myExport(employer, export.ID)
	require.Equal(t, hiring.ExportFailed, view.State)
	require.NotNil(t, view.FinishedAt)

	// An operator repairs the cause and retries the task.
	const noFailures = 0
	env.jobsTable.failures.Store(noFailures)

	dead, err := env.store.Hiring.Tasks.List(t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(t, err)
	require.Len(t, dead, 1, "the task of the export")

	_, err = env.store.Hiring.Tasks.Retry(t.Context(), []string{dead[0].ID})
	require.NoError(t, err)
	require.Len(t, env.sentMails(), 1, "the e-mail with the link")
	require.Equal(t, hiring.ExportDone, env.myExport(employer, export.ID).State)
}

// TestExport_WorkerLost_NotCountedAfterADay checks exports that no worker finishes. After a day
// the periodic ForgetExports marks them as failed, and they do not count towards the limit of
// maxExports any more.
func TestExport_WorkerLost_NotCountedAfterADay(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	var newest hiring.Export
	for range maxExports {
		newest = env.startExport(employer, "jobs")
	}

	// Just before a day has passed, the unfinished exports count.
	env.clock.Advance(24*time.Hour - time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, hiring.ErrTooManyExports)

	// After a day, they have failed and do not count.
	env.clock.Advance(2 * time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))
	require.Equal(t, hiring.ExportFailed, env.myExport(employer, newest.ID).State)
	env.startExport(employer, "jobs")

	// The tasks of the exports run late, after all. They complete the exports that had failed.
	env.work.All(t)
	require.Equal(t, hiring.ExportDone, env.myExport(employer, newest.ID).State)
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
		env.startExport(employer, kind)
		require.Empty(t, env.sentMails(), kind)

		// The member has got the permission back.
		delete(env.lostPermissions, employer.UserID)
		env.startExport(employer, kind)
		require.Len(t, env.sentMails(), 1, kind)
	}
}

// TestExport_OtherOrganizationOrID_NotFound checks that a member of another organization does not find an
// export, as if its id did not exist.
func TestExport_OtherOrganizationOrID_NotFound(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer, other := newEmployer(), newEmployer()
	export := env.startExport(employer, "applications")
	env.work.All(t) // writes the file

	_, err := env.MyExport(t.Context(), other, export.ID)
	require.ErrorIs(t, err, hiring.ErrExportNotFound)

	_, err = env.MyExport(t.Context(), employer, "nonsense")
	require.ErrorIs(t, err, hiring.ErrExportNotFound)
}

// TestExport_WithoutPermission_IsForbidden checks that neither a colleague who may not see applications
// nor a jobseeker can start or see an export of applications. Jobseekers cannot export jobs either.
func TestExport_WithoutPermission_IsForbidden(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer, seeker := newEmployer(), newSeeker()
	withoutView := colleague(employer, auth.JobsCreate)
	export := env.startExport(employer, "applications")
	env.work.All(t) // writes the file

	_, err := env.MyExport(t.Context(), withoutView, export.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.StartExport(t.Context(), withoutView, hiring.ExportInput{Kind: "applications"})
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.MyExport(t.Context(), seeker, export.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.StartExport(t.Context(), seeker, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, fault.ErrForbidden)
}

// TestOpenExport_InvalidToken_Unauthorized checks that a link is valid for one export, one
// purpose and one hour.
func TestOpenExport_InvalidToken_Unauthorized(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	export := env.startExport(employer, "applications")
	env.work.All(t) // writes the file

	token := tokenOf(env.myExport(employer, export.ID))
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

	_, err := env.OpenExport(t.Context(), export.ID, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "an expired token")
}

// TestExport_AfterAWeek_DeletedWithFile checks that an export and its links end after 7 days,
// because the file contains names and addresses.
func TestExport_AfterAWeek_DeletedWithFile(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	export := env.startExport(employer, "jobs")
	env.work.All(t) // writes the file

	// Just before 7 days have passed, the export exists.
	env.clock.Advance(7*24*time.Hour - time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	view := env.myExport(employer, export.ID)

	// After 7 days, neither the export nor its file exists.
	env.clock.Advance(2 * time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))

	_, err := env.MyExport(t.Context(), employer, export.ID)
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
		env.startExport(employer, "jobs")
	}

	_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, hiring.ErrTooManyExports)

	// After the exports are finished, another one can be started.
	env.work.All(t)
	env.startExport(employer, "jobs")
}

// TestStartExport_InvalidInput_Refused checks that an unknown kind and invalid filters are refused when
// the export is requested.
func TestStartExport_InvalidInput_Refused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	for name, input := range map[string]hiring.ExportInput{
		"unknown kind":   {Kind: "people"},
		"unknown status": {Kind: "applications", Filters: hiring.ExportFilters{Status: ptr("lost")}},
		"malformed id":   {Kind: "applications", Filters: hiring.ExportFilters{JobID: ptr("x")}},
		"malformed date": {Kind: "applications", Filters: hiring.ExportFilters{EndDate: ptr("soon")}},
	} {
		_, err := env.StartExport(t.Context(), newEmployer(), input)
		require.Equal(t, fault.Invalid, fault.Of(err).Kind, name)
	}
}

// TestMyExports_OwnOrganization_NewestFirst checks that the list omits exports of other
// organizations and of applications that the member may not see.
func TestMyExports_OwnOrganization_NewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer(auth.ApplicationsView, auth.JobsUpdate)

		// start starts an export, a minute after the one before, and returns its id.
		start := func(kind string) string {
			env.clock.Advance(time.Minute)
			return env.startExport(employer, kind).ID
		}

		oldest := start("applications")
		ofJobs := start("jobs")
		newest := start("applications")

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

		const moreThanAll = 10 // exports
		require.Equal(t, []string{newest, ofJobs, oldest}, listIDs(employer, moreThanAll))
		require.Equal(t, []string{newest}, listIDs(employer, 1))

		// A member who may not see applications sees the export of jobs only.
		withoutApplications := employer
		withoutApplications.Permissions = []auth.Permission{auth.JobsUpdate}
		require.Equal(t, []string{ofJobs}, listIDs(withoutApplications, moreThanAll))
		require.Empty(t, listIDs(newEmployer(), moreThanAll), "another organization")

		_, err := env.MyExports(t.Context(), newSeeker(), moreThanAll)
		require.ErrorIs(t, err, fault.ErrForbidden, "a jobseeker")
	})
}

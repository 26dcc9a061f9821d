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
	s, err := filestore.Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Seal and Unseal implement auth.Sealer with readable tokens.
func (e *testEnv) Seal(p auth.Purpose, subject string, until time.Time) (string, error) {
	return fmt.Sprint(p, "|", subject, "|", until.Unix()), nil
}

func (e *testEnv) Unseal(p auth.Purpose, token string) (string, error) {
	var until int64
	parts := strings.Split(token, "|")
	if len(parts) != 3 || parts[0] != string(p) {
		return "", fault.ErrUnauthorized
	}
	if _, err := fmt.Sscan(parts[2], &until); err != nil || !e.clock.Now().Before(time.Unix(until, 0)) {
		return "", fault.ErrUnauthorized
	}
	return parts[1], nil
}

// rowsTable is a table of 4,800 rows, which are two pages (rowsPerPage is 4,000). Reading the
// second page fails as often as failures says.
type rowsTable struct{ failures atomic.Int64 }

func (*rowsTable) Columns() []string             { return []string{"n"} }
func (*rowsTable) Check(map[string]string) error { return nil }
func (*rowsTable) Count(context.Context, string, map[string]string) (int, error) {
	return 4800, nil
}

func (f *rowsTable) Rows(
	_ context.Context,
	_ string,
	_ map[string]string,
	cursor string,
	n int,
	page *csvfile.Page,
) (next string, err error) {
	from := 0
	_, _ = fmt.Sscan(cursor, &from)
	if from > 0 && f.failures.Add(-1) >= 0 {
		return "", errors.New("the database is away")
	}
	for i := from; i < min(from+n, 4800); i++ {
		page.Row([]string{fmt.Sprint(i)})
	}
	if from+n < 4800 {
		next = fmt.Sprint(from + n)
	}
	return next, nil
}

// downloadExport reads the table at the link of an export.
func (e *testEnv) downloadExport(v hiring.ExportView) (hiring.Download, [][]string) {
	e.t.Helper()
	_, token, _ := strings.Cut(v.URL, "?token=")
	d, err := e.OpenExport(e.t.Context(), v.ID, token)
	require.NoError(e.t, err)
	defer func() { require.NoError(e.t, d.Body.Close()) }()
	raw, err := io.ReadAll(d.Body)
	require.NoError(e.t, err)
	require.EqualValues(e.t, len(raw), d.Size)
	rows, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	require.NoError(e.t, err)
	return d, rows
}

// TestExport_Filters_SelectRows follows exports from the request to the download: each filter
// selects the applications of the organization, and the link is in the e-mail and the response.
func TestExport_Filters_SelectRows(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		st := employer()
		first, second := env.newListing(st), env.newListing(st)
		application := env.apply(seeker(), first)
		other := env.apply(seeker(), second)
		require.NoError(t, env.setStatus(st, application.ID, "review"))
		_, err := env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.NoError(t, err)
		env.apply(seeker(), env.newListing(employer()))
		env.sentMails()

		run := func(f hiring.ExportFilters) [][]string {
			t.Helper()
			export, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "applications", Filters: f})
			require.NoError(t, err)
			require.Equal(t, hiring.ExportQueued, export.State)
			before, err := env.MyExport(t.Context(), st, strings.ToUpper(export.ID))
			require.NoError(t, err)
			require.Empty(t, before.URL)
			mails := env.sentMails()
			require.Len(t, mails, 1)
			require.Equal(t, "Your export is ready", mails[0].Subject)
			require.Contains(t, mails[0].Text, "/api/employers/exports/"+export.ID+"/file?token=")
			view, err := env.MyExport(t.Context(), st, export.ID)
			require.NoError(t, err)
			require.Equal(t, hiring.ExportDone, view.State)
			d, rows := env.downloadExport(view)
			require.Equal(t, "locum-applications-20260317.csv", d.Name)
			require.Equal(t, view.RowsDone, len(rows)-1)
			require.Equal(t, view.RowsTotal, view.RowsDone)
			return rows
		}
		rows := run(hiring.ExportFilters{})
		require.Equal(t,
			"id,job_id,job_title,applicant_name,applicant_email,status,applied_at,updated_at,interview_at,interview_status,interview_outcome",
			strings.Join(rows[0], ","))
		require.Equal(t, []string{other.ID, application.ID}, []string{rows[1][0], rows[2][0]}, "the newest first")
		require.Equal(t, []string{"review", "2027-03-27T11:00:00Z", "scheduled", "pending"},
			[]string{rows[2][5], rows[2][8], rows[2][9], rows[2][10]})
		require.Equal(t, application.ID, run(hiring.ExportFilters{Status: ptr("review")})[1][0])
		require.Equal(t, other.ID, run(hiring.ExportFilters{JobID: ptr(strings.ToUpper(second))})[1][0])
		// Two rows after the header; an end date includes its whole day.
		require.Len(t, run(hiring.ExportFilters{StartDate: ptr("2026-03-17"), EndDate: ptr("2026-03-17")}), 3)
		require.Len(t, run(hiring.ExportFilters{EndDate: ptr("2026-03-16")}), 1) // the header
	})
}

// TestExport_Interrupted_RestartsAndCompletes checks that an export whose attempts fail in the
// second page shows its progress, offers no partial file, and contains every row once in the
// end.
func TestExport_Interrupted_RestartsAndCompletes(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	env.table.failures.Store(2)
	export, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	require.Empty(t, env.sentMails())
	view, err := env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportRunning, view.State)
	require.Equal(t, 4000, view.RowsDone)
	require.Equal(t, 4800, view.RowsTotal)
	require.Empty(t, view.URL)
	for range 2 {
		env.clock.Advance(time.Minute)
		env.work.All(t)
	}
	view, err = env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportDone, view.State)
	_, rows := env.downloadExport(view)
	require.Len(t, rows, 4801)
	require.Equal(t, "4799", rows[4800][0])
}

// TestExportNow_PageFails_ReturnsFault checks that a table that is sent while it is read ends
// with an error if a page fails, so that no client takes it for complete, and that an
// organization can read five at the same time.
func TestExportNow_PageFails_ReturnsFault(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	read := func() ([]byte, error) {
		d, err := env.ExportNow(t.Context(), employer(), "jobs", hiring.ExportFilters{})
		require.NoError(t, err)
		require.EqualValues(t, -1, d.Size)
		defer func() { require.NoError(t, d.Body.Close()) }()
		return io.ReadAll(d.Body)
	}
	env.table.failures.Store(1)
	part, err := read()
	require.Error(t, err, "an incomplete table is an error")
	require.Equal(t, 4001, strings.Count(string(part), "\r\n")) // the header and the first page
	whole, err := read()
	require.NoError(t, err)
	require.Equal(t, 4801, strings.Count(string(whole), "\r\n"))

	owner := employer()
	var open []hiring.Download
	for range 5 {
		d, err := env.ExportNow(t.Context(), owner, "jobs", hiring.ExportFilters{})
		require.NoError(t, err)
		open = append(open, d)
	}
	_, err = env.ExportNow(t.Context(), owner, "jobs", hiring.ExportFilters{})
	require.ErrorIs(t, err, hiring.ErrExportsUnderWay, "a sixth concurrent export")
	for _, d := range open {
		require.NoError(t, d.Body.Close())
		require.NoError(t, d.Body.Close(), "a second Close does nothing")
	}
	d, err := env.ExportNow(t.Context(), owner, "jobs", hiring.ExportFilters{})
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, d.Body)
	require.NoError(t, err)
	_, err = d.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "reading a closed export returns EOF")
	require.NoError(t, d.Body.Close())

	_, err = env.ExportNow(t.Context(), employer(), "applications", hiring.ExportFilters{Status: ptr("hired")})
	require.ErrorIs(t, err, hiring.ErrInvalidStatus)
	viewless := employer()
	viewless.Permissions = nil
	_, err = env.ExportNow(t.Context(), viewless, "applications", hiring.ExportFilters{})
	require.ErrorIs(t, err, fault.ErrForbidden)
	_, err = env.ExportNow(t.Context(), seeker(), "jobs", hiring.ExportFilters{})
	require.ErrorIs(t, err, fault.ErrForbidden)
}

// TestExport_CannotBeWritten_IsFailed checks that an export is failed after its last attempt,
// and that an operator who retries the dead task completes it.
func TestExport_CannotBeWritten_IsFailed(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	env.table.failures.Store(1000)
	export, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	for range 20 {
		env.work.All(t)
		env.clock.Advance(5 * time.Hour)
	}
	view, err := env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportFailed, view.State)
	require.NotNil(t, view.FinishedAt)

	// An operator repairs the cause and retries the task.
	env.table.failures.Store(0)
	dead, err := env.store.Hiring.Tasks.List(t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(t, err)
	_, err = env.store.Hiring.Tasks.Retry(t.Context(), []string{dead[0].ID})
	require.NoError(t, err)
	require.Len(t, env.sentMails(), 1)
	view, err = env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportDone, view.State)
}

// TestExport_WorkerLost_NotCountedAfterADay checks that exports that no worker finishes do not
// count towards the limit of five after a day.
func TestExport_WorkerLost_NotCountedAfterADay(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	var export hiring.Export
	for range 5 {
		var err error
		export, err = env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
		require.NoError(t, err)
	}
	env.clock.Advance(24*time.Hour - time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))
	_, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, hiring.ErrExportsUnderWay)
	env.clock.Advance(2 * time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))
	view, err := env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportFailed, view.State)
	_, err = env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	env.sentMails()
	view, err = env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	require.Equal(t, hiring.ExportDone, view.State, "a task that runs late completes the export")
}

// TestExport_RequesterLeft_GetsNoLink checks that a member who has lost the permission to read
// the table, while it was written, gets no link to it.
func TestExport_RequesterLeft_GetsNoLink(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	for kind, needed := range map[string]auth.Permission{"applications": auth.ApplicationsView, "jobs": auth.AnyPermission} {
		st := employer()
		env.lostPermissions[st.UserID] = needed
		_, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: kind})
		require.NoError(t, err)
		require.Empty(t, env.sentMails(), kind)
		delete(env.lostPermissions, st.UserID)
		_, err = env.StartExport(t.Context(), st, hiring.ExportInput{Kind: kind})
		require.NoError(t, err)
		require.Len(t, env.sentMails(), 1, kind)
	}
}

// TestExport_OtherOrganization_NotFound checks that exports are visible to members of their
// organization with the permission only, and that a link is valid for one export, one purpose
// and one hour.
func TestExport_OtherOrganization_NotFound(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st, other := employer(), employer()
	blind := employer(auth.JobsCreate) // a member who may not see applications
	blind.OrganizationID = st.OrganizationID
	export, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "applications"})
	require.NoError(t, err)
	env.sentMails()
	_, err = env.MyExport(t.Context(), other, export.ID)
	require.ErrorIs(t, err, hiring.ErrExportNotFound)
	_, err = env.MyExport(t.Context(), st, "nonsense")
	require.ErrorIs(t, err, hiring.ErrExportNotFound)
	_, err = env.MyExport(t.Context(), blind, export.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)
	_, err = env.StartExport(t.Context(), blind, hiring.ExportInput{Kind: "applications"})
	require.ErrorIs(t, err, fault.ErrForbidden)
	_, err = env.StartExport(t.Context(), seeker(), hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, fault.ErrForbidden)
	_, err = env.MyExport(t.Context(), seeker(), export.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)

	v, err := env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	_, token, _ := strings.Cut(v.URL, "?token=")
	for name, link := range map[string][2]string{
		"another export's":  {stores.NewID(), token},
		"no token":          {export.ID, ""},
		"made up":           {export.ID, "download|x"},
		"another purpose's": {export.ID, strings.Replace(token, "download", "unsubscribe", 1)},
	} {
		_, err := env.OpenExport(t.Context(), link[0], link[1])
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
	}
	env.clock.Advance(time.Hour + time.Second)
	_, err = env.OpenExport(t.Context(), export.ID, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized)
}

// TestExport_AfterAWeek_DeletedWithFile checks that an export and its links end after 7 days,
// because the file contains names and addresses.
func TestExport_AfterAWeek_DeletedWithFile(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	export, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	env.sentMails()
	env.clock.Advance(7*24*time.Hour - time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))
	view, err := env.MyExport(t.Context(), st, export.ID)
	require.NoError(t, err)
	env.clock.Advance(2 * time.Second)
	require.NoError(t, env.ForgetExports(t.Context()))
	_, err = env.MyExport(t.Context(), st, export.ID)
	require.ErrorIs(t, err, hiring.ErrExportNotFound)
	_, token, _ := strings.Cut(view.URL, "?token=")
	_, err = env.OpenExport(t.Context(), export.ID, token)
	require.ErrorIs(t, err, hiring.ErrExportNotFound)
}

// TestExport_TooManyRunning_Refused checks the limit of five unfinished exports of an
// organization, and that invalid filters are refused when the export is requested.
func TestExport_TooManyRunning_Refused(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	for range 5 {
		_, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
		require.NoError(t, err)
	}
	_, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.ErrorIs(t, err, hiring.ErrExportsUnderWay)
	env.sentMails()
	_, err = env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "jobs"})
	require.NoError(t, err)
	for _, bad := range []hiring.ExportInput{
		{Kind: "people"},
		{Kind: "applications", Filters: hiring.ExportFilters{Status: ptr("lost")}},
		{Kind: "applications", Filters: hiring.ExportFilters{JobID: ptr("x")}},
		{Kind: "applications", Filters: hiring.ExportFilters{EndDate: ptr("soon")}},
	} {
		_, err := env.StartExport(t.Context(), st, bad)
		require.Equal(t, fault.Invalid, fault.Of(err).Kind)
	}
}

// TestMyExports_OwnOrganization_NewestFirst checks that the list omits exports of other
// organizations and of applications that the member may not see.
func TestMyExports_OwnOrganization_NewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e := employer(auth.ApplicationsView, auth.JobsUpdate)
		var ids []string
		for _, kind := range []string{"applications", "jobs", "applications"} {
			env.clock.Advance(time.Minute)
			started, err := env.StartExport(t.Context(), e, hiring.ExportInput{Kind: kind})
			require.NoError(t, err)
			ids = append(ids, started.ID)
		}
		list := func(by auth.Actor, n int) (out []string) {
			found, err := env.MyExports(t.Context(), by, n)
			require.NoError(t, err)
			for _, f := range found {
				out = append(out, f.ID)
			}
			return out
		}
		require.Equal(t, []string{ids[2], ids[1], ids[0]}, list(e, 10))
		require.Equal(t, []string{ids[2]}, list(e, 1))
		withoutApplications := e
		withoutApplications.Permissions = []auth.Permission{auth.JobsUpdate}
		require.Equal(t, []string{ids[1]}, list(withoutApplications, 10))
		require.Empty(t, list(employer(), 10))
		_, err := env.MyExports(t.Context(), seeker(), 10)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

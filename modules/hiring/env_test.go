package hiring_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// testEnv is the module on a real database. It implements the ports of other modules.
type testEnv struct {
	*hiring.Service
	t               testing.TB
	clock           *kit.Clock
	store           adapters.Storage
	postings        map[string]hiring.Posting // public listings by id
	lookups         atomic.Int64              // calls of Briefs and ByIDs
	work            kit.Work
	deletedUsers    map[string]bool                 // users whose accounts are deleted
	lostPermissions map[string]auth.Permission      // the permission that a user has lost
	optedOut        map[string]bool                 // users who have opted out of mail
	introductions   map[string]*hiring.Introduction // by user
	mu              sync.Mutex
	mails           []mail.Message                      // sent since the last call of sentMails
	table           rowsTable                           // the exported table of jobs
	views           int                                 // of every listing
	originals       map[string]hiring.ApplicantDocument // by user and id
	folder          string                              // of the file store
}

// Name implements hiring.Organizations.
func (e *testEnv) Name(_ context.Context, id string) (string, error) { return "Clinic " + id[:4], nil }

// Admins returns two admins of every organization.
func (e *testEnv) Admins(_ context.Context, id string, n int) ([]string, error) {
	return []string{"boss-of-" + id, "deputy-of-" + id}[:min(n, 2)], nil
}

// May reports that members have every permission but the one in lostPermissions.
func (e *testEnv) May(_ context.Context, _, userID string, p auth.Permission) (bool, error) {
	lost, some := e.lostPermissions[userID]
	return !some || lost != p, nil
}

func (e *testEnv) WantsAlerts(_ context.Context, userID string) (bool, error) {
	return !e.optedOut[userID], nil
}

func (e *testEnv) WantsMail(_ context.Context, userID string) (bool, error) {
	return !e.optedOut[userID], nil
}

func (e *testEnv) Introduction(_ context.Context, userID string) (*hiring.Introduction, error) {
	return e.introductions[userID], nil
}

// Send implements mail.Mailer.
func (e *testEnv) Send(_ context.Context, m mail.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mails = append(e.mails, m)
	return nil
}

// sentMails handles all due events and tasks and returns the messages that they sent.
func (e *testEnv) sentMails() []mail.Message {
	e.t.Helper()
	e.work.All(e.t)
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.mails
	e.mails = nil
	return out
}

// ForApply returns a listing that newListing has added.
func (e *testEnv) ForApply(_ context.Context, id string) (hiring.Posting, error) {
	p, ok := e.postings[id]
	if !ok {
		return p, hiring.ErrListingNotFound
	}
	return p, nil
}

// Briefs knows every id, and counts its calls.
func (e *testEnv) Briefs(_ context.Context, ids []string) (map[string]hiring.Brief, error) {
	e.lookups.Add(1)
	out := map[string]hiring.Brief{}
	for _, id := range ids {
		out[id] = hiring.Brief{Title: "Title of " + id, Company: "Company of " + id}
	}
	return out, nil
}

func (e *testEnv) Viewed(_ context.Context, _, id string) (string, int, error) {
	return "Title of " + id, e.views, nil
}

func (e *testEnv) CountByStatus(context.Context, string) (map[string]int, error) {
	return map[string]int{"active": len(e.postings)}, nil
}

// ByIDs knows every user who is not deleted, and counts its calls.
func (e *testEnv) ByIDs(_ context.Context, ids []string) (map[string]hiring.Person, error) {
	e.lookups.Add(1)
	out := map[string]hiring.Person{}
	for _, id := range ids {
		if e.deletedUsers[id] {
			continue
		}
		out[id] = hiring.Person{Name: "Name of " + id, Email: id + "@example.org"}
	}
	return out, nil
}

// openStorage opens a database for a test.
type openStorage = func(testing.TB, clock.Clock) adapters.Storage

// newTestEnv returns the module with a storage, a file store in a temporary folder and handlers
// of its own events and tasks.
func newTestEnv(t testing.TB, on openStorage) *testEnv {
	t.Helper()
	env := &testEnv{
		t:               t,
		clock:           kit.NewClock(),
		postings:        map[string]hiring.Posting{},
		deletedUsers:    map[string]bool{},
		lostPermissions: map[string]auth.Permission{},
		optedOut:        map[string]bool{},
		introductions:   map[string]*hiring.Introduction{},
		originals:       map[string]hiring.ApplicantDocument{},
		folder:          t.TempDir(),
	}
	env.store = on(t, env.clock)
	store := env.store.Hiring
	shared := &hiring.Shared{
		Tx:            store.Tx,
		Events:        store.Events,
		Clock:         env.clock,
		NewID:         stores.NewID,
		Tasks:         store.Tasks,
		People:        env,
		Organizations: env,
		Mailer:        env,
		PublicURL:     "https://jobs.example.org",
		HasSite:       true,
	}
	env.Service = &hiring.Service{
		Shared: shared,
		ExportService: &hiring.ExportService{
			Shared:  shared,
			Audit:   env.store.Identity.Audit,
			Exports: store.Exports,
			Files:   newFileStore(t, env.folder),
			Sealer:  env,
		},
		Applications:       store.Applications,
		Appointments:       store.Appointments,
		Messages:           store.Messages,
		Notes:              store.Notes,
		Ratings:            store.Ratings,
		Documents:          store.Documents,
		ApplicantDocuments: env,
		Listings:           env,
		Preferences:        env,
		PersonalData:       store.PersonalData,
		Limiter:            locallimit.New(env.clock),
	}
	env.Tables = map[string]hiring.Table{"jobs": &env.table, "applications": env.Table()}
	env.work = kit.NewWork(t, env.store, env.clock, []event.Subscription{
		event.OnID("received", env.OnApplicationSubmitted), event.OnID("status", env.MailStatusChanged).In(task.Mail),
		event.OnID("withdrawn", env.OnApplicationWithdrawn), event.OnID("moderated", env.OnJobModerated),
		event.On("export", env.MailExport).In(task.Mail),
		event.OnID("interview", env.MailInterview).In(task.Mail), event.On("contact", env.MailContact).In(task.Mail),
	}, env.Handlers()...)
	return env
}

// onEach runs the test on SQLite and on Postgres.
func onEach(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, on openStorage) { test(t, newTestEnv(t, on)) })
}

// seeker returns a new jobseeker.
func seeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

// employer returns a member of a new organization. The default permissions are those of
// applications.
func employer(may ...auth.Permission) auth.Actor {
	if len(may) == 0 {
		may = []auth.Permission{auth.ApplicationsView, auth.ApplicationsUpdate}
	}
	return auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID(), Permissions: may}
}

// newListing creates a listing of the employer's organization and returns its id.
func (b *testEnv) newListing(e auth.Actor, questions ...hiring.Question) string {
	id := stores.NewID()
	b.postings[id] = hiring.Posting{ID: id, OrganizationID: e.OrganizationID, Questions: questions}
	return id
}

// apply applies to the listing with a cover letter.
func (e *testEnv) apply(by auth.Actor, listing string) hiring.Application {
	e.t.Helper()
	a, err := e.Apply(e.t.Context(), by, hiring.ApplyInput{ListingID: listing, CoverLetter: "Dear all"})
	require.NoError(e.t, err)
	return a
}

// recordedEvents returns the events that have been recorded since the last call: submitted,
// OLD-STATUS>NEW-STATUS, interview CHANGE SEQUENCE, or the type of another event.
func (b *testEnv) recordedEvents() (out []string) {
	b.t.Helper()
	got, err := b.store.Hiring.Outbox.Claim(b.t.Context(), 1000, time.Hour)
	require.NoError(b.t, err)
	for _, e := range got {
		switch e.Type {
		case "application.submitted":
			out = append(out, "submitted")
		case "application.status_changed":
			v, err := event.Decode[event.ApplicationStatusChanged](e)
			require.NoError(b.t, err)
			out = append(out, v.PreviousStatus+">"+v.Status)
		case "interview.changed":
			v, err := event.Decode[event.InterviewChanged](e)
			require.NoError(b.t, err)
			out = append(out, fmt.Sprint("interview ", v.Change, " ", v.Sequence))
		default:
			out = append(out, e.Type)
		}
		require.NoError(b.t, b.store.Hiring.Outbox.MarkSent(b.t.Context(), e.ID))
	}
	return out
}

// setStatus sets the status on behalf of an employer.
func (b *testEnv) setStatus(e auth.Actor, id, status string) error {
	return b.Decide(b.t.Context(), e, hiring.Decision{ID: id, Status: status})
}

// visibleStatus returns the status that the applicant sees.
func (e *testEnv) visibleStatus(by auth.Actor, id string) hiring.Status {
	e.t.Helper()
	d, err := e.MyApplication(e.t.Context(), by, id)
	require.NoError(e.t, err)
	return d.Shown()
}

// received returns the application as the employer sees it.
func (b *testEnv) received(e auth.Actor, id string) hiring.Detail {
	b.t.Helper()
	d, err := b.ReceivedApplication(b.t.Context(), e, id)
	require.NoError(b.t, err)
	return d
}

// formatTimeline formats a timeline as ACTOR:OLD-STATUS>NEW-STATUS, separated by spaces. The
// submission has no old status.
func formatTimeline(changes []hiring.Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Actor)+":"+string(c.From)+">"+string(c.To))
	}
	return strings.Join(out, " ")
}

func ptr(s string) *string { return &s }

var firstPage = page.Request{Number: 1, Size: 20}

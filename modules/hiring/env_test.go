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

// testEnv is the module on a real database. Tests call the methods of the module on it, which
// the embedded Service provides. It implements the ports through which the module calls other
// modules: hiring.Organizations, hiring.People, hiring.Listings, hiring.Preferences and
// hiring.ApplicantDocuments. It also implements mail.Mailer and auth.Sealer.
//
// The name of each user is "Name of " and the id, and the address is the id and "@example.org".
type testEnv struct {
	*hiring.Service
	t               testing.TB
	clock           *kit.Clock // begins in March 2026 and stands still unless a test advances it
	store           adapters.Storage
	work            kit.Work                            // work.All handles the recorded events and the due tasks
	postings        map[string]hiring.Posting           // public listings by id
	views           int                                 // the views of every listing
	lookups         atomic.Int64                        // calls of ListBriefs and ByIDs
	deletedUsers    map[string]bool                     // users whose accounts are deleted
	lostPermissions map[string]auth.Permission          // the permission that a user has lost
	optedOut        map[string]bool                     // users who have opted out of mail
	introductions   map[string]*hiring.Introduction     // by user id
	originals       map[string]hiring.ApplicantDocument // by user id + document id
	jobsTable       rowsTable                           // the rows of exports of jobs
	filesFolder     string                              // the folder of the file store
	mu              sync.Mutex
	mails           []mail.Message // sent since the last call of sentMails, guarded by mu
}

// Name implements hiring.Organizations.
func (e *testEnv) Name(_ context.Context, id string) (string, error) { return "Clinic " + id[:4], nil }

// Admins implements hiring.Organizations: every organization has two admins.
func (e *testEnv) Admins(_ context.Context, id string, n int) ([]string, error) {
	return []string{"boss-of-" + id, "deputy-of-" + id}[:min(n, 2)], nil
}

// May implements hiring.Organizations: members have every permission but the one in
// lostPermissions.
func (e *testEnv) May(_ context.Context, _, userID string, p auth.Permission) (bool, error) {
	lost, hasLost := e.lostPermissions[userID]
	return !hasLost || lost != p, nil
}

// WantsAlerts implements hiring.Organizations.
func (e *testEnv) WantsAlerts(_ context.Context, userID string) (bool, error) {
	return !e.optedOut[userID], nil
}

// WantsMail implements hiring.Preferences.
func (e *testEnv) WantsMail(_ context.Context, userID string) (bool, error) {
	return !e.optedOut[userID], nil
}

// Introduction implements hiring.Preferences.
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

// sentMails handles all recorded events and due tasks, among them those that send e-mails. It
// returns the messages that were sent since its last call.
func (e *testEnv) sentMails() []mail.Message {
	e.t.Helper()
	e.work.All(e.t)
	e.mu.Lock()
	defer e.mu.Unlock()

	sent := e.mails
	e.mails = nil

	return sent
}

// GetPublic implements hiring.Listings: it returns a listing that newListing has added.
func (e *testEnv) GetPublic(_ context.Context, id string) (hiring.Posting, error) {
	posting, found := e.postings[id]
	if !found {
		return posting, hiring.ErrListingNotFound
	}

	return posting, nil
}

// ListBriefs implements hiring.Listings: every id has a listing. It counts its calls.
func (e *testEnv) ListBriefs(_ context.Context, ids []string) (map[string]hiring.Brief, error) {
	e.lookups.Add(1)

	briefs := map[string]hiring.Brief{}
	for _, id := range ids {
		briefs[id] = hiring.Brief{Title: "Title of " + id, Company: "Company of " + id}
	}

	return briefs, nil
}

// GetTitleAndViews implements hiring.Listings.
func (e *testEnv) GetTitleAndViews(_ context.Context, _, id string) (string, int, error) {
	return "Title of " + id, e.views, nil
}

// CountByStatus implements hiring.Listings.
func (e *testEnv) CountByStatus(context.Context, string) (map[string]int, error) {
	return map[string]int{"active": len(e.postings)}, nil
}

// ByIDs implements hiring.People: every id has a user, except those in deletedUsers. It counts
// its calls.
func (e *testEnv) ByIDs(_ context.Context, ids []string) (map[string]hiring.Person, error) {
	e.lookups.Add(1)

	people := map[string]hiring.Person{}
	for _, id := range ids {
		if e.deletedUsers[id] {
			continue
		}

		people[id] = hiring.Person{Name: "Name of " + id, Email: id + "@example.org"}
	}

	return people, nil
}

// openStorage opens a database for a test.
type openStorage = func(testing.TB, clock.Clock) adapters.Storage

// newTestEnv returns the module with a storage, a file store in a temporary folder and handlers
// of its own events and tasks.
func newTestEnv(t testing.TB, open openStorage) *testEnv {
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
		filesFolder:     t.TempDir(),
	}
	env.store = open(t, env.clock)
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
			Files:   newFileStore(t, env.filesFolder),
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
	env.Tables = map[string]hiring.Table{"jobs": &env.jobsTable, "applications": env.Table()}
	subscriptions := []event.Subscription{
		event.OnID("received", env.OnApplicationSubmitted),
		event.OnID("status", env.MailStatusChanged).In(task.Mail),
		event.OnID("withdrawn", env.OnApplicationWithdrawn),
		event.OnID("moderated", env.OnJobModerated),
		event.On("export", env.MailExport).In(task.Mail),
		event.OnID("interview", env.MailInterview).In(task.Mail),
		event.On("contact", env.MailContact).In(task.Mail),
	}
	env.work = kit.NewWork(t, env.store, env.clock, subscriptions, env.Handlers()...)

	return env
}

// onEach runs the test on SQLite and on Postgres.
func onEach(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open openStorage) { test(t, newTestEnv(t, open)) })
}

// newSeeker returns a new jobseeker.
func newSeeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

// newEmployer returns a member of a new organization. Without permissions in the call, the
// member may view and update applications.
func newEmployer(permissions ...auth.Permission) auth.Actor {
	if len(permissions) == 0 {
		permissions = []auth.Permission{auth.ApplicationsView, auth.ApplicationsUpdate}
	}

	return auth.Actor{
		UserID:         stores.NewID(),
		Role:           auth.Employer,
		OrganizationID: stores.NewID(),
		Permissions:    permissions,
	}
}

// newListing adds a public listing of the employer's organization and returns its id.
func (e *testEnv) newListing(employer auth.Actor, questions ...hiring.Question) string {
	id := stores.NewID()
	e.postings[id] = hiring.Posting{ID: id, OrganizationID: employer.OrganizationID, Questions: questions}
	return id
}

// apply applies to the listing with the cover letter "Dear all". It requires success.
func (e *testEnv) apply(by auth.Actor, listingID string) hiring.Application {
	e.t.Helper()

	application, err := e.Apply(e.t.Context(), by, hiring.ApplyInput{ListingID: listingID, CoverLetter: "Dear all"})
	require.NoError(e.t, err)

	return application
}

// recordedEvents takes the events that were recorded since its last call from the outbox, so
// that they are not handled. It formats each as "submitted", "OLD-STATUS>NEW-STATUS", "interview
// CHANGE SEQUENCE-NUMBER", or the type of another event.
func (e *testEnv) recordedEvents() (formatted []string) {
	e.t.Helper()

	claimed, err := e.store.Hiring.Outbox.Claim(e.t.Context(), 1000, time.Hour)
	require.NoError(e.t, err)

	for _, recorded := range claimed {
		switch recorded.Type {
		case "application.submitted":
			formatted = append(formatted, "submitted")
		case "application.status_changed":
			changed, err := event.Decode[event.ApplicationStatusChanged](recorded)
			require.NoError(e.t, err)

			formatted = append(formatted, changed.PreviousStatus+">"+changed.Status)
		case "interview.changed":
			changed, err := event.Decode[event.InterviewChanged](recorded)
			require.NoError(e.t, err)

			formatted = append(formatted, fmt.Sprint("interview ", changed.Change, " ", changed.Sequence))
		default:
			formatted = append(formatted, recorded.Type)
		}

		require.NoError(e.t, e.store.Hiring.Outbox.MarkSent(e.t.Context(), recorded.ID))
	}

	return formatted
}

// setStatus sets the status of an application as the employer.
func (e *testEnv) setStatus(employer auth.Actor, id, status string) error {
	return e.Decide(e.t.Context(), employer, hiring.Decision{ID: id, Status: status})
}

// visibleStatus returns the status that the applicant sees.
func (e *testEnv) visibleStatus(applicant auth.Actor, id string) hiring.Status {
	e.t.Helper()

	application, err := e.MyApplication(e.t.Context(), applicant, id)
	require.NoError(e.t, err)

	return application.ApplicantStatus()
}

// received returns the application as the employer sees it. It requires that the employer may
// see it.
func (e *testEnv) received(employer auth.Actor, id string) hiring.Detail {
	e.t.Helper()

	detail, err := e.ReceivedApplication(e.t.Context(), employer, id)
	require.NoError(e.t, err)

	return detail
}

// formatTimeline formats a timeline as ACTOR:OLD-STATUS>NEW-STATUS, separated by spaces. The
// submission has no old status.
func formatTimeline(changes []hiring.Change) string {
	var formatted []string
	for _, change := range changes {
		formatted = append(formatted, string(change.Actor)+":"+string(change.From)+">"+string(change.To))
	}

	return strings.Join(formatted, " ")
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }

// firstPage requests more rows than most tests store.
var firstPage = page.Request{Number: 1, Size: 20}

// firstPageWithoutTotal is firstPage without the number of all rows.
var firstPageWithoutTotal = page.After("", firstPage.Size)

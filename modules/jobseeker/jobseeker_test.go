package jobseeker_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/filestore"
	"github.com/locumhq/locum/adapters/filetypes"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/adapters/mailboxes"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// testEnv is the module on a real database. It implements the ports of other modules.
type testEnv struct {
	*jobseeker.Service
	t      testing.TB
	clock  *kit.Clock
	store  adapters.Storage
	work   kit.Work
	titles map[string]string // titles
	// postedAt contains the times of posting, unpublished the listings that are no longer
	// public.
	postedAt       map[string]time.Time
	unpublished    map[string]bool
	sent           []mail.Message
	mailErr        error
	withoutAddress map[string]bool // users without an address
	names          map[string]string
	closesAt       map[string]time.Time
	emails         map[string]string // requested new addresses by user
	emailErr       error
	offers         []offer
	suggestCalls   int                 // number of calls of Suggest
	applied        map[string][]string // listings by user, the latest last
	// files counts the stored files and can be made to fail.
	files *failingStore
	// resolved counts the queries that Resolve has corrected; unindexed is set if
	// there is no search index to do so.
	resolved  atomic.Int64
	unindexed bool
}

// failingStore is a file store that can be made to fail.
type failingStore struct {
	files.Store
	mu                sync.Mutex
	keys              map[string]bool
	putErr, deleteErr error
}

// Put implements files.Store.
func (f *failingStore) Put(ctx context.Context, key string, write func(io.Writer) error) error {
	if f.putErr != nil {
		return f.putErr
	}
	f.mu.Lock()
	f.keys[key] = true
	f.mu.Unlock()
	return f.Store.Put(ctx, key, write)
}

// Delete implements files.Store.
func (f *failingStore) Delete(ctx context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleteErr != nil {
		return f.deleteErr
	}
	delete(f.keys, key)
	return f.Store.Delete(ctx, key)
}

func (f *failingStore) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.keys)
}

// Rename implements jobseeker.Accounts.
func (d *testEnv) Rename(_ context.Context, userID, name string) error {
	d.names[userID] = name
	return nil
}

// ChangeEmail implements jobseeker.Accounts.
func (d *testEnv) ChangeEmail(_ context.Context, by auth.Actor, email string) error {
	d.emails[by.UserID] = email
	return d.emailErr
}

// PendingEmail implements jobseeker.Accounts.
func (d *testEnv) PendingEmail(_ context.Context, userID string) (string, error) {
	return d.emails[userID], nil
}

func (d *testEnv) Public(_ context.Context, ids []string) (out []jobseeker.Posting, _ error) {
	for _, id := range ids {
		if !d.unpublished[id] && d.titles[id] != "" {
			out = append(out, jobseeker.Posting{ID: id, Title: d.titles[id], Company: "St Brigid's", Location: "Leeds", PostedAt: d.postedAt[id]})
		}
	}
	return out, nil
}

// Resolve corrects one misspelt word.
func (d *testEnv) Resolve(_ context.Context, text string) (string, error) {
	if d.unindexed {
		return "", nil
	}
	d.resolved.Add(1)
	return strings.ReplaceAll(text, "Nusre", "Nurse"), nil
}

func (d *testEnv) Gather(ctx context.Context, ids []string) (jobseeker.Gathered, error) {
	public, err := d.Public(ctx, ids)
	return matchingByTitle(public), err
}

// matchingByTitle matches by a part of the title. The real matching is tested in package
// listings.
type matchingByTitle []jobseeker.Posting

func (g matchingByTitle) Postings() []jobseeker.Posting { return g }

func (g matchingByTitle) Matching(_ context.Context, t jobseeker.Terms) (out []int, _ error) {
	for i, p := range g {
		if strings.Contains(p.Title, t.Query) {
			out = append(out, i)
		}
	}
	return out, nil
}

func (d *testEnv) ByIDs(_ context.Context, ids []string) (map[string]jobseeker.Person, error) {
	out := map[string]jobseeker.Person{}
	for _, id := range ids {
		if !d.withoutAddress[id] {
			out[id] = jobseeker.Person{Name: cmp.Or(d.names[id], "Niamh"), Email: id + "@example.org"}
		}
	}
	return out, nil
}

// Send implements mail.Mailer.
func (d *testEnv) Send(_ context.Context, m mail.Message) error {
	if d.mailErr != nil {
		return d.mailErr
	}
	d.sent = append(d.sent, m)
	return nil
}

// Seal implements auth.Sealer.
func (d *testEnv) Seal(p auth.Purpose, subject string, until time.Time) (string, error) {
	return fmt.Sprintf("%s.%s.%d", p, subject, until.Unix()), nil
}

// Unseal implements auth.Sealer.
func (d *testEnv) Unseal(p auth.Purpose, token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] != string(p) {
		return "", fault.ErrUnauthorized
	}
	return parts[1], nil
}

func (d *testEnv) Briefs(_ context.Context, ids []string) (map[string]jobseeker.Brief, error) {
	out := map[string]jobseeker.Brief{}
	for _, id := range ids {
		if t, ok := d.titles[id]; ok {
			out[id] = jobseeker.Brief{Title: t, Company: "St Brigid's", Location: "Leeds", Public: !d.unpublished[id]}
		}
	}
	return out, nil
}

func (d *testEnv) ClosingBetween(_ context.Context, from jobseeker.Closing, until time.Time, n int) (out []jobseeker.Closing, _ error) {
	for id, at := range d.closesAt {
		if !d.unpublished[id] && !at.After(until) && (at.After(from.At) || at.Equal(from.At) && id > from.ID && from.ID != "") {
			out = append(out, jobseeker.Closing{At: at, ID: id, Title: d.titles[id]})
		}
	}
	slices.SortFunc(out, func(a, b jobseeker.Closing) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out[:min(n, len(out))], nil
}

type openStorage = func(testing.TB, clock.Clock) adapters.Storage

func newTestEnv(t testing.TB, on openStorage) *testEnv {
	t.Helper()
	d := &testEnv{t: t, clock: kit.NewClock(), titles: map[string]string{}, postedAt: map[string]time.Time{}, unpublished: map[string]bool{}, withoutAddress: map[string]bool{}, names: map[string]string{}, closesAt: map[string]time.Time{}, emails: map[string]string{}, applied: map[string][]string{}}
	d.store = on(t, d.clock)
	store, err := filestore.Open(t.TempDir())
	require.NoError(t, err)
	d.files = &failingStore{Store: store, keys: map[string]bool{}}
	s := d.store.Jobseeker
	shared := &jobseeker.Shared{Tx: s.Tx, Clock: d.clock, NewID: stores.NewID, Tasks: s.Tasks, Profiles: s.Profiles, Notifications: s.Notifications, Activities: s.Activities, Listings: d}
	documents := &jobseeker.DocumentService{Shared: shared, Documents: s.Documents, DocumentFiles: s.DocumentFiles, FileTypes: filetypes.Documents{}, Files: d.files}
	bookmarks := &jobseeker.BookmarkService{Shared: shared, Bookmarks: s.Bookmarks}
	profiles := &jobseeker.ProfileService{Shared: shared, Accounts: d, People: d}
	d.Service = &jobseeker.Service{
		Shared: shared, NotificationService: &jobseeker.NotificationService{Shared: shared}, DocumentService: documents, BookmarkService: bookmarks, ProfileService: profiles,
		SearchService: &jobseeker.SearchService{Shared: shared, Account: profiles, Searches: s.Searches, AlertQueue: s.AlertQueue, Matches: s.Matches,
			Subscribers: s.Subscribers, Mailboxes: mailboxes.Keys{}, Limiter: locallimit.New(d.clock), Mailer: d, Sealer: d, PublicURL: "https://jobs.example.org"},
		OnboardingService: &jobseeker.OnboardingService{Shared: shared, Onboardings: s.Onboardings, Documents: documents, Searches: s.Searches, Applied: d},
		DashboardService:  &jobseeker.DashboardService{Shared: shared, Documents: documents, Saved: bookmarks, Searches: s.Searches, Applied: d, Dismissals: s.Dismissals, Plans: d},
		Retention:         s.Retention, PersonalData: s.PersonalData,
	}
	d.work = kit.NewWork(t, d.store, d.clock, []event.Subscription{
		event.OnID("test.submitted", d.OnApplicationSubmitted),
		event.OnID("test.changed", d.OnApplicationStatusChanged),
		event.OnID("test.changed-again", d.OnApplicationStatusChanged),
		event.OnID("test.interview", d.OnInterviewChanged),
		event.OnID("test.contacted", d.OnApplicantContacted),
		event.On("test.created", d.OnJobCreated),
	}, d.Handlers()...)
	return d
}

func onEach(t *testing.T, test func(t *testing.T, d *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, on openStorage) { test(t, newTestEnv(t, on)) })
}

func seeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

// newListing creates a listing and returns its id.
func (d *testEnv) newListing(title string) string {
	id := stores.NewID()
	d.titles[id], d.postedAt[id] = title, d.clock.Now()
	return id
}

// recordAndHandle records the events and runs all resulting work.
func (d *testEnv) recordAndHandle(events ...event.Event) {
	d.t.Helper()
	require.NoError(d.t, d.store.Jobseeker.Tx.Do(d.t.Context(), func(ctx context.Context) error { return d.store.Jobseeker.Events.Record(ctx, events...) }))
	d.work.All(d.t)
}

var all = page.Request{Number: 1, Size: 100}

// notificationTexts returns the user's notifications, newest first.
func (d *testEnv) notificationTexts(who auth.Actor) (out []string) {
	d.t.Helper()
	r, err := d.MyNotifications(d.t.Context(), who, all)
	require.NoError(d.t, err)
	for _, n := range r.Items {
		out = append(out, string(n.Type)+": "+n.Message)
	}
	return out
}

// activityTexts returns the user's activity log, newest first.
func (d *testEnv) activityTexts(who auth.Actor) (out []string) {
	d.t.Helper()
	r, err := d.MyActivity(d.t.Context(), who, all)
	require.NoError(d.t, err)
	for _, a := range r.Items {
		out = append(out, a.Type+" "+a.Action+": "+a.Description)
	}
	return out
}

func TestNotifications_Decision_SentOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who, listing := seeker(), d.newListing("Staff Nurse")
		changed := func(to string) event.Event {
			d.clock.Advance(time.Minute)
			return event.ApplicationStatusChanged{ApplicationID: stores.NewID(), JobID: listing, CandidateID: who.UserID, ActorID: stores.NewID(), Status: to, ChangedAt: d.clock.Now()}
		}
		d.recordAndHandle(event.ApplicationSubmitted{ApplicationID: stores.NewID(), JobID: listing, CandidateID: who.UserID, Status: "pending", SubmittedAt: d.clock.Now()})
		require.Empty(t, d.notificationTexts(who), "the user's own actions create no notification")
		// Two subscribers of the test handle each of these events: delivery is at least
		// once.
		d.recordAndHandle(changed("review"))
		d.recordAndHandle(changed("accepted"))
		require.Equal(t, []string{
			"application: Your application for Staff Nurse has been accepted",
			"application: Your application for Staff Nurse is under review",
		}, d.notificationTexts(who))
		require.Equal(t, []string{
			"application status-changed: Your application for Staff Nurse has been accepted",
			"application status-changed: Your application for Staff Nurse is under review",
			"application applied: Applied for Staff Nurse",
		}, d.activityTexts(who))
		require.Empty(t, d.notificationTexts(seeker()))
	})
}

func TestNotifications_OwnWithdrawal_NotSent(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.recordAndHandle(event.ApplicationStatusChanged{ApplicationID: stores.NewID(), JobID: d.newListing("Midwife"), CandidateID: who.UserID, ActorID: who.UserID, Status: "withdrawn", PreviousStatus: "review", ChangedAt: d.clock.Now()})
		require.Empty(t, d.notificationTexts(who))
		require.Equal(t, []string{"application withdrew: Withdrew the application for Midwife"}, d.activityTexts(who))
	})
}

func TestNotifications_InterviewsAndMessages_Sent(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who, listing := seeker(), d.newListing("Paramedic")
		at := time.Date(2026, 4, 1, 9, 5, 0, 0, time.FixedZone("BST", 3600))
		for _, change := range []string{"scheduled", "moved", "cancelled"} {
			d.recordAndHandle(event.InterviewChanged{ApplicationID: stores.NewID(), JobID: listing, CandidateID: who.UserID, Change: change, ScheduledAt: at, ChangedAt: d.clock.Now()})
		}
		d.recordAndHandle(event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: stores.NewID(), CandidateID: who.UserID})
		require.Equal(t, []string{
			"message: The employer sent you a message about your application for a listing that is gone",
			"interview: Your interview for Paramedic on Wednesday 1 April 2026, 08:05 UTC has been cancelled",
			"interview: Your interview for Paramedic has changed: it is on Wednesday 1 April 2026, 08:05 UTC",
			"interview: You are invited to an interview for Paramedic on Wednesday 1 April 2026, 08:05 UTC",
		}, d.notificationTexts(who))
		require.Len(t, d.activityTexts(who), 3)
	})
}

func TestNotifications_OtherUser_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who, stranger := t.Context(), seeker(), seeker()
		d.recordAndHandle(event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: d.newListing("GP"), CandidateID: who.UserID})
		r, err := d.MyNotifications(ctx, who, all)
		require.NoError(t, err)
		id, yes := r.Items[0].ID, true
		require.False(t, r.Items[0].Read)
		for _, in := range []jobseeker.MarkInput{{}, {Read: &yes}} {
			require.ErrorIs(t, d.MarkNotification(ctx, stranger, id, in), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, d.MarkNotification(ctx, who, "nonsense", in), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, d.MarkNotification(ctx, auth.Actor{UserID: who.UserID}, id, in), fault.ErrForbidden)
			require.NoError(t, d.MarkNotification(ctx, who, id, in))
		}
		require.ErrorIs(t, d.DeleteNotification(ctx, stranger, id), jobseeker.ErrNotificationNotFound)
		require.ErrorIs(t, d.DeleteNotification(ctx, auth.Actor{}, id), fault.ErrUnauthorized)
		require.NoError(t, d.DeleteNotification(ctx, who, id))
		require.Empty(t, d.notificationTexts(who))
		_, err = d.MyNotifications(ctx, auth.Actor{}, all)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		_, err = d.MyActivity(ctx, auth.Actor{}, all)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		for _, list := range []func() error{
			func() error {
				_, err := d.MyNotifications(ctx, who, page.Request{Number: 1, Size: 1, Cursor: "x"})
				return err
			},
			func() error {
				_, err := d.MyActivity(ctx, who, page.Request{Number: 1, Size: 1, Cursor: "x"})
				return err
			},
		} {
			require.Equal(t, "cursor", fault.Of(list()).Fields[0].Name)
		}
	})
}

func TestNotifications_AfterHalfAYear_Deleted(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		happen := func() {
			d.recordAndHandle(event.ApplicationStatusChanged{ApplicationID: stores.NewID(), JobID: d.newListing("Porter"), CandidateID: who.UserID, ActorID: stores.NewID(), Status: "review", ChangedAt: d.clock.Now()})
		}
		happen()
		d.clock.Advance(179 * 24 * time.Hour)
		happen()
		d.runPeriodic("jobseeker.forget")
		require.Len(t, d.notificationTexts(who), 2)
		d.clock.Advance(2 * 24 * time.Hour)
		d.runPeriodic("jobseeker.forget")
		require.Len(t, d.notificationTexts(who), 1)
		require.Len(t, d.activityTexts(who), 1)
	})
}

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

// testEnv runs the module on a real database. Tests call the methods of the module on it, which
// the embedded Service provides. It implements the ports that other modules provide, with the
// data in its fields.
type testEnv struct {
	*jobseeker.Service
	t     testing.TB
	clock *kit.Clock // stands still unless a test advances it
	store adapters.Storage
	tasks kit.Work // tasks.All handles the recorded events and the due tasks before it returns

	// Listings, by id.
	titles       map[string]string
	postedAt     map[string]time.Time
	closesAt     map[string]time.Time
	unpublished  map[string]bool     // listings that are no longer public
	offers       []offer             // the listings that Suggest returns
	suggestCalls int                 // calls of Suggest
	applied      map[string][]string // the listings that each user has applied for, the latest last

	// Accounts, by user id.
	names               map[string]string
	withoutEmailAddress map[string]bool
	pendingEmails       map[string]string // requested new addresses
	emailErr            error             // the result of ChangeEmail

	sent    []mail.Message
	mailErr error // the result of Send
	// fileStore counts the stored files and can be made to fail.
	fileStore *failingStore
	// resolvedCount is the number of queries that Resolve has corrected. With hasNoIndex,
	// Resolve behaves as without a search index.
	resolvedCount atomic.Int64
	hasNoIndex    bool
}

// failingStore is a file store that can be made to fail.
type failingStore struct {
	files.Store
	mu        sync.Mutex
	keys      map[string]bool // the keys of the stored files
	putErr    error           // if set, the result of Put
	deleteErr error           // if set, the result of Delete
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

// count returns the number of stored files.
func (f *failingStore) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.keys)
}

// Rename implements jobseeker.Accounts.
func (env *testEnv) Rename(_ context.Context, userID, name string) error {
	env.names[userID] = name
	return nil
}

// ChangeEmail implements jobseeker.Accounts.
func (env *testEnv) ChangeEmail(_ context.Context, by auth.Actor, email string) error {
	env.pendingEmails[by.UserID] = email
	return env.emailErr
}

// PendingEmail implements jobseeker.Accounts.
func (env *testEnv) PendingEmail(_ context.Context, userID string) (string, error) {
	return env.pendingEmails[userID], nil
}

// Public implements jobseeker.Listings. Every listing has the same company and place.
func (env *testEnv) Public(_ context.Context, ids []string) (public []jobseeker.Listing, _ error) {
	for _, id := range ids {
		if env.unpublished[id] || env.titles[id] == "" {
			continue
		}

		public = append(public, jobseeker.Listing{
			ID:       id,
			Title:    env.titles[id],
			Company:  "St Brigid's",
			Location: "Leeds",
			PostedAt: env.postedAt[id],
		})
	}

	return public, nil
}

// Resolve implements jobseeker.Listings. It corrects one misspelt word.
func (env *testEnv) Resolve(_ context.Context, text string) (string, error) {
	if env.hasNoIndex {
		return "", nil
	}

	env.resolvedCount.Add(1)

	return strings.ReplaceAll(text, "Nusre", "Nurse"), nil
}

// Gather implements jobseeker.Listings.
func (env *testEnv) Gather(ctx context.Context, ids []string) (jobseeker.ListingBatch, error) {
	public, err := env.Public(ctx, ids)
	return matchingByTitle(public), err
}

// matchingByTitle matches a listing if its title contains the query. The tests of package
// listings cover the real matching.
type matchingByTitle []jobseeker.Listing

// Listings implements jobseeker.ListingBatch.
func (g matchingByTitle) Listings() []jobseeker.Listing { return g }

// Matching implements jobseeker.ListingBatch.
func (g matchingByTitle) Matching(_ context.Context, t jobseeker.Terms) (positions []int, _ error) {
	for i, listing := range g {
		if strings.Contains(listing.Title, t.Query) {
			positions = append(positions, i)
		}
	}

	return positions, nil
}

// ByIDs implements jobseeker.People. A user without a name in env.names is called Niamh.
func (env *testEnv) ByIDs(_ context.Context, ids []string) (map[string]jobseeker.Person, error) {
	people := map[string]jobseeker.Person{}
	for _, id := range ids {
		if !env.withoutEmailAddress[id] {
			people[id] = jobseeker.Person{Name: cmp.Or(env.names[id], "Niamh"), Email: id + "@example.org"}
		}
	}

	return people, nil
}

// Send implements mail.Mailer.
func (env *testEnv) Send(_ context.Context, m mail.Message) error {
	if env.mailErr != nil {
		return env.mailErr
	}

	env.sent = append(env.sent, m)

	return nil
}

// Seal implements auth.Sealer. The token is PURPOSE.SUBJECT.EXPIRY and is not encrypted.
func (env *testEnv) Seal(p auth.Purpose, subject string, until time.Time) (string, error) {
	return fmt.Sprintf("%s.%s.%d", p, subject, until.Unix()), nil
}

// Unseal implements auth.Sealer. It ignores the expiry.
func (env *testEnv) Unseal(p auth.Purpose, token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] != string(p) {
		return "", fault.ErrUnauthorized
	}

	return parts[1], nil
}

// ListBriefs implements jobseeker.Listings.
func (env *testEnv) ListBriefs(_ context.Context, ids []string) (map[string]jobseeker.Brief, error) {
	briefs := map[string]jobseeker.Brief{}
	for _, id := range ids {
		if title, exists := env.titles[id]; exists {
			briefs[id] = jobseeker.Brief{Title: title, Company: "St Brigid's", Location: "Leeds", Public: !env.unpublished[id]}
		}
	}

	return briefs, nil
}

// ListClosing implements jobseeker.Listings. The listings are sorted by the time at which they close, and then by
// id. A page begins after from, the last listing of the page before.
func (env *testEnv) ListClosing(
	_ context.Context,
	from jobseeker.Closing,
	until time.Time,
	n int,
) (closing []jobseeker.Closing, _ error) {
	for id, at := range env.closesAt {
		closesLater := at.After(from.At)
		closesAtSameTime := from.ID != "" && at.Equal(from.At) && id > from.ID
		isInRange := (closesLater || closesAtSameTime) && !at.After(until)

		if isInRange && !env.unpublished[id] {
			closing = append(closing, jobseeker.Closing{At: at, ID: id, Title: env.titles[id]})
		}
	}

	slices.SortFunc(closing, func(a, b jobseeker.Closing) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})

	return closing[:min(n, len(closing))], nil
}

// openStorage opens a database for a test.
type openStorage = func(testing.TB, clock.Clock) adapters.Storage

// newTestEnv returns a testEnv on the storage that the function opens.
func newTestEnv(t testing.TB, open openStorage) *testEnv {
	t.Helper()

	env := &testEnv{
		t:                   t,
		clock:               kit.NewClock(),
		titles:              map[string]string{},
		postedAt:            map[string]time.Time{},
		closesAt:            map[string]time.Time{},
		unpublished:         map[string]bool{},
		applied:             map[string][]string{},
		names:               map[string]string{},
		withoutEmailAddress: map[string]bool{},
		pendingEmails:       map[string]string{},
	}
	env.store = open(t, env.clock)
	store, err := filestore.Open(t.TempDir())
	require.NoError(t, err)

	env.fileStore = &failingStore{Store: store, keys: map[string]bool{}}
	storage := env.store.Jobseeker
	shared := &jobseeker.Shared{
		Tx:            storage.Tx,
		Clock:         env.clock,
		NewID:         stores.NewID,
		Tasks:         storage.Tasks,
		Profiles:      storage.Profiles,
		Notifications: storage.Notifications,
		Activities:    storage.Activities,
		Listings:      env,
	}
	documents := &jobseeker.DocumentService{
		Shared:        shared,
		Documents:     storage.Documents,
		DocumentFiles: storage.DocumentFiles,
		FileTypes:     filetypes.Documents{},
		Files:         env.fileStore,
	}
	bookmarks := &jobseeker.BookmarkService{Shared: shared, Bookmarks: storage.Bookmarks}
	profiles := &jobseeker.ProfileService{Shared: shared, Accounts: env, People: env}
	env.Service = &jobseeker.Service{
		Shared:              shared,
		NotificationService: &jobseeker.NotificationService{Shared: shared},
		DocumentService:     documents,
		BookmarkService:     bookmarks,
		ProfileService:      profiles,
		SearchService: &jobseeker.SearchService{
			Shared:      shared,
			Account:     profiles,
			Searches:    storage.Searches,
			AlertQueue:  storage.AlertQueue,
			Matches:     storage.Matches,
			Subscribers: storage.Subscribers,
			Mailboxes:   mailboxes.Keys{},
			Limiter:     locallimit.New(env.clock),
			Mailer:      env,
			Sealer:      env,
			PublicURL:   "https://jobs.example.org",
		},
		OnboardingService: &jobseeker.OnboardingService{
			Shared:      shared,
			Onboardings: storage.Onboardings,
			Documents:   documents,
			Searches:    storage.Searches,
			Applied:     env,
		},
		DashboardService: &jobseeker.DashboardService{
			Shared:     shared,
			Documents:  documents,
			Saved:      bookmarks,
			Searches:   storage.Searches,
			Applied:    env,
			Dismissals: storage.Dismissals,
			Plans:      env,
		},
		Retention:    storage.Retention,
		PersonalData: storage.PersonalData,
	}
	env.tasks = kit.NewWork(t, env.store, env.clock, []event.Subscription{
		event.OnID("test.submitted", env.OnApplicationSubmitted),
		event.OnID("test.changed", env.OnApplicationStatusChanged),
		event.OnID("test.changed-again", env.OnApplicationStatusChanged),
		event.OnID("test.interview", env.OnInterviewChanged),
		event.OnID("test.contacted", env.OnApplicantContacted),
		event.On("test.created", env.OnJobCreated),
	}, env.Handlers()...)

	return env
}

// onEachStorage runs the test on every database.
func onEachStorage(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open openStorage) { test(t, newTestEnv(t, open)) })
}

// newSeeker returns a new jobseeker.
func newSeeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

// newListing creates a listing and returns its id.
func (env *testEnv) newListing(title string) string {
	id := stores.NewID()
	env.titles[id] = title
	env.postedAt[id] = env.clock.Now()

	return id
}

// recordAndHandle records the events, and handles them and the resulting tasks.
func (env *testEnv) recordAndHandle(events ...event.Event) {
	env.t.Helper()

	storage := env.store.Jobseeker
	err := storage.Tx.Do(env.t.Context(), func(ctx context.Context) error {
		return storage.Events.Record(ctx, events...)
	})
	require.NoError(env.t, err)
	env.tasks.All(env.t)
}

// firstPage contains all items of a test.
var firstPage = page.Request{Number: 1, Size: 100}

// notificationTexts returns the user's notifications, newest first, as "TYPE: MESSAGE".
func (env *testEnv) notificationTexts(user auth.Actor) (texts []string) {
	env.t.Helper()

	notifications, err := env.MyNotifications(env.t.Context(), user, firstPage)
	require.NoError(env.t, err)

	for _, notification := range notifications.Items {
		texts = append(texts, string(notification.Type)+": "+notification.Message)
	}

	return texts
}

// activityTexts returns the user's activity log, newest first, as "TYPE ACTION: DESCRIPTION".
func (env *testEnv) activityTexts(user auth.Actor) (texts []string) {
	env.t.Helper()

	activities, err := env.MyActivity(env.t.Context(), user, firstPage)
	require.NoError(env.t, err)

	for _, activity := range activities.Items {
		texts = append(texts, activity.Type+" "+activity.Action+": "+activity.Description)
	}

	return texts
}

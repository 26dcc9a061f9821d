package hiring_test

import (
	"context"
	"encoding/json"
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
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// board is the module on a real database, with a few listings around it.
type board struct {
	*hiring.Service
	t      testing.TB
	clock  *kit.Clock
	store  adapters.Storage
	posts  map[string]hiring.Posting
	named  atomic.Int64 // calls of the other modules
	work   kit.Work
	gone   map[string]bool            // who has no account any more
	left   map[string]auth.Permission // who lost it
	quiet  map[string]bool            // who wants no news by mail
	intros map[string]*hiring.Introduction
	mu     sync.Mutex
	mails  []mail.Message
	table  fewRows
	views  int
}

func (b *board) Name(_ context.Context, id string) (string, error) { return "Clinic " + id[:4], nil }

func (b *board) Admins(_ context.Context, id string, n int) ([]string, error) {
	return []string{"boss-of-" + id, "deputy-of-" + id}[:min(n, 2)], nil
}

func (b *board) May(_ context.Context, _, userID string, p auth.Permission) (bool, error) {
	lost, some := b.left[userID]
	return !some || lost != p, nil
}

func (b *board) WantsAlerts(_ context.Context, userID string) (bool, error) {
	return !b.quiet[userID], nil
}

func (b *board) WantsMail(_ context.Context, userID string) (bool, error) {
	return !b.quiet[userID], nil
}

func (b *board) Introduction(_ context.Context, userID string) (*hiring.Introduction, error) {
	return b.intros[userID], nil
}

func (b *board) Send(_ context.Context, m mail.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, m)
	return nil
}

// mailed does all that is due and returns the messages that it sent.
func (b *board) mailed() []mail.Message {
	b.t.Helper()
	b.work.All(b.t)
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.mails
	b.mails = nil
	return out
}

func (b *board) ForApply(_ context.Context, id string) (hiring.Posting, error) {
	p, ok := b.posts[id]
	if !ok {
		return p, hiring.ErrListingNotFound
	}
	return p, nil
}

func (b *board) Titles(_ context.Context, ids []string) (map[string]string, error) {
	b.named.Add(1)
	out := map[string]string{}
	for _, id := range ids {
		out[id] = "Title of " + id
	}
	return out, nil
}

func (b *board) Companies(_ context.Context, ids []string) (map[string]string, error) {
	out := map[string]string{}
	for _, id := range ids {
		out[id] = "Company of " + id
	}
	return out, nil
}

func (b *board) Viewed(_ context.Context, _, id string) (string, int, error) {
	return "Title of " + id, b.views, nil
}

func (b *board) CountByStatus(context.Context, string) (map[string]int, error) {
	return map[string]int{"active": len(b.posts)}, nil
}

func (b *board) ByIDs(_ context.Context, ids []string) (map[string]hiring.Person, error) {
	b.named.Add(1)
	out := map[string]hiring.Person{}
	for _, id := range ids {
		if b.gone[id] {
			continue
		}
		out[id] = hiring.Person{Name: "Name of " + id, Email: id + "@example.org"}
	}
	return out, nil
}

type opener = func(testing.TB, clock.Clock) adapters.Storage

func open(t testing.TB, on opener) *board {
	t.Helper()
	b := &board{t: t, clock: kit.NewClock(), posts: map[string]hiring.Posting{}, gone: map[string]bool{}, left: map[string]auth.Permission{}, quiet: map[string]bool{}, intros: map[string]*hiring.Introduction{}}
	b.store = on(t, b.clock)
	b.Service = hiring.New(hiring.Needs{Tx: b.store.Tx, Events: b.store.Events, Clock: b.clock, NewID: stores.NewID,
		Applications: b.store.Applications, Appointments: b.store.Appointments, Letters: b.store.Letters, Listings: b, People: b, Organizations: b, Wishes: b,
		Jobs: b.store.Jobs, Mailer: b, Limiter: locallimit.New(b.clock), PublicURL: "https://jobs.example.org",
		Sealer: b, Files: keeping(t), Exports: b.store.Exports, Tables: map[string]hiring.Table{"jobs": &b.table}})
	b.work = kit.NewWork(t, b.store, b.clock, []event.Subscription{
		event.OnID("received", b.OnApplicationSubmitted), event.OnID("status", b.MailStatusChanged).In(job.Mail),
		event.On("export", b.MailExport).In(job.Mail),
		event.OnID("interview", b.MailInterview).In(job.Mail), event.On("contact", b.MailContact).In(job.Mail),
	}, b.Handlers()...)
	return b
}

func onEach(t *testing.T, test func(t *testing.T, b *board)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, on opener) { test(t, open(t, on)) })
}

func seeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

func employer(may ...auth.Permission) auth.Actor {
	if len(may) == 0 {
		may = []auth.Permission{auth.ApplicationsView, auth.ApplicationsUpdate}
	}
	return auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID(), Permissions: may}
}

// post makes a listing of the employer's organization.
func (b *board) post(e auth.Actor, questions ...hiring.Question) string {
	id := stores.NewID()
	b.posts[id] = hiring.Posting{ID: id, OrganizationID: e.OrganizationID, Questions: questions}
	return id
}

func (b *board) apply(by auth.Actor, listing string) hiring.Application {
	b.t.Helper()
	a, err := b.Apply(b.t.Context(), by, hiring.ApplyInput{ListingID: listing, CoverLetter: "Dear all"})
	require.NoError(b.t, err)
	return a
}

// told are the events that have been recorded since the last call.
func (b *board) told() (out []string) {
	b.t.Helper()
	got, err := b.store.Outbox.Claim(b.t.Context(), 1000, time.Hour)
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
		require.NoError(b.t, b.store.Outbox.MarkSent(b.t.Context(), e.ID))
	}
	return out
}

func (b *board) decide(e auth.Actor, id, status string) error {
	return b.Decide(b.t.Context(), e, hiring.Decision{ID: id, Status: status})
}

func (b *board) shown(by auth.Actor, id string) hiring.Status {
	b.t.Helper()
	d, err := b.MyApplication(b.t.Context(), by, id)
	require.NoError(b.t, err)
	return d.Shown()
}

func (b *board) received(e auth.Actor, id string) hiring.Detail {
	b.t.Helper()
	d, err := b.ReceivedApplication(b.t.Context(), e, id)
	require.NoError(b.t, err)
	return d
}

func path(changes []hiring.Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Actor)+":"+string(c.From)+">"+string(c.To))
	}
	return strings.Join(out, " ")
}

func ptr(s string) *string { return &s }

var firstPage = page.Request{Number: 1, Size: 20}

func TestAnApplicationReachesTheEmployerAndItsDecisionTheApplicant(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		job := b.post(st)
		a := b.apply(ann, strings.ToUpper(job))
		require.Equal(t, hiring.Pending, a.Status)
		require.Equal(t, b.clock.Now(), a.AppliedAt)

		got := b.received(st, a.ID)
		require.Equal(t, "Title of "+job, got.JobTitle)
		require.Equal(t, "Name of "+ann.UserID, got.Applicant.Name)
		require.Equal(t, "Dear all", got.CoverLetter)
		require.Equal(t, a, got.Application)

		b.clock.Advance(time.Hour)
		require.NoError(t, b.decide(st, strings.ToUpper(a.ID), "interview"))
		own, err := b.MyApplication(b.t.Context(), ann, a.ID)
		require.NoError(t, err)
		require.Equal(t, hiring.Interview, own.Shown())
		require.Empty(t, own.Applicant, "an applicant's view has no need of them")
		require.Equal(t, "jobseeker:>pending employer:pending>interview", path(own.Timeline))
		require.Equal(t, own.Timeline, b.received(st, a.ID).Timeline, "both sides see the same")
		require.Equal(t, st.UserID, own.Timeline[1].ActorID)
		require.Equal(t, b.clock.Now(), own.Timeline[1].At)
		require.Equal(t, []string{"submitted", "pending>interview"}, b.told())
	})
}

func TestEventsSayWhoseApplicationItIs(t *testing.T) {
	t.Parallel()
	b := open(t, stores.SQLite)
	ann, st := seeker(), employer()
	a := b.apply(ann, b.post(st))
	require.NoError(t, b.decide(st, a.ID, "review"))
	got, err := b.store.Outbox.Claim(b.t.Context(), 10, time.Hour)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.JSONEq(t, fmt.Sprintf(`{"application_id":%q,"job_id":%q,"organization_id":%q,"candidate_id":%q,"status":"pending","submitted_at":"2026-03-17T10:30:00Z"}`,
		a.ID, a.ListingID, st.OrganizationID, ann.UserID), string(got[0].Payload))
	require.JSONEq(t, fmt.Sprintf(`{"application_id":%q,"job_id":%q,"organization_id":%q,"candidate_id":%q,"status":"review","previous_status":"pending","changed_at":"2026-03-17T10:30:00Z","actor_id":%q}`,
		a.ID, a.ListingID, st.OrganizationID, ann.UserID, st.UserID), string(got[1].Payload))
	require.Equal(t, a.ID, got[0].Subject)
}

func TestAPersonAppliesToAListingOnce(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		job := b.post(st)
		var all sync.WaitGroup
		var done, refused atomic.Int64
		for range 50 {
			all.Go(func() {
				switch _, err := b.Apply(b.t.Context(), ann, hiring.ApplyInput{ListingID: job}); {
				case err == nil:
					done.Add(1)
				case fault.Of(err).Code == hiring.ErrAlreadyApplied.Code:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, done.Load())
		require.EqualValues(t, 49, refused.Load())
		require.Equal(t, []string{"submitted"}, b.told())
		require.Equal(t, "Already applied to this position", hiring.ErrAlreadyApplied.Message)

		mine, err := b.Mine(b.t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Len(t, mine.Items, 1)
		require.NoError(t, b.Withdraw(b.t.Context(), ann, mine.Items[0].ID))
		_, err = b.Apply(b.t.Context(), ann, hiring.ApplyInput{ListingID: job})
		require.ErrorIs(t, err, hiring.ErrAlreadyApplied, "a withdrawn application is a prior one")
		b.apply(seeker(), job)
		b.apply(ann, b.post(st))
	})
}

func TestWhatCannotBeAppliedToIsNotFound(t *testing.T) {
	t.Parallel()
	b := open(t, stores.SQLite)
	for _, id := range []string{stores.NewID(), "nonsense", "../x"} {
		_, err := b.Apply(b.t.Context(), seeker(), hiring.ApplyInput{ListingID: id})
		require.ErrorIs(t, err, hiring.ErrListingNotFound)
	}
	_, err := b.Apply(b.t.Context(), seeker(), hiring.ApplyInput{})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.Empty(t, b.told())
}

func TestRequiredQuestionsAreAnsweredAndOnlyThoseThatWereAsked(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		st := employer()
		job := b.post(st, hiring.Question{ID: "nmc", Required: true}, hiring.Question{ID: "car"})
		wrong := func(field string, answers ...hiring.Answer) {
			t.Helper()
			_, err := b.Apply(b.t.Context(), seeker(), hiring.ApplyInput{ListingID: job, Answers: answers})
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}
		pin := hiring.Answer{QuestionID: "nmc", Answer: "12A3456E"}
		wrong("answers")
		wrong("answers", hiring.Answer{QuestionID: "car", Answer: "yes"})
		wrong("answers", hiring.Answer{QuestionID: "nmc", Answer: " \n"})
		wrong("answers.1.question_id", pin, hiring.Answer{QuestionID: "age", Answer: "40"})
		wrong("answers.1.question_id", pin, pin)
		wrong("answers.1.answer", pin, hiring.Answer{QuestionID: "car", Answer: strings.Repeat("é", 5001)})
		wrong("answers", make([]hiring.Answer, 101)...)
		_, err := b.Apply(b.t.Context(), seeker(), hiring.ApplyInput{ListingID: job, CoverLetter: strings.Repeat("é", 20001), Answers: []hiring.Answer{pin}})
		require.Equal(t, "coverLetter", fault.Of(err).Fields[0].Name)

		answers := []hiring.Answer{{QuestionID: "car", Answer: `"no", <b>`}, pin}
		a, err := b.Apply(b.t.Context(), seeker(), hiring.ApplyInput{ListingID: job, Answers: answers})
		require.NoError(t, err)
		require.Equal(t, answers, b.received(st, a.ID).Answers)
	})
}

func TestTheTrackerIsTheApplicantsOwn(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		a := b.apply(ann, b.post(st))
		b.told()
		before := b.received(st, a.ID)

		got, err := b.Track(b.t.Context(), ann, a.ID, hiring.TrackInput{Status: ptr("in-progress"), StatusColor: ptr("bg-amber-100")})
		require.NoError(t, err)
		require.Equal(t, hiring.Status("in-progress"), got.Shown())
		require.Equal(t, hiring.Status("in-progress"), b.shown(ann, a.ID))
		after := b.received(st, a.ID)
		require.Equal(t, before.Status, after.Status)
		require.Equal(t, before.Timeline, after.Timeline)
		require.Empty(t, b.told(), "a private note is no news")

		require.NoError(t, b.decide(st, a.ID, "rejected"))
		require.Equal(t, hiring.Rejected, b.shown(ann, a.ID), "the employer's change is the later one")
		_, err = b.Track(b.t.Context(), ann, a.ID, hiring.TrackInput{Status: ptr("completed")})
		require.NoError(t, err)
		require.Equal(t, hiring.Status("completed"), b.shown(ann, a.ID))
		require.NoError(t, b.decide(st, a.ID, "rejected"))
		require.Equal(t, hiring.Status("completed"), b.shown(ann, a.ID), "setting what is set already is no change")

		got, err = b.Track(b.t.Context(), ann, a.ID, hiring.TrackInput{})
		require.NoError(t, err)
		require.Equal(t, "bg-amber-100", got.TrackerColor)
		for _, bad := range []string{"", "interview", "withdrawn", "PENDING"} {
			_, err = b.Track(b.t.Context(), ann, a.ID, hiring.TrackInput{Status: &bad})
			require.Equal(t, "status", fault.Of(err).Fields[0].Name, bad)
		}
		_, err = b.Track(b.t.Context(), ann, a.ID, hiring.TrackInput{StatusColor: ptr(strings.Repeat("x", 201))})
		require.Equal(t, "statusColor", fault.Of(err).Fields[0].Name)
	})
}

func TestAnApplicantsWithdrawalIsFinal(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		a := b.apply(ann, b.post(st))
		require.NoError(t, b.decide(st, a.ID, "review"))
		b.told()
		require.NoError(t, b.Withdraw(b.t.Context(), ann, a.ID))

		_, err := b.MyApplication(b.t.Context(), ann, a.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
		_, err = b.Track(b.t.Context(), ann, a.ID, hiring.TrackInput{Status: ptr("completed")})
		require.ErrorIs(t, err, hiring.ErrNotFound)
		require.ErrorIs(t, b.Withdraw(b.t.Context(), ann, a.ID), hiring.ErrNotFound)
		mine, err := b.Mine(b.t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Empty(t, mine.Items)
		require.Zero(t, mine.Total)

		for _, status := range hiring.Statuses {
			require.ErrorIs(t, b.decide(st, a.ID, string(status)), hiring.ErrInvalidStatus)
		}
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID), "it is what the employer asks for")
		got := b.received(st, a.ID)
		require.Equal(t, hiring.Withdrawn, got.Status)
		require.Equal(t, "jobseeker:>pending employer:pending>review jobseeker:review>withdrawn", path(got.Timeline))
		require.Equal(t, []string{"review>withdrawn"}, b.told())
	})
}

func TestAnEmployersWithdrawalIsNot(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		a := b.apply(ann, b.post(st))
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID))
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID))
		require.Equal(t, hiring.Withdrawn, b.shown(ann, a.ID), "the applicant still sees it")
		require.NoError(t, b.decide(st, a.ID, "accepted"))
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID))
		require.NoError(t, b.Withdraw(b.t.Context(), ann, a.ID), "the applicant makes it final")
		require.ErrorIs(t, b.decide(st, a.ID, "accepted"), hiring.ErrInvalidStatus)
		require.Equal(t, []string{"submitted", "pending>withdrawn", "withdrawn>accepted", "accepted>withdrawn"}, b.told())
	})
}

func TestNobodyReachesAnothersApplication(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		a := b.apply(ann, b.post(st))
		b.told()
		stranger, rival := seeker(), employer()
		for _, id := range []string{a.ID, stores.NewID(), "x"} {
			_, err := b.MyApplication(b.t.Context(), stranger, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			_, err = b.Track(b.t.Context(), stranger, id, hiring.TrackInput{Status: ptr("completed")})
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, b.Withdraw(b.t.Context(), stranger, id), hiring.ErrNotFound)
			_, err = b.ReceivedApplication(b.t.Context(), rival, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, b.decide(rival, id, "accepted"), hiring.ErrNotFound)
			require.ErrorIs(t, b.Dismiss(b.t.Context(), rival, id), hiring.ErrNotFound)
		}
		for _, e := range []auth.Actor{rival} {
			got, err := b.Received(b.t.Context(), e, firstPage)
			require.NoError(t, err)
			require.Empty(t, got.Items)
			require.Zero(t, got.Total)
		}
		require.Equal(t, hiring.Pending, b.received(st, a.ID).Status)
		require.Empty(t, b.told())
	})
}

func TestRightsAreAskedFor(t *testing.T) {
	t.Parallel()
	b := open(t, stores.SQLite)
	viewer, outsider, st := employer(auth.ApplicationsView), employer(auth.JobsUpdate), employer()
	viewer.OrganizationID, outsider.OrganizationID = st.OrganizationID, st.OrganizationID
	a := b.apply(seeker(), b.post(st))
	read := func(by auth.Actor) []error {
		_, err1 := b.Received(b.t.Context(), by, firstPage)
		_, err2 := b.ReceivedApplication(b.t.Context(), by, a.ID)
		return []error{err1, err2}
	}
	write := func(by auth.Actor) []error {
		_, _, err := b.DecideBatch(b.t.Context(), by, []hiring.Decision{{ID: a.ID, Status: "review"}})
		return []error{b.decide(by, a.ID, "review"), b.Dismiss(b.t.Context(), by, a.ID), err}
	}
	seek := func(by auth.Actor) []error {
		_, err1 := b.Apply(b.t.Context(), by, hiring.ApplyInput{ListingID: a.ListingID})
		_, err2 := b.Mine(b.t.Context(), by, firstPage)
		_, err3 := b.MyApplication(b.t.Context(), by, a.ID)
		_, err4 := b.Track(b.t.Context(), by, a.ID, hiring.TrackInput{})
		return []error{err1, err2, err3, err4, b.Withdraw(b.t.Context(), by, a.ID)}
	}
	forbidden := func(errs []error) {
		t.Helper()
		for _, err := range errs {
			require.ErrorIs(t, err, fault.ErrForbidden)
		}
	}
	for _, err := range read(viewer) {
		require.NoError(t, err)
	}
	forbidden(write(viewer))
	for _, by := range []auth.Actor{outsider, seeker(), {}} {
		forbidden(read(by))
		forbidden(write(by))
	}
	for _, by := range []auth.Actor{st, viewer, {}} {
		forbidden(seek(by))
	}
}

func TestStatusesAreThoseOfTheSet(t *testing.T) {
	t.Parallel()
	b := open(t, stores.SQLite)
	st := employer()
	a := b.apply(seeker(), b.post(st))
	for _, bad := range []string{"", "in-progress", "completed", "PENDING", "hired"} {
		err := b.decide(st, a.ID, bad)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)
		require.Equal(t, "Invalid status", fault.Of(err).Message)
	}
	for _, status := range hiring.Statuses {
		require.NoError(t, b.decide(st, a.ID, string(status)))
	}
}

func TestABatchIsCarriedOutItemByItem(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st, rival := seeker(), employer(), employer()
		one, two := b.apply(ann, b.post(st)), b.apply(seeker(), b.post(st))
		gone := b.apply(ann, b.post(st))
		foreign := b.apply(seeker(), b.post(rival))
		require.NoError(t, b.Withdraw(b.t.Context(), ann, gone.ID))
		b.told()
		missing := stores.NewID()
		updated, refused, err := b.DecideBatch(b.t.Context(), st, []hiring.Decision{
			{ID: one.ID, Status: "review"}, {ID: foreign.ID, Status: "rejected"}, {ID: missing, Status: "review"},
			{ID: two.ID, Status: "hired"}, {ID: two.ID, Status: "pending"}, {ID: "x", Status: "review"}, {},
			{ID: gone.ID, Status: "accepted"}, {ID: strings.ToUpper(one.ID), Status: "accepted"}, {ID: one.ID, Status: "accepted"},
		})
		require.NoError(t, err)
		require.Equal(t, []hiring.Decision{{ID: one.ID, Status: "review"}, {ID: two.ID, Status: "pending"},
			{ID: one.ID, Status: "accepted"}, {ID: one.ID, Status: "accepted"}}, updated)
		require.Equal(t, []hiring.Refusal{
			{At: 1, Decision: hiring.Decision{ID: foreign.ID, Status: "rejected"}, Error: "Application not found"},
			{At: 2, Decision: hiring.Decision{ID: missing, Status: "review"}, Error: "Application not found"},
			{At: 3, Decision: hiring.Decision{ID: two.ID, Status: "hired"}, Error: "Invalid status"},
			{At: 5, Decision: hiring.Decision{ID: "x", Status: "review"}, Error: "Application not found"},
			{At: 6, Error: "Application not found"},
			{At: 7, Decision: hiring.Decision{ID: gone.ID, Status: "accepted"}, Error: "Invalid status"},
		}, refused)
		require.Equal(t, "jobseeker:>pending employer:pending>review employer:review>accepted", path(b.received(st, one.ID).Timeline))
		require.Equal(t, hiring.Accepted, b.shown(ann, one.ID))
		require.Equal(t, hiring.Pending, b.received(rival, foreign.ID).Status)
		require.Equal(t, []string{"pending>review", "review>accepted"}, b.told())

		updated, refused, err = b.DecideBatch(b.t.Context(), st, nil)
		require.NoError(t, err)
		require.Empty(t, updated)
		require.Empty(t, refused)
		_, _, err = b.DecideBatch(b.t.Context(), st, make([]hiring.Decision, 101))
		require.ErrorIs(t, err, hiring.ErrBatchTooLarge)
	})
}

func TestBatchesThatShareApplicationsDoNotLoseChanges(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		st := employer()
		var ids []string
		for range 30 {
			ids = append(ids, b.apply(seeker(), b.post(st)).ID)
		}
		b.told()
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				var ds []hiring.Decision
				for i := range ids {
					// Each writer has an order and a status of its own.
					ds = append(ds, hiring.Decision{ID: ids[(i*7+w*5)%len(ids)], Status: string(hiring.Statuses[w%5+1])})
				}
				_, refused, err := b.DecideBatch(b.t.Context(), st, ds)
				if err != nil || len(refused) > 0 {
					t.Error(err, refused)
				}
			})
		}
		all.Wait()
		steps := 0
		for _, id := range ids {
			d := b.received(st, id)
			for i := 1; i < len(d.Timeline); i++ {
				require.Equal(t, d.Timeline[i-1].To, d.Timeline[i].From, "the timeline has no gap")
			}
			require.Equal(t, d.Status, d.Timeline[len(d.Timeline)-1].To)
			steps += len(d.Timeline) - 1
		}
		require.Len(t, b.told(), steps, "each change was told once")
	})
}

func TestListsAreReadByPageAndByCursor(t *testing.T) {
	onEach(t, func(t *testing.T, b *board) {
		ann, st := seeker(), employer()
		var want []string
		for range 25 {
			want = append([]string{b.apply(ann, b.post(st)).ID}, want...)
		}
		b.apply(seeker(), b.post(employer()))
		for name, list := range map[string]func(page.Request) (page.Result[hiring.View], error){
			"received": func(r page.Request) (page.Result[hiring.View], error) { return b.Received(b.t.Context(), st, r) },
			"mine":     func(r page.Request) (page.Result[hiring.View], error) { return b.Mine(b.t.Context(), ann, r) },
		} {
			ids := func(r page.Result[hiring.View]) (out []string) {
				for _, v := range r.Items {
					require.Equal(t, "Title of "+v.ListingID, v.JobTitle, name)
					require.Empty(t, v.CoverLetter, "lists do not carry letters around")
					out = append(out, v.ID)
				}
				require.Equal(t, 25, r.Total, name)
				require.False(t, r.TotalIsEstimate)
				return out
			}
			before := b.named.Load()
			r, err := list(page.Request{Number: 1, Size: 10})
			require.NoError(t, err)
			require.Equal(t, want[:10], ids(r), name)
			require.LessOrEqual(t, b.named.Load()-before, int64(2), "names are looked up for the page, not for each row")
			second, err := list(page.Request{Number: 2, Size: 10})
			require.NoError(t, err)
			require.Equal(t, want[10:20], ids(second), name)
			beyond, err := list(page.Request{Number: 9, Size: 10})
			require.NoError(t, err)
			require.Empty(t, ids(beyond), name)

			var seen []string
			r.NextCursor = ""
			for n := 0; ; n++ {
				require.Less(t, n, 10)
				r, err = list(page.Request{Number: 1, Size: 10, Cursor: r.NextCursor})
				require.NoError(t, err)
				seen = append(seen, ids(r)...)
				if r.NextCursor == "" {
					break
				}
			}
			require.Equal(t, want, seen, name)
			_, err = list(page.Request{Number: 1, Size: 10, Cursor: "' OR 1=1"})
			require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
		}
	})
}

func TestALongTimelineShowsItsEnd(t *testing.T) {
	t.Parallel()
	b := open(t, stores.SQLite)
	st := employer()
	a := b.apply(seeker(), b.post(st))
	for i := range 250 {
		require.NoError(t, b.decide(st, a.ID, string(hiring.Statuses[i%2+1])))
	}
	d := b.received(st, a.ID)
	require.Len(t, d.Timeline, 201)
	require.Equal(t, d.Status, d.Timeline[200].To)
	require.Empty(t, d.Timeline[0].From)
}

func TestAnAnswerIsOneShapeEverywhere(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(hiring.Answer{QuestionID: "q", Answer: "a"})
	require.NoError(t, err)
	require.JSONEq(t, `{"question_id":"q","answer":"a"}`, string(text))
}

func TestAnEmployerSeesWhatAnApplicantShows(t *testing.T) {
	t.Parallel()
	b := open(t, stores.SQLite)
	ann, shy, st := seeker(), seeker(), employer()
	b.intros[ann.UserID] = &hiring.Introduction{Bio: "Twelve years in theatre."}
	a := b.apply(ann, b.post(st))
	require.Equal(t, b.intros[ann.UserID], b.received(st, a.ID).Introduction)
	require.Nil(t, b.received(st, b.apply(shy, b.post(st)).ID).Introduction)
	require.NoError(t, b.Withdraw(t.Context(), ann, a.ID))
	require.Nil(t, b.received(st, a.ID).Introduction, "no longer an applicant")
}

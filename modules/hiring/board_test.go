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
	b.Service = hiring.New(hiring.Deps{Tx: b.store.Hiring.Tx, Events: b.store.Hiring.Events, Audit: b.store.Identity.Audit, Clock: b.clock, NewID: stores.NewID,
		Applications: b.store.Hiring.Applications, Appointments: b.store.Hiring.Appointments, Messages: b.store.Hiring.Messages, PersonalData: b.store.Hiring.PersonalData, Listings: b, People: b, Organizations: b, Preferences: b,
		Tasks: b.store.Hiring.Tasks, Mailer: b, Limiter: locallimit.New(b.clock), PublicURL: "https://jobs.example.org",
		Sealer: b, Files: keeping(t), Exports: b.store.Hiring.Exports, Tables: map[string]hiring.Table{"jobs": &b.table}})
	b.work = kit.NewWork(t, b.store, b.clock, []event.Subscription{
		event.OnID("received", b.OnApplicationSubmitted), event.OnID("status", b.MailStatusChanged).In(task.Mail),
		event.On("export", b.MailExport).In(task.Mail),
		event.OnID("interview", b.MailInterview).In(task.Mail), event.On("contact", b.MailContact).In(task.Mail),
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

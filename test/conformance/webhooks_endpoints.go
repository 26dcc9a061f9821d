package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// endpoints is the suite of endpoints and of who hears of what.
func endpoints(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	t.Run("an endpoint is its owner's alone", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created", "job.closed")
		got, err := h.Integrations.Webhooks.Find(ctx, e.OwnerID, e.AppID, e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		other := h.application(h.user())
		mine := h.application(h.app.OwnerID)
		for _, foreign := range [][2]string{{other.OwnerID, e.AppID}, {other.OwnerID, other.ID}, {h.app.OwnerID, mine.ID}} {
			_, err = h.Integrations.Webhooks.Find(ctx, foreign[0], foreign[1], e.ID)
			require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
			require.ErrorIs(t, h.Integrations.Webhooks.Delete(ctx, foreign[0], foreign[1], e.ID), integrations.ErrWebhookNotFound)
			list, err := h.Integrations.Webhooks.List(ctx, foreign[0], foreign[1])
			require.NoError(t, err)
			require.Empty(t, list)
		}
		until := h.clk.Now().Add(time.Hour)
		got.Status, got.Secret, got.PreviousSecret, got.PreviousUntil, got.FailingSince, got.WarnedAt, got.Events = integrations.EndpointPaused, "new", "hidden", &until, &until, &until, []string{"job.updated"}
		require.NoError(t, h.Integrations.Webhooks.Save(ctx, got))
		got.Version++
		saved, err := h.Integrations.Webhooks.Lock(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, got, saved)
		second := h.endpoint(h.app, "job.created")
		list, err := h.Integrations.Webhooks.List(ctx, e.OwnerID, e.AppID)
		require.NoError(t, err)
		require.Equal(t, []string{second.ID, e.ID}, []string{list[0].ID, list[1].ID})
		h.queue(e)
		require.NoError(t, h.Integrations.Webhooks.Delete(ctx, e.OwnerID, e.AppID, e.ID))
		_, err = h.Integrations.Webhooks.Lock(ctx, e.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
		require.Empty(t, h.log(e, "").Items, "its log goes with it")
		require.NoError(t, h.Integrations.Apps.Delete(ctx, h.app.OwnerID, h.app.ID))
		_, err = h.Integrations.Webhooks.Lock(ctx, second.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound, "and all with the application")
	})
	t.Run("a listener's endpoint lasts until the moment that it says", func(t *testing.T) {
		h := newHooks(t, open)
		a := h.application(h.user())
		usual, until := h.endpoint(a, "job.created"), h.clk.Now().Add(time.Minute)
		e := integrations.Endpoint{ID: stores.NewID(), AppID: a.ID, OwnerID: a.OwnerID, URL: "http://localhost/", Events: []string{"job.created"}, Status: integrations.EndpointActive, Secret: "hidden", ListeningUntil: &until, CreatedAt: h.clk.Now(), UpdatedAt: h.clk.Now(), Version: 1}
		require.NoError(t, h.Integrations.Webhooks.Add(ctx, e))
		h.queue(e)
		h.queue(usual)
		overdue, err := h.Integrations.Webhooks.Overdue(ctx, h.clk.Now(), until, "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{usual.ID}, overdue)
		require.NoError(t, h.Integrations.Webhooks.Listening(ctx, e.ID, until.Add(time.Minute)))
		require.ErrorIs(t, h.Integrations.Webhooks.Listening(ctx, usual.ID, until), integrations.ErrWebhookNotFound)
		e.FailingSince = &until
		require.NoError(t, h.Integrations.Webhooks.Save(ctx, e), "which takes nothing of that back")
		require.NoError(t, h.Integrations.Webhooks.EndListeners(ctx, until))
		got, err := h.Integrations.Webhooks.Find(ctx, e.OwnerID, e.AppID, e.ID)
		require.NoError(t, err)
		require.True(t, got.ListeningUntil.Equal(until.Add(time.Minute)))
		require.NoError(t, h.Integrations.Webhooks.EndListeners(ctx, until.Add(time.Minute)))
		require.ErrorIs(t, h.Integrations.Webhooks.Listening(ctx, e.ID, until), integrations.ErrWebhookNotFound)
		_, err = h.Integrations.Webhooks.Find(ctx, usual.OwnerID, usual.AppID, usual.ID)
		require.NoError(t, err)
	})
	t.Run("the first applications are the oldest", func(t *testing.T) {
		h := newHooks(t, open)
		one, two := h.app, h.application(h.user())
		h.application(one.OwnerID)
		first, err := h.Integrations.Apps.First(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, []string{one.ID, two.ID}, []string{first[0].ID, first[1].ID})
	})
	t.Run("who subscribes to what is found by the type, a batch at a time", func(t *testing.T) {
		h := newHooks(t, open)
		one, two, three := h.endpoint(h.app, "job.created", "job.closed"), h.endpoint(h.app, "job.created"), h.endpoint(h.application(h.user()), "job.created")
		ids := func(es []integrations.Endpoint, err error) []string {
			t.Helper()
			require.NoError(t, err)
			out := []string{}
			for _, e := range es {
				out = append(out, e.ID)
			}
			return out
		}
		require.Equal(t, []string{one.ID, two.ID}, ids(h.Integrations.Webhooks.Subscribed(ctx, "job.created", "", 2)))
		require.Equal(t, []string{three.ID}, ids(h.Integrations.Webhooks.Subscribed(ctx, "job.created", two.ID, 2)))
		require.Equal(t, []string{one.ID}, ids(h.Integrations.Webhooks.Subscribed(ctx, "job.closed", "", 2)))
		two.Status = integrations.EndpointPaused
		require.NoError(t, h.Integrations.Webhooks.Save(ctx, two))
		one.Events = []string{"job.closed"}
		require.NoError(t, h.Integrations.Webhooks.Save(ctx, one))
		require.Equal(t, []string{three.ID}, ids(h.Integrations.Webhooks.Subscribed(ctx, "job.created", "", 9)))
	})
	t.Run("of applications those hear who have to do with them", func(t *testing.T) {
		h := newHooks(t, open)
		const kind = "application.submitted"
		now := h.clk.Now()
		applicant, colleague, invited, stranger := h.user(), h.user(), h.user(), h.user()
		founder := h.user()
		o, m := identity.NewOrganization(stores.NewID(), stores.NewID(), founder, "St Mary's", "", "", now)
		require.NoError(t, h.Identity.Organizations.Upsert(ctx, &o))
		require.NoError(t, h.Identity.Members.Upsert(ctx, &m))
		for _, userID := range []string{colleague, invited} {
			member := identity.NewInvitation(stores.NewID(), o.ID, userID, "x", "x@example.org", identity.Viewer, now)
			require.NoError(t, h.Identity.Members.Upsert(ctx, &member))
			if userID == colleague {
				member.Accept(now)
				require.NoError(t, h.Identity.Members.Upsert(ctx, &member))
			}
		}
		byApplicant, byColleague := h.endpoint(h.application(applicant), kind), h.endpoint(h.application(colleague), kind)
		h.endpoint(h.application(invited), kind)
		h.endpoint(h.application(applicant), "job.created")
		allowed, foreign := h.application(stranger), h.application(stranger)
		byConsent := h.endpoint(allowed, kind)
		h.endpoint(foreign, kind)
		for _, c := range []integrations.Consent{{UserID: founder, AppID: allowed.ID}, {UserID: invited, AppID: foreign.ID}, {UserID: stranger, AppID: foreign.ID}} {
			c.Scopes, c.GivenAt = []integrations.Scope{integrations.ApplicationsRead}, now
			require.NoError(t, h.Integrations.Consents.Give(ctx, c))
		}
		es, err := h.Integrations.Webhooks.SubscribedNear(ctx, kind, o.ID, applicant, "", 10)
		require.NoError(t, err)
		require.Len(t, es, 3)
		require.ElementsMatch(t, []string{byApplicant.ID, byColleague.ID, byConsent.ID}, []string{es[0].ID, es[1].ID, es[2].ID})
		es, err = h.Integrations.Webhooks.SubscribedNear(ctx, kind, o.ID, applicant, es[1].ID, 10)
		require.NoError(t, err)
		require.Len(t, es, 1)
		near, err := h.Integrations.Consents.Near(ctx, allowed.ID, o.ID, applicant, 10)
		require.NoError(t, err)
		require.Len(t, near, 1)
		require.Equal(t, founder, near[0].UserID)
		near, err = h.Integrations.Consents.Near(ctx, foreign.ID, o.ID, applicant, 10)
		require.NoError(t, err)
		require.Empty(t, near)
	})
}

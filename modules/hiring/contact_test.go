package hiring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestMessage_DailyLimit_Refused checks the limit of 50 messages of an organization in 24
// hours, so that a stolen account cannot be used to send spam.
func TestMessage_DailyLimit_Refused(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st, other := employer(), employer()
	application := env.apply(seeker(), env.newListing(st))
	foreign := env.apply(seeker(), env.newListing(other))
	letter := hiring.ContactInput{Subject: "x", Message: "y"}
	for range 60 {
		_, err := env.Contact(t.Context(), st, foreign.ID, letter)
		require.ErrorIs(t, err, hiring.ErrNotFound, "other refusals do not count against the limit")
	}
	for range 50 {
		_, err := env.Contact(t.Context(), st, application.ID, letter)
		require.NoError(t, err)
	}
	_, err := env.Contact(t.Context(), st, application.ID, letter)
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)
	_, err = env.Contact(t.Context(), other, foreign.ID, letter)
	require.NoError(t, err)
	env.clock.Advance(24*time.Hour + time.Second)
	_, err = env.Contact(t.Context(), st, application.ID, letter)
	require.NoError(t, err)
	// The suffix _ only makes the keys different: the field is named without it.
	for field, in := range map[string]hiring.ContactInput{
		"subject":  {Subject: " ", Message: "y"},
		"message":  {Subject: "x"},
		"subject_": {Subject: strings.Repeat("x", 201), Message: "y"},
	} {
		_, err := env.Contact(t.Context(), st, application.ID, in)
		require.Equal(t, strings.Trim(field, "_"), fault.Of(err).Fields[0].Name)
	}
}

// TestMessage_RecipientOptedOut_IsStillSent checks that an applicant without optional e-mails
// still gets the messages of an employer, which no page of the applicant shows.
func TestMessage_RecipientOptedOut_IsStillSent(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	ann, st := seeker(), employer()
	application := env.apply(ann, env.newListing(st))
	env.sentMails()
	env.optedOut[ann.UserID] = true
	require.NoError(t, env.setStatus(st, application.ID, "review"))
	_, err := env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
	require.NoError(t, err)
	require.Empty(t, env.sentMails(), "no message about the status or the interview")
	_, err = env.Contact(t.Context(), st, application.ID, hiring.ContactInput{Subject: "Your papers", Message: "Please send them."})
	require.NoError(t, err)
	got := env.sentMails()
	require.Len(t, got, 1)
	require.Equal(t, "Your papers", got[0].Subject)
	total, pending, err := env.ApplicantStats(t.Context(), ann.UserID)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{total, pending}) // the employer has set the only one to review
}

// TestDecideAndContact_InvalidPart_ChangesNothing checks that neither the status is changed nor
// the message is sent if one of them is invalid or not permitted.
func TestDecideAndContact_InvalidPart_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e := employer(auth.ApplicationsView, auth.ApplicationsUpdate)
		by := seeker()
		application := env.apply(by, env.newListing(e))
		message := hiring.ContactInput{Subject: "Our offer", Message: "Welcome."}
		require.ErrorIs(t,
			env.DecideAndContact(t.Context(), e, hiring.Decision{ID: application.ID, Status: "accepted"}, hiring.ContactInput{}),
			fault.ErrInvalid)
		require.ErrorIs(t,
			env.DecideAndContact(t.Context(), e, hiring.Decision{ID: application.ID, Status: "eternal"}, message),
			hiring.ErrInvalidStatus)
		require.ErrorIs(t,
			env.DecideAndContact(t.Context(), employer(auth.ApplicationsView), hiring.Decision{ID: application.ID, Status: "accepted"}, message),
			fault.ErrForbidden)
		require.ErrorIs(t,
			env.DecideAndContact(t.Context(), employer(auth.ApplicationsUpdate), hiring.Decision{ID: application.ID, Status: "accepted"}, message),
			hiring.ErrNotFound)
		require.Equal(t, hiring.Pending, env.visibleStatus(by, application.ID))
		require.NotContains(t, env.recordedEvents(), "applicant.contacted")
		require.NoError(t, env.DecideAndContact(t.Context(), e, hiring.Decision{ID: application.ID, Status: "accepted"}, message))
		require.Equal(t, hiring.Accepted, env.visibleStatus(by, application.ID))
	})
}

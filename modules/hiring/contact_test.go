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
	employer, other := newEmployer(), newEmployer()
	application := env.apply(newSeeker(), env.newListing(employer))
	foreign := env.apply(newSeeker(), env.newListing(other))

	const maxMessages = 50

	// Refused messages are not counted.
	message := hiring.ContactInput{Subject: "x", Message: "y"}
	for range maxMessages + 1 {
		_, err := env.Contact(t.Context(), employer, foreign.ID, message)
		require.ErrorIs(t, err, hiring.ErrNotFound)
	}

	for range maxMessages {
		_, err := env.Contact(t.Context(), employer, application.ID, message)
		require.NoError(t, err)
	}

	_, err := env.Contact(t.Context(), employer, application.ID, message)
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)

	_, err = env.Contact(t.Context(), other, foreign.ID, message)
	require.NoError(t, err, "another organization")

	// The next day, the organization can send messages again.
	env.clock.Advance(24*time.Hour + time.Second)

	_, err = env.Contact(t.Context(), employer, application.ID, message)
	require.NoError(t, err)
}

// TestMessage_InvalidInput_FieldIsNamed checks that a refusal names the invalid field.
func TestMessage_InvalidInput_FieldIsNamed(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	application := env.apply(newSeeker(), env.newListing(employer))
	for _, test := range []struct {
		name      string
		input     hiring.ContactInput
		wantField string // the field that the refusal names
	}{
		{name: "blank subject", input: hiring.ContactInput{Subject: " ", Message: "y"}, wantField: "subject"},
		{
			name:      "subject of 201 characters",
			input:     hiring.ContactInput{Subject: strings.Repeat("x", 201), Message: "y"},
			wantField: "subject",
		},
		{name: "no message", input: hiring.ContactInput{Subject: "x"}, wantField: "message"},
	} {
		_, err := env.Contact(t.Context(), employer, application.ID, test.input)
		require.Equal(t, test.wantField, fault.Of(err).Fields[0].Name, test.name)
	}
}

// TestMessage_RecipientOptedOut_IsStillSent checks that an applicant without optional e-mails
// still gets the messages of an employer, which no page of the applicant shows.
func TestMessage_RecipientOptedOut_IsStillSent(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.apply(ann, env.newListing(employer))
	env.sentMails()

	env.optedOut[ann.UserID] = true
	require.NoError(t, env.setStatus(employer, application.ID, "review"))

	_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
	require.NoError(t, err)
	require.Empty(t, env.sentMails(), "no message about the status or the interview")

	// The message of the employer is sent.
	message := hiring.ContactInput{Subject: "Your papers", Message: "Please send them."}
	_, err = env.Contact(t.Context(), employer, application.ID, message)
	require.NoError(t, err)

	sent := env.sentMails()
	require.Len(t, sent, 1)
	require.Equal(t, "Your papers", sent[0].Subject)
}

// TestApplicantStats_InReview_IsNotPending checks the numbers of a user's applications: all of them, and
// those that the employer has not looked at.
func TestApplicantStats_InReview_IsNotPending(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.apply(ann, env.newListing(employer))
	require.NoError(t, env.setStatus(employer, application.ID, "review"))

	total, pending, err := env.ApplicantStats(t.Context(), ann.UserID)
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Zero(t, pending)
}

// TestDecideAndContact_InvalidPart_ChangesNothing checks that neither the status is changed nor
// the message is sent if one of them is invalid or not permitted.
func TestDecideAndContact_InvalidPart_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer(auth.ApplicationsView, auth.ApplicationsUpdate)
		applicant := newSeeker()
		application := env.apply(applicant, env.newListing(employer))
		message := hiring.ContactInput{Subject: "Our offer", Message: "Welcome."}
		acceptance := hiring.Decision{ID: application.ID, Status: "accepted"}

		noMessage := hiring.ContactInput{}
		err := env.DecideAndContact(t.Context(), employer, acceptance, noMessage)
		require.ErrorIs(t, err, fault.ErrInvalid)

		err = env.DecideAndContact(t.Context(), employer, hiring.Decision{ID: application.ID, Status: "eternal"}, message)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)

		err = env.DecideAndContact(t.Context(), newEmployer(auth.ApplicationsView), acceptance, message)
		require.ErrorIs(t, err, fault.ErrForbidden)

		err = env.DecideAndContact(t.Context(), newEmployer(auth.ApplicationsUpdate), acceptance, message)
		require.ErrorIs(t, err, hiring.ErrNotFound, "an employer of another organization")

		// Nothing has changed.
		require.Equal(t, hiring.Pending, env.visibleStatus(applicant, application.ID))
		require.NotContains(t, env.recordedEvents(), "applicant.contacted")
	})
}

// TestDecideAndContact_Valid_ChangesStatusAndSends checks that one request changes the status and sends
// the message.
func TestDecideAndContact_Valid_ChangesStatusAndSends(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, applicant := newEmployer(), newSeeker()
		application := env.apply(applicant, env.newListing(employer))
		acceptance := hiring.Decision{ID: application.ID, Status: "accepted"}
		message := hiring.ContactInput{Subject: "Our offer", Message: "Welcome."}

		require.NoError(t, env.DecideAndContact(t.Context(), employer, acceptance, message))
		require.Equal(t, hiring.Accepted, env.visibleStatus(applicant, application.ID))
		require.Contains(t, env.recordedEvents(), "applicant.contacted")
	})
}

package jobseeker_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
)

// clientIP is the address of the guest who requests alerts.
const clientIP = "192.0.2.1"

// linkToken matches the token of a link in an e-mail.
var linkToken = regexp.MustCompile(`\?(?:token|alerts)=(\S+)`)

// requestAlert requests an alert and returns the token of the link in the e-mail.
func (env *testEnv) requestAlert(email, query string) string {
	env.t.Helper()
	require.NoError(env.t, env.RequestAlert(env.t.Context(), jobseeker.AlertInput{Email: email, Query: query}, clientIP))
	env.tasks.All(env.t)
	require.Len(env.t, env.sent, 1)
	require.Equal(env.t, email, env.sent[0].To.Email)

	return env.sentToken()
}

// sentToken returns the token of the link in the e-mail that was sent. There must be exactly one e-mail.
func (env *testEnv) sentToken() string {
	env.t.Helper()

	texts := env.takeSentTexts()
	require.Len(env.t, texts, 1)

	found := linkToken.FindStringSubmatch(texts[0])
	require.NotEmpty(env.t, found, texts[0])

	return found[1]
}

// TestAlert_Confirmed_SendsDigestsUntilEnded follows an alert of a guest from the confirmation
// of the address to its end. Each token is valid for its own purpose only.
func TestAlert_Confirmed_SendsDigestsUntilEnded(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		confirmToken := env.requestAlert("jo@example.org", "Nurse")
		env.publish("Early Nurse")
		require.Empty(t, env.takeSentTexts(), "an alert that is not confirmed sends nothing")

		for range 2 { // clicks on the link
			_, err := env.ConfirmAlert(t.Context(), confirmToken)
			require.NoError(t, err)
		}

		// The first digest has the matching listing, and a link that ends the alerts.
		env.publish("Staff Nurse", "Cook")
		require.Len(t, env.sent, 1)
		require.Equal(t, "jo@example.org", env.sent[0].To.Email)
		require.Contains(t, env.sent[0].Text, "Staff Nurse")
		require.NotContains(t, env.sent[0].Text, "Cook")
		require.Contains(t, env.sent[0].Unsubscribe, "/unsubscribe?alerts=")

		endToken := env.sentToken()

		// The token that confirms does not end the alerts, and the one that ends them is not that of a user's
		// account.
		require.ErrorIs(t, env.EndAlerts(t.Context(), confirmToken), fault.ErrUnauthorized)
		require.ErrorIs(t, env.Unsubscribe(t.Context(), endToken), fault.ErrUnauthorized)

		// Ending the alerts can be repeated. Afterwards no digest is sent, not even on the next day.
		require.NoError(t, env.EndAlerts(t.Context(), endToken))
		require.NoError(t, env.EndAlerts(t.Context(), endToken))
		env.publish("Night Nurse")
		env.advance(25 * time.Hour)
		require.Empty(t, env.takeSentTexts())
	})
}

// TestAlert_TwoSearches_OneDigestWithoutNotifications checks that all alerts of an address are
// in one digest, and that no notification is stored for a subscriber, who has no account to
// read it with.
func TestAlert_TwoSearches_OneDigestWithoutNotifications(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		var subscriberID string
		for _, query := range []string{"Nurse", "Staff"} {
			search, err := env.ConfirmAlert(t.Context(), env.requestAlert("jo@example.org", query))
			require.NoError(t, err)
			require.Equal(t, query, search.Name)

			subscriberID = search.UserID
		}

		env.publish("Staff Nurse")
		require.Len(t, env.takeSentTexts(), 1)

		subscriber := newSeeker()
		subscriber.UserID = subscriberID
		require.Empty(t, env.notificationTexts(subscriber))
	})
}

// TestAlert_MailFails_LinkIsSentLater checks that a confirmation that the mail server did not
// accept is sent again.
func TestAlert_MailFails_LinkIsSentLater(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		env.mailErr = errors.New("421 try again")
		require.NoError(t, env.RequestAlert(t.Context(), jobseeker.AlertInput{Email: "jo@example.org", Query: "Nurse"}, clientIP))
		env.tasks.All(t)

		env.mailErr = nil
		env.advance(time.Hour)

		_, err := env.ConfirmAlert(t.Context(), env.sentToken())
		require.NoError(t, err)
	})
}

// TestRequestAlert_InvalidInput_IsRefused checks that an alert needs an address, at least one
// criterion, and criteria that exist.
func TestRequestAlert_InvalidInput_IsRefused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for field, input := range map[string]jobseeker.AlertInput{
			"email":        {Email: "jo", Query: "Nurse"},
			"query":        {Email: "jo@example.org"},
			"contractType": {Email: "jo@example.org", ContractType: "forever"},
		} {
			err := env.RequestAlert(t.Context(), input, clientIP)
			var invalid *fault.Error
			require.ErrorAs(t, err, &invalid, field)
			require.Equal(t, field, invalid.Fields[0].Name)
		}
	})
}

// TestRequestAlert_SameMailbox_IsLimited checks that a client cannot flood a mailbox with
// confirmations (3), nor many mailboxes (20). Failed requests count too.
func TestRequestAlert_SameMailbox_IsLimited(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		request := func(email string) error {
			return env.RequestAlert(t.Context(), jobseeker.AlertInput{Email: email, Query: "Nurse"}, clientIP)
		}

		const perMailbox, perClient = 3, 20

		for range perMailbox {
			require.NoError(t, request("jo@example.org"))
		}

		require.ErrorIs(t, request("JO@example.org"), fault.ErrRateLimit)
		require.ErrorIs(t, request("jo+2@example.org"), fault.ErrRateLimit, "another tag of the same mailbox")

		// The client has made 5 of its 20 requests, 2 of which have failed.
		for i := range perClient - (perMailbox + 2) {
			require.NoError(t, request(fmt.Sprintf("jo%d@example.org", i)))
		}

		require.ErrorIs(t, request("another@example.org"), fault.ErrRateLimit, "the limit of the client")
	})
}

// TestRequestAlert_SameMailboxForAWeek_IsLimited checks that a mailbox receives at most ten
// confirmations in a week, even if the requests are spread over several hours.
func TestRequestAlert_SameMailboxForAWeek_IsLimited(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const perWeek = 10

		input := jobseeker.AlertInput{Email: "jo@example.org", Query: "Nurse"}
		for range perWeek {
			require.NoError(t, env.RequestAlert(t.Context(), input, clientIP))
			env.clock.Advance(time.Hour)
		}

		require.ErrorIs(t, env.RequestAlert(t.Context(), input, clientIP), fault.ErrRateLimit)
	})
}

// TestRequestAlert_SearchWithLink_SendsNone checks that the e-mail with the confirmation, which
// can be sent to any address, does not contain a link that a client has put into the search.
func TestRequestAlert_SearchWithLink_SendsNone(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		input := jobseeker.AlertInput{
			Email:    "jo@example.org",
			Query:    "ACCOUNT LOCKED http://evil.example/unlock",
			Location: "www.evil.example",
		}
		require.NoError(t, env.RequestAlert(t.Context(), input, clientIP))
		env.tasks.All(t)
		require.Len(t, env.sent, 1)
		require.NotContains(t, env.sent[0].Text, "evil.example")
		require.NotContains(t, env.sent[0].HTML, "evil.example")
	})
}

// TestConfirmAlert_TooMany_IsRefused checks that an address has at most ten alerts.
func TestConfirmAlert_TooMany_IsRefused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for i := range 10 {
			token := env.requestAlert("jo@example.org", fmt.Sprintf("Nurse %d", i))
			_, err := env.ConfirmAlert(t.Context(), token)
			require.NoError(t, err)
			env.clock.Advance(24 * time.Hour) // the number of requests in a day is limited as well
		}

		oneMore := env.requestAlert("jo@example.org", "Nurse 10")
		_, err := env.ConfirmAlert(t.Context(), oneMore)
		require.ErrorIs(t, err, jobseeker.ErrTooManyAlerts)
	})
}

// TestConfirmAlert_ForeignToken_IsRefused checks that a token that was issued for another
// purpose confirms nothing.
func TestConfirmAlert_ForeignToken_IsRefused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for _, token := range []string{"", "x", "unsubscribe.e30.1"} {
			_, err := env.ConfirmAlert(t.Context(), token)
			require.ErrorIs(t, err, fault.ErrUnauthorized, token)
		}
	})
}

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

const clientIP = "192.0.2.1"

// linkToken matches the token of a link in a mail.
var linkToken = regexp.MustCompile(`\?(?:token|alerts)=(\S+)`)

// requestAlert requests an alert and returns the token of the mailed link.
func (d *testEnv) requestAlert(email, query string) string {
	d.t.Helper()
	require.NoError(d.t, d.RequestAlert(d.t.Context(), jobseeker.AlertInput{Email: email, Query: query}, clientIP))
	d.work.All(d.t)
	require.Len(d.t, d.sent, 1)
	require.Equal(d.t, email, d.sent[0].To.Email)
	return d.sentToken()
}

// sentToken returns the token of the link in the only mail that was sent.
func (d *testEnv) sentToken() string {
	d.t.Helper()
	texts := d.sentTexts()
	require.Len(d.t, texts, 1)
	found := linkToken.FindStringSubmatch(texts[0])
	require.NotEmpty(d.t, found, texts[0])
	return found[1]
}

func TestAlert_Confirmed_SendsDigestsUntilEnded(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		token := d.requestAlert("jo@example.org", "Nurse")
		d.publish("Early Nurse")
		require.Empty(t, d.sentTexts(), "an alert that is not confirmed sends nothing")

		for range 2 {
			_, err := d.ConfirmAlert(t.Context(), token)
			require.NoError(t, err)
		}
		d.publish("Staff Nurse", "Cook")
		require.Len(t, d.sent, 1)
		require.Equal(t, "jo@example.org", d.sent[0].To.Email)
		require.Contains(t, d.sent[0].Text, "Staff Nurse")
		require.NotContains(t, d.sent[0].Text, "Cook")
		require.Contains(t, d.sent[0].Unsubscribe, "/unsubscribe?alerts=")
		end := d.sentToken()

		require.ErrorIs(t, d.EndAlerts(t.Context(), token), fault.ErrUnauthorized)
		require.ErrorIs(t, d.Unsubscribe(t.Context(), end), fault.ErrUnauthorized)
		require.NoError(t, d.EndAlerts(t.Context(), end))
		require.NoError(t, d.EndAlerts(t.Context(), end))
		d.publish("Night Nurse")
		d.advance(25 * time.Hour)
		require.Empty(t, d.sentTexts())
	})
}

func TestAlert_TwoSearches_OneDigestWithoutNotifications(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		var subscriber string
		for _, query := range []string{"Nurse", "Staff"} {
			search, err := d.ConfirmAlert(t.Context(), d.requestAlert("jo@example.org", query))
			require.NoError(t, err)
			require.Equal(t, query, search.Name)
			subscriber = search.UserID
		}
		d.publish("Staff Nurse")
		require.Len(t, d.sentTexts(), 1)
		who := seeker()
		who.UserID = subscriber
		require.Empty(t, d.notificationTexts(who))
	})
}

func TestAlert_MailFails_LinkIsSentLater(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		d.mailErr = errors.New("421 try again")
		require.NoError(t, d.RequestAlert(t.Context(), jobseeker.AlertInput{Email: "jo@example.org", Query: "Nurse"}, clientIP))
		d.work.All(t)
		d.mailErr = nil
		d.advance(time.Hour)
		_, err := d.ConfirmAlert(t.Context(), d.sentToken())
		require.NoError(t, err)
	})
}

func TestRequestAlert_InvalidInput_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		for name, in := range map[string]jobseeker.AlertInput{
			"email":        {Email: "jo", Query: "Nurse"},
			"query":        {Email: "jo@example.org"},
			"contractType": {Email: "jo@example.org", ContractType: "forever"},
		} {
			err := d.RequestAlert(t.Context(), in, clientIP)
			var invalid *fault.Error
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, name, invalid.Fields[0].Name)
		}
	})
}

func TestRequestAlert_SameMailbox_IsLimited(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		request := func(email string) error {
			return d.RequestAlert(t.Context(), jobseeker.AlertInput{Email: email, Query: "Nurse"}, clientIP)
		}
		for range 3 {
			require.NoError(t, request("jo@example.org"))
		}
		require.ErrorIs(t, request("JO@example.org"), fault.ErrRateLimit)
		for i := range 16 {
			require.NoError(t, request(fmt.Sprintf("jo%d@example.org", i)))
		}
		require.ErrorIs(t, request("another@example.org"), fault.ErrRateLimit, "the limit of the client")
	})
}

func TestConfirmAlert_TooMany_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		for i := range 10 {
			_, err := d.ConfirmAlert(t.Context(), d.requestAlert("jo@example.org", fmt.Sprintf("Nurse %d", i)))
			require.NoError(t, err)
			d.clock.Advance(time.Hour)
		}
		_, err := d.ConfirmAlert(t.Context(), d.requestAlert("jo@example.org", "Nurse 10"))
		require.ErrorIs(t, err, jobseeker.ErrTooManyAlerts)
	})
}

func TestConfirmAlert_ForeignToken_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		for _, token := range []string{"", "x", "unsubscribe.e30.1"} {
			_, err := d.ConfirmAlert(t.Context(), token)
			require.ErrorIs(t, err, fault.ErrUnauthorized, token)
		}
	})
}

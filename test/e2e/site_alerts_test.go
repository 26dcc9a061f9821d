package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// confirmAlertLink and endAlertsLink match the links in e-mails about job alerts.
var (
	confirmAlertLink = regexp.MustCompile(`/job-alerts/confirm\?token=[A-Za-z0-9._~%-]+`)
	endAlertsLink    = regexp.MustCompile(`/unsubscribe\?alerts=[A-Za-z0-9._~%-]+`)
)

// requestAlert sends the form for a job alert and returns the link in the e-mail that asks the owner of the
// address for confirmation. Its page has the button to confirm.
func (b *browser) requestAlert(form url.Values) (confirmLink string) {
	b.T.Helper()

	address := form.Get("email")
	sent := b.open(http.MethodPost, "/job-alerts", form)
	require.Equal(b.T, http.StatusOK, sent.status)
	require.Contains(b.T, sent.text, "We have sent a link to "+address)

	message := b.server.waitForMail(b.T, address, form.Get("query"))
	require.Contains(b.T, message, "Subject: Confirm your job alert")

	confirmLink = confirmAlertLink.FindString(unfold(message))
	require.NotEmpty(b.T, confirmLink)
	require.Contains(b.T, b.page(confirmLink), "Confirm job alert")

	return confirmLink
}

// TestSiteAlerts_Guest_ConfirmsAndEnds follows two job alerts of a guest without an account: no alert is
// stored until the owner of the address has confirmed it. One request of a mail program then ends both, and
// deletes them with the address.
func TestSiteAlerts_Guest_ConfirmsAndEnds(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		address := newEmail()
		guest := server.browser(t)
		perfusionist := url.Values{"email": {address}, "query": {"perfusionist"}, "location": {"Leeds"}}
		midwife := url.Values{"email": {address}, "query": {"midwife"}, "location": {"York"}}

		// storedColumns returns the columns (table.column) that contain the address or one of the searches.
		storedColumns := func() map[string]string {
			return kit.ColumnsContaining(t, server.databaseURL(), address, "perfusionist", "midwife")
		}
		const (
			addressColumn = "alert_subscribers.email"
			searchColumn  = "saved_searches.query"
		)

		t.Run("page of a search links to the form with the search", func(t *testing.T) {
			require.Contains(t, guest.page("/jobs?q=perfusionist&where=Leeds"), `href="/job-alerts?q=perfusionist&amp;where=Leeds"`)
			require.Contains(t, guest.page("/job-alerts?q=perfusionist&where=Leeds"), `value="perfusionist"`)
		})

		t.Run("invalid address is shown again in the form", func(t *testing.T) {
			withoutAddress := url.Values{"email": {"no address"}, "query": {"perfusionist"}}
			invalid := guest.open(http.MethodPost, "/job-alerts", withoutAddress)
			require.Equal(t, http.StatusBadRequest, invalid.status)
			require.Contains(t, invalid.text, `value="no address"`)
		})

		confirmLink := guest.requestAlert(perfusionist)

		t.Run("invalid tokens confirm nothing", func(t *testing.T) {
			for _, invalidLink := range []string{
				"/job-alerts/confirm", // without a token
				"/job-alerts/confirm?token=x",
				confirmLink + "x",
				"/job-alerts/confirm?token=" + strings.Repeat("x", 7_000), // longer than any token
			} {
				require.Equal(t, http.StatusBadRequest, guest.open(http.MethodPost, invalidLink, url.Values{}).status, invalidLink)
			}
		})

		t.Run("forms of other sites are refused", func(t *testing.T) {
			guest.Site = "cross-site"
			require.Equal(t, http.StatusForbidden, guest.open(http.MethodPost, "/job-alerts", perfusionist).status)
			require.Equal(t, http.StatusForbidden, guest.open(http.MethodPost, confirmLink, url.Values{}).status)

			guest.Site = "same-origin"
		})

		require.NotContains(t, storedColumns(), searchColumn, "no alert is stored before it is confirmed")

		t.Run("confirmation shows the search", func(t *testing.T) {
			confirmed := guest.open(http.MethodPost, confirmLink, url.Values{})
			require.Equal(t, http.StatusOK, confirmed.status)
			require.Contains(t, confirmed.text, "perfusionist, Leeds")

			confirmedSecond := guest.open(http.MethodPost, guest.requestAlert(midwife), url.Values{})
			require.Contains(t, confirmedSecond.text, "midwife, York")
		})

		// A matching job brings an e-mail, whose header lets mail programs end the alerts with one request.
		server.employer(t).listing(object{"title": "Senior Perfusionist", "location": "Leeds"})

		message := server.waitForMail(t, address, "1 new job matches your job alerts")
		require.Contains(t, message, "List-Unsubscribe-Post: List-Unsubscribe=One-Click")

		endLink := endAlertsLink.FindString(unfold(message))
		require.NotEmpty(t, endLink)

		t.Run("opening the link changes nothing", func(t *testing.T) {
			require.Contains(t, guest.page(endLink), "End your job alerts?")
			require.Contains(t, storedColumns(), addressColumn)
			require.Contains(t, storedColumns(), searchColumn)
		})

		t.Run("one request of a mail program, which has no cookies, ends all alerts", func(t *testing.T) {
			response, err := http.PostForm(server.url+endLink, url.Values{"List-Unsubscribe": {"One-Click"}})
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode)

			require.NotContains(t, storedColumns(), addressColumn)
			require.NotContains(t, storedColumns(), searchColumn)
		})

		t.Run("the form of the page succeeds for ended alerts", func(t *testing.T) {
			endedAgain := guest.open(http.MethodPost, endLink, url.Values{})
			require.Equal(t, []string{"/jobs"}, endedAgain.links("Search for jobs"))
		})
	})
}

package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// confirmAlertLink and endAlertsLink match the links in e-mails about job alerts.
var (
	confirmAlertLink = regexp.MustCompile(`/job-alerts/confirm\?token=[A-Za-z0-9._~%-]+`)
	endAlertsLink    = regexp.MustCompile(`/unsubscribe\?alerts=[A-Za-z0-9._~%-]+`)
)

// TestSiteAlerts_Guest_ConfirmsAndEnds follows the job alert of a guest without an account:
// no alert is sent to an address until its owner has confirmed it, and one click ends all
// alerts.
func TestSiteAlerts_Guest_ConfirmsAndEnds(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		address := newEmail()
		guest := server.browser(t)
		require.Contains(t, guest.page("/jobs?q=perfusionist&where=Leeds"), `href="/job-alerts?q=perfusionist&amp;where=Leeds"`)
		require.Contains(t, guest.page("/job-alerts?q=perfusionist&where=Leeds"), `value="perfusionist"`)

		// An invalid address is shown again in the form. A valid one gets a link that asks for confirmation.
		form := url.Values{"email": {address}, "query": {"perfusionist"}, "location": {"Leeds"}}
		invalid := guest.open(http.MethodPost, "/job-alerts", url.Values{"email": {"no address"}, "query": {"perfusionist"}})
		require.Equal(t, http.StatusBadRequest, invalid.status)
		require.Contains(t, invalid.text, `value="no address"`)

		sent := guest.open(http.MethodPost, "/job-alerts", form)
		require.Equal(t, http.StatusOK, sent.status)
		require.Contains(t, sent.text, "We have sent a link to "+address)

		link := confirmAlertLink.FindString(unfold(server.waitForMail(t, address, "Confirm your job alert")))
		require.NotEmpty(t, link)
		require.Contains(t, guest.page(link), "Confirm job alert")

		// The links without a token, with a wrong, a changed or an overlong one, confirm nothing.
		for _, invalidLink := range []string{
			"/job-alerts/confirm",
			"/job-alerts/confirm?token=x",
			link + "x",
			"/job-alerts/confirm?token=" + strings.Repeat("x", 7_000), // longer than any token
		} {
			require.Equal(t, http.StatusBadRequest, guest.open(http.MethodPost, invalidLink, url.Values{}).status, invalidLink)
		}

		// Another site can send neither form.
		guest.Site = "cross-site"
		require.Equal(t, http.StatusForbidden, guest.open(http.MethodPost, "/job-alerts", form).status)
		require.Equal(t, http.StatusForbidden, guest.open(http.MethodPost, link, url.Values{}).status)

		guest.Site = "same-origin"
		confirmed := guest.open(http.MethodPost, link, url.Values{})
		require.Equal(t, http.StatusOK, confirmed.status)
		require.Contains(t, confirmed.text, "perfusionist, Leeds")

		// A matching job brings an e-mail, whose header lets mail programs end the alerts with one request.
		employer.listing(object{"title": "Senior Perfusionist", "location": "Leeds"})

		message := server.waitForMail(t, address, "1 new job matches your job alerts")
		require.Contains(t, message, "List-Unsubscribe-Post: List-Unsubscribe=One-Click")

		endLink := endAlertsLink.FindString(unfold(message))
		require.NotEmpty(t, endLink)
		require.Contains(t, guest.page(endLink), "End your job alerts?")

		// The request of a mail program, which has no cookies, ends the alerts. The page may repeat it.
		response, err := http.PostForm(server.url+endLink, url.Values{"List-Unsubscribe": {"One-Click"}})
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, []string{"/jobs"}, guest.open(http.MethodPost, endLink, url.Values{}).links("Search for jobs"))
	})
}

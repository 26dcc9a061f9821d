package e2e

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_Settings checks every section of an employer's settings: valid and invalid input,
// the end of other sessions, and that neither clinicians nor forms of other sites can use them. The subtests share
// an employer, whose account the last one deletes.
func TestConsole_Settings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		browser := server.signedIn(t, employer)
		otherDevice := server.signedIn(t, employer)
		const path = "/employer/settings"
		require.Contains(t, browser.show(path).text, employer.email)

		t.Run("alerts", func(t *testing.T) {
			// A box that is not checked is not sent: this turns the alerts off.
			require.Contains(t, browser.submit(path+"/alerts", url.Values{}).text, "Your choices are saved.")

			settings := employer.get("/api/employers/settings").ok(200)
			require.Equal(t, false, settings.at("data.preferences.notifications.emailAlerts"))
		})

		t.Run("name and job title", func(t *testing.T) {
			saved := browser.submit(path+"/profile", url.Values{"name": {"Asha <b>Rao</b>"}, "jobTitle": {"Matron"}})
			require.Contains(t, saved.text, `value="Asha &lt;b&gt;Rao&lt;/b&gt;"`)
			require.Contains(t, saved.text, `value="Matron"`)
		})

		t.Run("invalid input", func(t *testing.T) {
			for name, test := range map[string]struct {
				section string
				values  url.Values
			}{
				"no name":              {section: "/profile", values: url.Values{"name": {" "}, "jobTitle": {"Sister"}}},
				"no address":           {section: "/email", values: url.Values{"email": {"nonsense"}}},
				"wrong password":       {section: "/password", values: url.Values{"currentPassword": {"wrong"}, "newPassword": {otherPassword}}},
				"unconfirmed deletion": {section: "/delete", values: url.Values{}},
			} {
				require.Equal(t, 400, browser.open("POST", path+test.section, test.values).status, name)
			}

			require.Equal(t, 404, browser.open("POST", path+"/nonsense", url.Values{}).status, "unknown section")
		})

		t.Run("new address is used only after it has been confirmed", func(t *testing.T) {
			addressOfAnother := url.Values{"email": {server.seeker(t).email}}
			require.Equal(t, 409, browser.open("POST", path+"/email", addressOfAnother).status)

			newAddress := newEmail()
			requested := browser.submit(path+"/email", url.Values{"email": {newAddress}})
			require.Contains(t, requested.text, "It will change to <strong>"+newAddress)
		})

		t.Run("other devices are signed out", func(t *testing.T) {
			require.Equal(t, 200, otherDevice.open("GET", path, nil).status)
			require.Contains(t, browser.submit(path+"/sessions", url.Values{}).text, "All other devices are signed out.")
			require.Equal(t, 303, otherDevice.open("GET", path, nil).status)
		})

		t.Run("new password", func(t *testing.T) {
			changed := browser.submit(path+"/password", url.Values{"currentPassword": {password}, "newPassword": {otherPassword}})
			require.Contains(t, changed.text, "Your password is changed")
		})

		t.Run("clinicians, forms of other sites and guests are refused", func(t *testing.T) {
			seeker := server.signedIn(t, server.seeker(t))
			crossSite := server.signedIn(t, server.employer(t))
			crossSite.Site = "cross-site"

			for _, section := range []string{"/alerts", "/profile", "/email", "/password", "/session", "/sessions", "/delete"} {
				require.Equal(t, 403, seeker.open("POST", path+section, url.Values{"confirm": {"yes"}}).status, section)
				require.Equal(t, 403, crossSite.open("POST", path+section, url.Values{"confirm": {"yes"}}).status, section)

				asGuest := server.browser(t).open("POST", path+section, url.Values{})
				require.Contains(t, asGuest.header.Get("Location"), "/sign-in")
			}
		})

		t.Run("deletion signs out", func(t *testing.T) {
			require.Equal(t, 303, browser.open("POST", path+"/delete", url.Values{"confirm": {"yes"}}).status)
			require.Equal(t, 303, browser.open("GET", path, nil).status)
		})
	})
}

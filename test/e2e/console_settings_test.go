package e2e

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_Settings checks every section of an employer's settings: valid and invalid input,
// the end of other sessions, and that neither clinicians nor forms of other sites can use them.
func TestConsole_Settings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		browser := server.signedIn(t, boss)
		otherDevice := server.signedIn(t, boss)
		path := "/employer/settings"
		require.Contains(t, browser.show(path).text, boss.email)

		// A box that is not checked is not sent: this turns the alerts off.
		require.Contains(t, browser.submit(path+"/alerts", url.Values{}).text, "Your choices are saved.")
		require.Equal(t, false, boss.get("/api/employers/settings").ok(200).at("data.preferences.notifications.emailAlerts"))

		saved := browser.submit(path+"/profile", url.Values{"name": {"Asha <b>Rao</b>"}, "jobTitle": {"Matron"}})
		require.Contains(t, saved.text, `value="Asha &lt;b&gt;Rao&lt;/b&gt;"`)
		require.Contains(t, saved.text, `value="Matron"`)

		// No name, no address, a wrong password, and a deletion that is not confirmed.
		for section, values := range map[string]url.Values{
			"/profile":  {"name": {" "}, "jobTitle": {"Sister"}},
			"/email":    {"email": {"nonsense"}},
			"/password": {"currentPassword": {"wrong"}, "newPassword": {"Another-Passw0rd"}},
			"/delete":   {},
		} {
			require.Equal(t, 400, browser.open("POST", path+section, values).status, section)
		}

		require.Equal(t, 409, browser.open("POST", path+"/email", url.Values{"email": {server.seeker(t).email}}).status)

		// A new address is used only after it has been confirmed.
		newAddress := newEmail()
		require.Contains(t, browser.submit(path+"/email", url.Values{"email": {newAddress}}).text,
			"It will change to <strong>"+newAddress)
		require.Equal(t, 404, browser.open("POST", path+"/nonsense", url.Values{}).status)

		// The other device is signed in until the boss ends its session.
		require.Equal(t, 200, otherDevice.open("GET", path, nil).status)
		require.Contains(t, browser.submit(path+"/sessions", url.Values{}).text, "All other devices are signed out.")
		require.Equal(t, 303, otherDevice.open("GET", path, nil).status)

		changed := browser.submit(path+"/password", url.Values{"currentPassword": {password}, "newPassword": {"Another-Passw0rd"}})
		require.Contains(t, changed.text, "Your password is changed")

		// A clinician, a form of another site and a guest can use no section.
		seeker := server.signedIn(t, server.seeker(t))
		crossSite := server.signedIn(t, server.employer(t))

		crossSite.Site = "cross-site"
		for _, section := range []string{"/alerts", "/profile", "/email", "/password", "/session", "/sessions", "/delete"} {
			require.Equal(t, 403, seeker.open("POST", path+section, url.Values{"confirm": {"yes"}}).status, section)
			require.Equal(t, 403, crossSite.open("POST", path+section, url.Values{"confirm": {"yes"}}).status, section)
			require.Contains(t, server.browser(t).open("POST", path+section, url.Values{}).header.Get("Location"), "/sign-in")
		}

		require.Equal(t, 303, browser.open("POST", path+"/delete", url.Values{"confirm": {"yes"}}).status)
		require.Equal(t, 303, browser.open("GET", path, nil).status, "signed out")
	})
}

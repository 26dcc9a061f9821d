package e2e

import (
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// TestSignUpPage checks the registration page of the developers' site: it continues with the
// page or consent that the user wanted, but not on another site, and has the validation and
// limits of the API.
func TestSignUpPage(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		form := func(overrides url.Values) url.Values {
			values := url.Values{"name": {"Sam Lee"}, "email": {newEmail()}, "password": {password}, "userType": {"jobseeker"}}
			maps.Copy(values, overrides)
			return values
		}

		t.Run("continues with the requested page", func(t *testing.T) {
			t.Parallel()

			browser := server.browser(t)

			// The page to sign in links to the registration, and the link keeps the requested page.
			signInPath := browser.open("GET", "/developers", nil).header.Get("Location")
			signUpLink := regexp.MustCompile(`href="(/developers/sign-up[^"]*)"`).FindStringSubmatch(browser.open("GET", signInPath, nil).text)
			require.NotNil(t, signUpLink)

			page := browser.open("GET", signUpLink[1], nil)
			require.Equal(t, 200, page.status)
			require.Contains(t, page.text, `name="next" value="/developers"`)

			// The registration signs in and continues. With a session, the page continues at once.
			values := form(url.Values{"next": {"/developers/consents"}})
			signedUp := browser.open("POST", "/developers/sign-up", values)
			require.Equal(t, 303, signedUp.status, signedUp.text)
			require.Equal(t, "/developers/consents", signedUp.header.Get("Location"))
			require.Equal(t, 200, browser.open("GET", "/developers", nil).status)
			require.Equal(t, "/developers/consents",
				browser.open("GET", "/developers/sign-up?next=/developers/consents", nil).header.Get("Location"))

			// The account is an ordinary one: it can use the API, and gets the e-mail to confirm the address.
			server.guest(t).post("/api/auth/login", object{"email": values.Get("email"), "password": password}).ok(200)
			server.waitForMail(t, values.Get("email"), "confirm your e-mail address")
		})

		t.Run("creates an employer with an organization", func(t *testing.T) {
			t.Parallel()

			browser := server.browser(t)
			values := form(url.Values{"userType": {"employer"}})

			// The form without an organization is shown again with the chosen kind of account and the missing field.
			refused := browser.open("POST", "/developers/sign-up", values)
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "Organization is required")
			require.Contains(t, refused.text, `value="employer" checked required`)
			require.Contains(t, refused.text, `<label for="companyName">Organization</label>`)
			values.Set("companyName", "St Mary's")
			require.Equal(t, 303, browser.open("POST", "/developers/sign-up", values).status)

			guest := server.guest(t)
			guest.token = guest.post("/api/auth/login", object{"email": values.Get("email"), "password": password}).ok(200).text("data.accessToken")
			require.Contains(t, string(guest.get("/api/employers/profile").ok(200).raw), "St Mary's")
		})

		t.Run("invalid fields", func(t *testing.T) {
			t.Parallel()

			browser := server.browser(t)
			refused := browser.open("POST", "/developers/sign-up",
				url.Values{"name": {"Sam <b>"}, "email": {"nonsense"}, "password": {"Short-1"}, "userType": {"admin"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "E-mail address must be a valid email address")
			require.Contains(t, refused.text, `id="password-error"><span class="unseen">Error:</span> Password `)
			require.Contains(t, refused.text, `aria-describedby="password-hint password-error"`)
			require.Contains(t, refused.text, "Kind of account must be one of")
			require.Contains(t, refused.text, `value="Sam &lt;b&gt;"`)
			require.NotContains(t, refused.text, "Short-1")
			require.Empty(t, refused.header.Get("Set-Cookie"))

			taken := browser.open("POST", "/developers/sign-up", form(url.Values{"email": {server.seeker(t).email}}))
			require.Equal(t, 409, taken.status)
			require.Contains(t, taken.text, "has an account already")
		})

		t.Run("open redirect", func(t *testing.T) {
			t.Parallel()

			// Addresses of other sites, those that browsers can read as such, and an empty one lead to the developers' page.
			for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "/a\tb", ""} {
				browser := server.browser(t)
				require.Contains(t,
					browser.open("GET", "/developers/sign-up?next="+url.QueryEscape(next), nil).text,
					`name="next" value="/developers"`)

				signedUp := browser.open("POST", "/developers/sign-up", form(url.Values{"next": {next}}))
				require.Equal(t, 303, signedUp.status)
				require.Equal(t, "/developers", signedUp.header.Get("Location"))
			}
		})

		t.Run("refused from another site and over the portal's limit", func(t *testing.T) {
			t.Parallel()

			browser := server.browser(t)
			browser.Site = "cross-site"
			require.Equal(t, 403, browser.open("POST", "/developers/sign-up", form(nil)).status)

			browser.Site = "same-origin"
			guest := server.guest(t)

			guest.ip = browser.IP
			for range 3 { // with the two below: five registrations of employers in 15 minutes
				guest.post("/api/auth/register-employer", object{}).invalid("email")
			}

			employer := url.Values{"userType": {"employer"}, "companyName": {""}}
			for range 2 {
				require.Equal(t, 400, browser.open("POST", "/developers/sign-up", form(employer)).status)
			}

			refused := browser.open("POST", "/developers/sign-up", form(employer))

			// A server that has counted in memory, because Redis was unavailable, may allow more requests.
			if server.countsLocally() {
				return
			}

			require.Equal(t, 429, refused.status)
			require.NotEmpty(t, refused.header.Get("Retry-After"))
			require.Contains(t, refused.text, "There were too many tries")
			require.Equal(t, 303, browser.open("POST", "/developers/sign-up", form(nil)).status, "jobseekers have another limit")
		})

		t.Run("continues with the requested consent", func(t *testing.T) {
			t.Parallel()

			thirdParty := server.thirdParty(t, nil)
			browser := server.browser(t)
			path := thirdParty.authorizationPath(oauth2.GenerateVerifier())
			signInPath := browser.open("GET", path, nil).header.Get("Location")
			require.True(t, strings.HasPrefix(signInPath, "/developers/sign-in?"), signInPath)

			signUpLink := regexp.MustCompile(`href="(/developers/sign-up[^"]*)"`).FindStringSubmatch(browser.open("GET", signInPath, nil).text)
			require.NotNil(t, signUpLink)

			next := regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(browser.open("GET", signUpLink[1], nil).visibleText())
			require.NotNil(t, next)
			require.Equal(t, path, next[1])
			require.Equal(t, 200, browser.open("POST", "/developers/sign-up", form(url.Values{"next": {next[1]}})).status)
			require.NotEmpty(t, browser.allow(path).Get("code"))
		})
	})
}

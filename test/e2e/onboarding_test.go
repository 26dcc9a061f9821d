package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onboardingPath is the path of the onboarding of jobseekers, for guests too.
const onboardingPath = "/api/jobseekers/onboarding"

// steps returns the states of the onboarding steps by id.
func steps(res *response) map[string]string {
	statusByID := map[string]string{}
	for _, item := range res.list("onboarding.steps") {
		step := item.(object)
		statusByID[step["id"].(string)] = step["status"].(string)
	}

	return statusByID
}

// guestCookie returns the guest cookie that the response sets, or nil.
func (r *response) guestCookie() *http.Cookie {
	for _, cookie := range (&http.Response{Header: r.header}).Cookies() {
		if cookie.Name == "locum_guest" {
			return cookie
		}
	}

	return nil
}

// sendOnboarding sends a form and keeps the cookie as a browser does.
func (c *client) sendOnboarding(body any) *response {
	c.t.Helper()

	res := c.fromNewAddress().post(onboardingPath, body)
	if set := res.guestCookie(); set != nil {
		c.guestCookie = set.Value
	}

	return res
}

// TestOnboarding checks the steps of onboarding for guests, whom a cookie identifies, and for
// jobseekers. When a guest registers or signs in, the account takes over the steps and the
// cookie becomes invalid.
func TestOnboarding(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/jobseekers/onboarding as a guest", func(t *testing.T) {
			res := server.guest(t).get(onboardingPath).ok(200)
			require.Equal(t, false, res.at("onboardingComplete"))
			require.Equal(t, true, res.at("isGuest"))
			require.Equal(
				t,
				map[string]string{
					"account":           "pending",
					"profile":           "pending",
					"preferences":       "pending",
					"documents":         "pending",
					"first-search":      "pending",
					"first-application": "pending",
				},
				steps(res),
			)
			require.NotEmpty(t, res.text("onboarding.steps.0.title"))
			require.Nil(t, res.guestCookie(), "reading sets no cookie")
		})

		t.Run("POST /api/jobseekers/onboarding as a guest", func(t *testing.T) {
			guest := server.guest(t)
			res := guest.sendOnboarding(form{"action": {"capture_email"}, "email": {"zoe@example.org"}, "source": {"apply"}}).ok(200)
			require.NotEmpty(t, res.text("message"))
			require.Equal(t, true, res.at("isGuest"))

			set := res.guestCookie()

			// The first form of a guest sets a cookie that scripts cannot read, for 90 days.
			require.True(t, set.HttpOnly)
			require.Equal(t, http.SameSiteLaxMode, set.SameSite)
			require.Equal(t, 90*24*60*60, set.MaxAge) // 90 days
			require.Equal(t, "/api", set.Path)
			require.False(t, set.Secure, "the address of this server is not https")
			guest.sendOnboarding(parts{"action": "track_step", "step": "profile", "actionType": "viewed"}).ok(200)
			guest.sendOnboarding(parts{"action": "track_step", "step": "documents", "actionType": "skipped"}).ok(200)
			guest.sendOnboarding(form{"action": {"update_preferences"}, "preferences": {`{"preferredLocation":"Leeds","n":[1,2.5]}`}}).
				ok(200)
			require.Equal(t, set.Value, guest.guestCookie, "the same browser")

			// The server stores the steps, the address and the preferences for this browser, and for no other.
			res = guest.get(onboardingPath).ok(200)
			status := steps(res)
			require.Equal(t, "viewed", status["profile"])
			require.Equal(t, "skipped", status["documents"])
			require.Equal(t, "completed", status["preferences"])
			require.Equal(t, "zoe@example.org", res.text("onboarding.email"))
			require.Equal(t, object{"preferredLocation": "Leeds", "n": []any{1.0, 2.5}}, res.at("onboarding.preferences"))
			require.NotContains(t, string(server.guest(t).get(onboardingPath).ok(200).raw), "zoe", "another browser")
		})

		t.Run("POST /api/jobseekers/onboarding as a jobseeker", func(t *testing.T) {
			seeker := server.seeker(t)
			res := seeker.get(onboardingPath).ok(200)
			require.Equal(t, false, res.at("isGuest"))
			require.Equal(t, "completed", steps(res)["account"])

			// The onboarding is complete after the last of the known steps, first-application, which ends the loop.
			for _, step := range []string{
				"profile", "preferences", "documents", "first-search", "first-application",
				"a step of the client's own",
			} {
				require.Equal(t, false, seeker.get(onboardingPath).ok(200).at("onboardingComplete"))

				res := seeker.sendOnboarding(parts{"action": "track_step", "step": step, "actionType": "completed"}).ok(200)
				require.Equal(t, false, res.at("isGuest"))
				require.Nil(t, res.guestCookie())

				if step == "first-application" {
					break
				}
			}

			require.Equal(t, true, seeker.get(onboardingPath).ok(200).at("onboardingComplete"))

			// The address of a jobseeker is that of the account: another one is not stored. Other users have their own steps.
			seeker.sendOnboarding(form{"action": {"capture_email"}, "email": {"other@example.org"}, "source": {"save"}}).ok(200)
			require.NotContains(t, string(seeker.get(onboardingPath).ok(200).raw), "other@")
			require.Equal(t, "pending", steps(server.seeker(t).get(onboardingPath).ok(200))["profile"])
		})

		t.Run("POST /api/jobseekers/onboarding refuses unknown values", func(t *testing.T) {
			guest := server.guest(t)
			for _, body := range []any{
				form{},
				form{"action": {""}},
				form{"action": {"sell"}},
				parts{"action": "CAPTURE_EMAIL"},
				parts{"step": "profile"},
			} {
				guest.sendOnboarding(body).fails(400, "Invalid action")
			}

			for field, body := range map[string]form{
				"email":       {"action": {"capture_email"}, "source": {"apply"}},
				"source":      {"action": {"capture_email"}, "email": {"a@example.org"}, "source": {"spam"}},
				"step":        {"action": {"track_step"}, "actionType": {"viewed"}},
				"actionType":  {"action": {"track_step"}, "step": {"profile"}, "actionType": {"burnt"}},
				"preferences": {"action": {"update_preferences"}, "preferences": {"[1]"}},
				"action":      {"action": {"track_step", "capture_email"}},
			} {
				guest.sendOnboarding(body).invalid(field)
			}

			for _, invalidEmail := range []string{"", "no address", "Zoe <zoe@example.org>", strings.Repeat("a", 260) + "@example.org"} {
				guest.sendOnboarding(form{"action": {"capture_email"}, "email": {invalidEmail}}).invalid("email")
			}

			// Preferences are a JSON object of at most 16 KiB.
			for _, invalidJSON := range []string{"", "{", "null", `"x"`, `{"a":"` + strings.Repeat("a", 16<<10) + `"}`} {
				guest.sendOnboarding(form{"action": {"update_preferences"}, "preferences": {invalidJSON}}).invalid("preferences")
			}

			// The name of a step has at most 64 characters and is valid UTF-8.
			guest.sendOnboarding(form{"action": {"track_step"}, "step": {strings.Repeat("s", 65)}, "actionType": {"viewed"}}).
				invalid("step")
			guest.sendOnboarding(form{"action": {"track_step"}, "step": {"\xff"}, "actionType": {"viewed"}}).invalid("step")

			// The route accepts forms only.
			guest.sendOnboarding(object{"action": "track_step", "step": "profile", "actionType": "viewed"}).invalid("body")
			require.Empty(t, guest.guestCookie, "nothing was stored")
			server.employer(t).
				sendOnboarding(form{"action": {"track_step"}, "step": {"profile"}, "actionType": {"viewed"}}).
				fails(403, "Forbidden")
			server.employer(t).get(onboardingPath).fails(403, "Forbidden")
		})

		t.Run("POST /api/jobseekers/onboarding is limited by address", func(t *testing.T) {
			guest := server.guest(t)

			// Ten requests in 15 minutes, valid or not, are the limit of an address.
			for range 10 {
				guest.post(onboardingPath, form{"action": {"sell"}}).fails(400, "Invalid action")
			}

			refused := guest.post(onboardingPath, form{"action": {"sell"}}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, refused.header.Get("Retry-After"))
		})

		t.Run("guest registers", func(t *testing.T) {
			guest := server.guest(t)
			email := newEmail()
			guest.sendOnboarding(form{"action": {"capture_email"}, "email": {email}, "source": {"save"}}).ok(200)
			guest.sendOnboarding(form{"action": {"track_step"}, "step": {"first-search"}, "actionType": {"completed"}}).ok(200)
			guest.sendOnboarding(form{"action": {"update_preferences"}, "preferences": {`{"specialty":"Renal"}`}}).ok(200)

			secret := guest.guestCookie

			// A caller who knows only the address gets nothing.
			stranger := server.guest(t)
			res := stranger.post("/api/auth/register", object{
				"email":    email,
				"password": password,
				"name":     "Mallory",
				"userType": "jobseeker",
			}).
				ok(201)
			stranger.token = res.text("data.accessToken")
			require.Equal(t, "pending", steps(stranger.get(onboardingPath).ok(200))["first-search"])

			res = guest.post("/api/auth/register", object{
				"email":    newEmail(),
				"password": password,
				"name":     "Zoe",
				"userType": "jobseeker",
			}).
				ok(201)

			// The guest registers with another address, and the account has the steps and preferences of the browser.
			owner := server.guest(t)
			owner.token = res.text("data.accessToken")
			require.Equal(t, "completed", steps(owner.get(onboardingPath).ok(200))["first-search"], "also on another device")
			require.Equal(t, "Renal", owner.get("/api/jobseekers/profile").ok(200).text("data.specialty"))
			require.NotContains(t, string(owner.get(onboardingPath).ok(200).raw), email)

			// The cookie from before the registration is not valid any more. A request with it gets a new cookie.
			thief := server.guest(t)
			thief.guestCookie = secret
			require.Equal(t, "pending", steps(thief.get(onboardingPath).ok(200))["first-search"], "the secret is no longer valid")
			thief.sendOnboarding(form{"action": {"track_step"}, "step": {"profile"}, "actionType": {"viewed"}}).ok(200)
			require.NotEqual(t, secret, thief.guestCookie, "the secret is not reused")
		})

		t.Run("guest signs in", func(t *testing.T) {
			seeker := server.seeker(t)
			guest := server.guest(t)
			guest.sendOnboarding(form{"action": {"track_step"}, "step": {"documents"}, "actionType": {"skipped"}}).ok(200)
			guest.sendOnboarding(form{"action": {"update_preferences"}, "preferences": {`{"specialty":"Renal"}`}}).ok(200)

			// A sign-in takes over the steps of the browser, but not its preferences, and deletes the cookie.
			res := guest.post("/api/auth/login", object{"email": seeker.email, "password": password}).ok(200)
			require.Equal(t, "skipped", steps(seeker.get(onboardingPath).ok(200))["documents"])
			require.NotContains(t, string(seeker.get("/api/jobseekers/profile").ok(200).raw), "Renal", "a browser may have several users")

			guest.token = res.text("data.accessToken")
			require.Equal(t, -1, guest.get(onboardingPath).ok(200).guestCookie().MaxAge) // the browser deletes the cookie
		})
	})
}

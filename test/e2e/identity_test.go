package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// mailToken matches the token that has its own line in an e-mail.
var mailToken = regexp.MustCompile(`(?m)^loc_mt_\w+`)

// tokenFromMail returns the token in the newest e-mail to the address with the subject.
func (s *testServer) tokenFromMail(t testing.TB, to, subject string) string {
	t.Helper()

	token := mailToken.FindString(s.waitForMail(t, to, subject))
	require.NotEmpty(t, token)

	return token
}

// signIn opens another session of the account from a new address.
func (a *account) signIn(password string) *account {
	a.t.Helper()

	c := a.server.guest(a.t)
	answer := c.post("/api/auth/login", object{"email": a.email, "password": password}).ok(200)
	c.token = answer.text("data.accessToken")

	return &account{client: c, id: answer.text("data.user.id"), email: a.email, refresh: answer.text("data.refreshToken")}
}

// requireSignedOut requires that neither the access token nor the refresh token is valid.
func (a *account) requireSignedOut(t testing.TB) {
	t.Helper()
	require.Contains(t, a.get("/api/auth/me").fails(401, "Unauthorized").header.Get("WWW-Authenticate"), "Bearer")
	a.server.guest(t).post("/api/auth/refresh", object{"refreshToken": a.refresh}).fails(401, "Invalid or expired refresh token")
}

// inviteMember invites a user with the role, accepts the invitation, and returns the new
// member.
func (a *account) inviteMember(role string) *account {
	a.t.Helper()

	email := newEmail()
	a.fromNewAddress().
		post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email, "role": role}).
		ok(200)

	c := a.server.guest(a.t)
	in := c.post("/api/auth/accept-invitation", object{"token": a.server.tokenFromMail(a.t, email, "Join"), "password": password}).ok(200)
	c.token = in.text("data.accessToken")

	return &account{client: c, id: in.text("data.user.id"), email: email, refresh: in.text("data.refreshToken")}
}

// TestSignInAndOut checks registration, sign-in, refresh and sign-out, also under concurrent
// requests. Responses do not reveal whether an address has an account, except on registration.
func TestSignInAndOut(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/register-employer creates an organization's admin", func(t *testing.T) {
			c, email := server.guest(t), newEmail()
			body := object{
				"email":       email,
				"password":    "all-lower", // employers have a weaker rule than jobseekers: eight characters
				"name":        "Asha Patel",
				"companyName": "St Brigid's",
				"industry":    "hospital",
				"companySize": "51-200",
			}
			in := c.post("/api/auth/register-employer", body).ok(201)
			require.Equal(t, "EMPLOYER", in.text("data.user.role"))
			c.post("/api/auth/register-employer", body).fails(409, "Email already registered")
			c.post("/api/auth/register-employer", object{"companyName": 7, "email": "x"}).invalid("companyName")
			c.post("/api/auth/register-employer", object{}).invalid("email")
			c.post("/api/auth/register-employer", body).fails(409, "Email already registered")
			require.NotEmpty(t, c.post("/api/auth/register-employer", body).fails(429, "Rate limit exceeded").header.Get("Retry-After"))
		})

		t.Run("invalid registrations", func(t *testing.T) {
			c := server.guest(t)
			res := c.post("/api/auth/register", `{"name":"","userType":"admin","password":"short","email":"x"}`).invalid("name")
			require.Len(t, res.list("errors"), 4)
			c.post("/api/auth/register", object{}).invalid("email")
			c.post("/api/auth/register", `{"email":`).invalid("body")
			c.post("/api/auth/register", `[]`).invalid("body")
			c.post("/api/auth/register", `{"email":1,"password":"`+password+`","name":"N","userType":"jobseeker"}`).invalid("email")

			for _, weak := range []string{"alllower1", "ALLUPPER1", "NoDigits-x"} {
				c.post("/api/auth/register", object{"email": newEmail(), "password": weak, "name": "N", "userType": "jobseeker"}).
					invalid("password")
			}
		})

		t.Run("concurrent registrations of one address", func(t *testing.T) {
			body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
			var made, refused atomic.Int32

			var all sync.WaitGroup
			for range 20 {
				c := server.guest(t)
				all.Go(func() {
					switch res := retryWhenBusy(func() *response { return c.try("POST", "/api/auth/register", body) }); res.status {
					case 201:
						made.Add(1)
					case 409:
						refused.Add(1)
					}
				})
			}

			all.Wait()
			require.EqualValues(t, 1, made.Load())
			require.EqualValues(t, 19, refused.Load())
		})

		t.Run("POST /api/auth/login", func(t *testing.T) {
			seeker := server.seeker(t)
			in := server.guest(t).post("/api/auth/login", object{"email": strings.ToUpper(seeker.email), "password": password}).ok(200)
			require.Equal(t, seeker.id, in.text("data.user.id"))
			require.Equal(t, "active", in.text("data.user.subscriptionStatus"))

			wrong := server.guest(t).
				post("/api/auth/login", object{"email": seeker.email, "password": "Wr0ng-horse"}).
				fails(401, "Invalid email or password")
			unknown := server.guest(t).
				post("/api/auth/login", object{"email": newEmail(), "password": "Wr0ng-horse"}).
				fails(401, "Invalid email or password")

			// An attacker cannot find out which addresses have accounts.
			require.Equal(t, wrong.raw, unknown.raw)
			server.guest(t).post("/api/auth/login", object{"password": "x"}).invalid("email")
		})

		// Ten failures block the account for 15 minutes, even with the right password, but only
		// for the network that failed: others cannot lock a user out.
		t.Run("failures throttle the account per network", func(t *testing.T) {
			seeker, c := server.seeker(t), server.guest(t)
			for range 10 {
				c.post("/api/auth/login", object{"email": seeker.email, "password": "Wr0ng-horse"}).fails(401, "Invalid email or password")
			}

			if server.countsLocally() { // the failures may have been counted in two places
				return
			}

			require.NotEmpty(
				t,
				c.post("/api/auth/login", object{"email": seeker.email, "password": password}).
					fails(429, "Rate limit exceeded").
					header.Get("Retry-After"),
			)
			seeker.signIn(password)
		})

		t.Run("GET /api/auth/me", func(t *testing.T) {
			seeker := server.seeker(t)
			me := seeker.get("/api/auth/me").ok(200)
			require.Equal(t, seeker.id, me.text("data.id"))
			require.Equal(t, "jobseeker", me.text("data.role"))
			require.Equal(t, "active", me.text("data.subscriptionStatus"))
			require.Regexp(t, `^\d{4}-\d\d-\d\dT.*Z$`, me.text("data.createdAt"))

			for _, bad := range []string{"", "x", "a.b.c", seeker.refresh, seeker.token + "x", seeker.token[:len(seeker.token)-6]} {
				c := server.guest(t)
				c.token = bad
				c.get("/api/auth/me").fails(401, "Unauthorized")
			}
		})

		// A refresh token can be used again within 10 s, for clients that lost the response or
		// have several tabs. A later use ends the session.
		t.Run("concurrent refreshes of a session", func(t *testing.T) {
			seeker := server.seeker(t)
			var all sync.WaitGroup

			var fine atomic.Int32
			for range 20 {
				c := server.guest(t)
				all.Go(func() {
					if in, _, _ := c.exchange("POST", "/api/auth/refresh", object{"refreshToken": seeker.refresh}); in.status == 200 {
						fine.Add(1)
					}
				})
			}

			all.Wait()
			require.EqualValues(t, 20, fine.Load())
			server.guest(t).
				post("/api/auth/refresh", object{"refreshToken": "loc_rt_nothing"}).
				fails(401, "Invalid or expired refresh token")
			server.guest(t).post("/api/auth/refresh", object{}).invalid("refreshToken")
		})

		t.Run("POST /api/auth/logout ends access and refresh at once", func(t *testing.T) {
			seeker := server.seeker(t)
			other := seeker.signIn(password)
			seeker.post("/api/auth/logout", nil).ok(200)
			seeker.requireSignedOut(t)
			seeker.post("/api/auth/logout", nil).fails(401, "Unauthorized")
			other.get("/api/auth/me").ok(200)
		})

		t.Run("GET /.well-known/jwks.json has the keys of access tokens", func(t *testing.T) {
			resp, err := http.Get(server.url + "/.well-known/jwks.json")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode)

			// Programs that verify tokens may cache the keys.
			require.Contains(t, resp.Header.Get("Cache-Control"), "public")
		})
	})
}

// TestPasswordAndEmailChanges checks the links in e-mails and the changes of passwords: a token
// works once and for its purpose only, and a new password ends the other sessions.
func TestPasswordAndEmailChanges(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("pages of mail links", func(t *testing.T) {
			for _, path := range []string{
				"/verify-email?token=x", "/reset-password?token=x", "/accept-invitation?token=x",
				"/forgot-password", "/request-verification", "/undo-email-change?token=x",
			} {
				resp, err := http.Get(server.url + path)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, 200, resp.StatusCode, path)
				require.Contains(t, resp.Header.Get("Content-Security-Policy"), "script-src 'self';")
				require.Contains(t, []string{"no-referrer", "same-origin"}, resp.Header.Get("Referrer-Policy"),
					"other hosts do not get the token")
			}
		})

		t.Run("POST /api/auth/verify-email confirms an address once", func(t *testing.T) {
			seeker := server.seeker(t)
			token := object{"token": server.tokenFromMail(t, seeker.email, "confirm")}
			server.guest(t).post("/api/auth/verify-email", token).ok(200)
			server.guest(t).post("/api/auth/verify-email", token).invalid("token")
			server.guest(t).post("/api/auth/verify-email", object{}).invalid("token")
		})

		t.Run("POST /api/auth/forgot-password and POST /api/auth/reset-password end every session", func(t *testing.T) {
			seeker := server.seeker(t)
			known := server.guest(t).post("/api/auth/forgot-password", object{"email": seeker.email}).ok(200)
			unknown := server.guest(t).post("/api/auth/forgot-password", object{"email": newEmail()}).ok(200)
			require.Equal(t, known.raw, unknown.raw) // the response does not reveal whether there is an account

			token := server.tokenFromMail(t, seeker.email, "Set a new password")
			server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": "weak"}).invalid("password")
			server.guest(t).post("/api/auth/reset-password", object{"token": "loc_mt_x", "password": password}).invalid("token")

			// A token for another purpose.
			server.guest(t).post("/api/auth/verify-email", object{"token": token}).invalid("token")
			server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": "An0ther-horse"}).ok(200)
			seeker.requireSignedOut(t)
			seeker.signIn("An0ther-horse")
			server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": password}).invalid("token")
			require.Contains(t, server.waitForMail(t, seeker.email, "was changed"), "forgot-password")
		})

		t.Run("POST /api/auth/change-password ends the other sessions", func(t *testing.T) {
			seeker := server.seeker(t)
			other := seeker.signIn(password)
			seeker.post("/api/auth/change-password", object{"currentPassword": "Wr0ng-horse", "newPassword": "An0ther-horse"}).
				invalid("currentPassword")
			seeker.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": "weak"}).invalid("newPassword")
			server.guest(t).post("/api/auth/change-password", object{}).fails(401, "Unauthorized")
			seeker.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": "An0ther-horse"}).ok(200)
			seeker.get("/api/auth/me").ok(200)
			other.requireSignedOut(t)
			seeker.signIn("An0ther-horse")
		})
	})
}

// TestTeam checks invitations and permissions: an invited member has an id before accepting,
// permissions are the role's with exceptions, and an organization always has an admin.
func TestTeam(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, foreign, seeker := server.employer(t), server.employer(t), server.seeker(t)
		permissions := func(id string) string { return "/api/employers/team/" + id + "/permissions" }

		t.Run("POST /api/auth/accept-invitation keeps the id of the invited member", func(t *testing.T) {
			email := newEmail()
			boss.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email}).ok(200)
			boss.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email}).
				fails(409, "Already a team member or invited")

			team := boss.get("/api/employers/team?limit=100").ok(200)
			list := team.list("data.team")
			last, _ := list[len(list)-1].(object)
			require.Equal(t, email, last["email"])
			require.Equal(t, "recruiter", last["role"])
			require.InDelta(t, len(list), team.number("data.pagination.total"), 0)

			id, _ := last["id"].(string)
			put := boss.put(permissions(id), object{"role": "viewer", "permissions": object{"jobs": object{"create": true}}}).ok(200)
			require.Equal(t, id, put.text("data.userId"))
			require.Equal(t, "viewer", put.text("data.role"))
			require.Equal(t, object{
				"jobs":         object{"create": true, "update": false, "delete": false},
				"applications": object{"view": true, "update": false},
			}, put.at("data.permissions"))
			require.Equal(t, put.at("data"), boss.get(permissions(id)).ok(200).at("data"))

			token := server.tokenFromMail(t, email, "Join")
			server.guest(t).post("/api/auth/accept-invitation", object{"token": token}).invalid("password")
			server.guest(t).post("/api/auth/accept-invitation", object{"token": "loc_mt_x", "password": password}).invalid("token")

			c := server.guest(t)
			in := c.post("/api/auth/accept-invitation", object{"token": token, "password": password, "name": "Tomas"}).ok(200)
			require.Equal(t, id, in.text("data.user.id"))
			require.Equal(t, "EMPLOYER_TEAM", in.text("data.user.role"))

			c.token = in.text("data.accessToken")
			require.Equal(t, "Tomas", c.get("/api/auth/me").ok(200).text("data.name"))
			c.post("/api/employers/team", object{"intent": "add-member", "name": "X", "email": newEmail()}).fails(403, "Forbidden")
			c.put(permissions(boss.id), object{"role": "viewer"}).fails(403, "Forbidden")
			c.get(permissions(boss.id)).ok(200)
			server.guest(t).post("/api/auth/accept-invitation", object{"token": token, "password": password}).invalid("token")
		})

		t.Run("jobseeker accepts an invitation", func(t *testing.T) {
			jo := server.seeker(t)
			boss.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Jo", "email": jo.email, "role": "viewer"}).
				ok(200)

			token := object{"token": server.tokenFromMail(t, jo.email, "Join"), "password": password}

			// The address has an account.
			server.guest(t).post("/api/auth/accept-invitation", token).fails(401, "Sign in to accept this invitation")
			seeker.post("/api/auth/accept-invitation", token).fails(403, "This invitation is for another account")
			jo.post("/api/auth/accept-invitation", token).ok(200)
			require.Equal(t, "EMPLOYER_TEAM", jo.get("/api/auth/me").ok(200).text("data.role"))
			jo.get("/api/employers/team").ok(200)
		})

		t.Run("revoked permission", func(t *testing.T) {
			second := boss.inviteMember("admin")

			// An admin has all permissions.
			second.put(permissions(second.id), object{"permissions": object{"jobs": object{"delete": false}}}).invalid("permissions")
			boss.put(permissions(second.id), object{"role": "recruiter"}).ok(200)
			second.put(permissions(boss.id), object{"role": "viewer"}).fails(403, "Forbidden")
			boss.put(permissions(boss.id), object{"role": "viewer"}).fails(409, "An organization needs at least one admin")
		})

		t.Run("foreign and unknown members", func(t *testing.T) {
			for _, id := range []string{foreign.id, seeker.id, "01890000-0000-7000-8000-000000000000", "x"} {
				boss.get(permissions(id)).fails(403, "Team member not in your organization")
				boss.put(permissions(id), object{"role": "viewer"}).fails(403, "Team member not in your organization")
			}

			seeker.get("/api/employers/team").fails(403, "Forbidden")
			seeker.get(permissions(boss.id)).fails(403, "Forbidden")
			server.guest(t).get("/api/employers/team").fails(401, "Unauthorized")
			server.guest(t).get(permissions(boss.id)).fails(401, "Unauthorized")
		})

		t.Run("invalid invitations", func(t *testing.T) {
			c := foreign.fromNewAddress()
			c.post("/api/employers/team", object{"name": "X"}).fails(400, "Intent is required")
			c.post("/api/employers/team", object{"intent": "fire-member", "name": "X", "email": newEmail()}).invalid("intent")
			c.post("/api/employers/team", object{"intent": "add-member", "email": "x"}).invalid("email")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "X", "email": newEmail(), "role": "emperor"}).
				invalid("role")
			c.get("/api/employers/team?page=0").invalid("page")
			c.get("/api/employers/team?cursor=x").invalid("cursor")
		})
	})
}

// TestTeam_UppercaseID_IsTheSameMember checks that ids are UUIDs and not text: their case does
// not matter.
func TestTeam_UppercaseID_IsTheSameMember(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		member := server.addMember(t, employer, nil)
		path := "/api/employers/team/" + strings.ToUpper(member.id) + "/permissions"
		require.Equal(t, member.id, employer.get(path).ok(200).text("data.userId"))
		require.Equal(t, "viewer", employer.put(path, object{"role": "viewer"}).ok(200).text("data.role"))
	})
}

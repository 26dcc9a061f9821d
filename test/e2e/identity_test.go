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

var mailToken = regexp.MustCompile(`(?m)^loc_mt_\w+`)

// tokenFromMail returns the token in the newest message of the kind.
func (w *testServer) tokenFromMail(t testing.TB, to, subject string) string {
	t.Helper()
	token := mailToken.FindString(w.waitForMail(t, to, subject))
	require.NotEmpty(t, token)
	return token
}

// signIn opens another session of the account from a new address.
func (a *account) signIn(password string) *account {
	a.t.Helper()
	c := a.w.guest(a.t)
	answer := c.post("/api/auth/login", object{"email": a.email, "password": password}).ok(200)
	c.token = answer.text("data.accessToken")
	return &account{client: c, id: answer.text("data.user.id"), email: a.email, refresh: answer.text("data.refreshToken")}
}

func (a *account) isOut(t testing.TB) {
	t.Helper()
	require.Contains(t, a.get("/api/auth/me").fails(401, "Unauthorized").header.Get("WWW-Authenticate"), "Bearer")
	a.w.guest(t).post("/api/auth/refresh", object{"refreshToken": a.refresh}).fails(401, "Invalid or expired refresh token")
}

// inviteMember invites a user and accepts the invitation.
func (a *account) inviteMember(role string) *account {
	a.t.Helper()
	email := newEmail()
	a.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email, "role": role}).ok(200)
	c := a.w.guest(a.t)
	in := c.post("/api/auth/accept-invitation", object{"token": a.w.tokenFromMail(a.t, email, "Join"), "password": password}).ok(200)
	c.token = in.text("data.accessToken")
	return &account{client: c, id: in.text("data.user.id"), email: email, refresh: in.text("data.refreshToken")}
}

func TestSignInAndOut(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		t.Run("POST /api/auth/register-employer creates an organization's admin", func(t *testing.T) {
			c, email := w.guest(t), newEmail()
			body := object{"email": email, "password": "all-lower", "name": "Asha Patel", "companyName": "St Brigid's", "industry": "hospital", "companySize": "51-200"}
			in := c.post("/api/auth/register-employer", body).ok(201)
			require.Equal(t, "EMPLOYER", in.text("data.user.role"))
			c.post("/api/auth/register-employer", body).fails(409, "Email already registered")
			c.post("/api/auth/register-employer", object{"companyName": 7, "email": "x"}).invalid("companyName")
			c.post("/api/auth/register-employer", object{}).invalid("email")
			c.post("/api/auth/register-employer", body).fails(409, "Email already registered")
			require.NotEmpty(t, c.post("/api/auth/register-employer", body).fails(429, "Rate limit exceeded").header.Get("Retry-After"))
		})
		t.Run("invalid registrations", func(t *testing.T) {
			c := w.guest(t)
			a := c.post("/api/auth/register", `{"name":"","userType":"admin","password":"short","email":"x"}`).invalid("name")
			require.Len(t, a.list("errors"), 4)
			c.post("/api/auth/register", object{}).invalid("email")
			c.post("/api/auth/register", `{"email":`).invalid("body")
			c.post("/api/auth/register", `[]`).invalid("body")
			c.post("/api/auth/register", `{"email":1,"password":"`+password+`","name":"N","userType":"jobseeker"}`).invalid("email")
			for _, weak := range []string{"alllower1", "ALLUPPER1", "NoDigits-x"} {
				c.post("/api/auth/register", object{"email": newEmail(), "password": weak, "name": "N", "userType": "jobseeker"}).invalid("password")
			}
		})
		t.Run("concurrent registrations of one address", func(t *testing.T) {
			body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
			var made, refused atomic.Int32
			var all sync.WaitGroup
			for range 20 {
				c := w.guest(t)
				all.Go(func() {
					switch a := retryWhenBusy(func() *response { return c.try("POST", "/api/auth/register", body) }); a.status {
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
			a := w.seeker(t)
			in := w.guest(t).post("/api/auth/login", object{"email": strings.ToUpper(a.email), "password": password}).ok(200)
			require.Equal(t, a.id, in.text("data.user.id"))
			require.Equal(t, "active", in.text("data.user.subscriptionStatus"))
			wrong := w.guest(t).post("/api/auth/login", object{"email": a.email, "password": "Wr0ng-horse"}).fails(401, "Invalid email or password")
			nobody := w.guest(t).post("/api/auth/login", object{"email": newEmail(), "password": "Wr0ng-horse"}).fails(401, "Invalid email or password")
			require.Equal(t, wrong.raw, nobody.raw)
			w.guest(t).post("/api/auth/login", object{"password": "x"}).invalid("email")
		})
		t.Run("failures throttle the account per network", func(t *testing.T) {
			a, c := w.seeker(t), w.guest(t)
			for range 10 {
				c.post("/api/auth/login", object{"email": a.email, "password": "Wr0ng-horse"}).fails(401, "Invalid email or password")
			}
			if w.countsLocally() {
				return
			}
			require.NotEmpty(t, c.post("/api/auth/login", object{"email": a.email, "password": password}).fails(429, "Rate limit exceeded").header.Get("Retry-After"))
			a.signIn(password)
		})
		t.Run("GET /api/auth/me", func(t *testing.T) {
			a := w.seeker(t)
			me := a.get("/api/auth/me").ok(200)
			require.Equal(t, a.id, me.text("data.id"))
			require.Equal(t, "jobseeker", me.text("data.role"))
			require.Equal(t, "active", me.text("data.subscriptionStatus"))
			require.Regexp(t, `^\d{4}-\d\d-\d\dT.*Z$`, me.text("data.createdAt"))
			for _, bad := range []string{"", "x", "a.b.c", a.refresh, a.token + "x", a.token[:len(a.token)-6]} {
				c := w.guest(t)
				c.token = bad
				c.get("/api/auth/me").fails(401, "Unauthorized")
			}
		})
		t.Run("concurrent refreshes of a session", func(t *testing.T) {
			a := w.seeker(t)
			var all sync.WaitGroup
			var fine atomic.Int32
			for range 20 {
				c := w.guest(t)
				all.Go(func() {
					if in, _, _ := c.exchange("POST", "/api/auth/refresh", object{"refreshToken": a.refresh}); in.status == 200 {
						fine.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 20, fine.Load())
			w.guest(t).post("/api/auth/refresh", object{"refreshToken": "loc_rt_nothing"}).fails(401, "Invalid or expired refresh token")
			w.guest(t).post("/api/auth/refresh", object{}).invalid("refreshToken")
		})
		t.Run("POST /api/auth/logout ends access and refresh at once", func(t *testing.T) {
			a := w.seeker(t)
			other := a.signIn(password)
			a.post("/api/auth/logout", nil).ok(200)
			a.isOut(t)
			a.post("/api/auth/logout", nil).fails(401, "Unauthorized")
			other.get("/api/auth/me").ok(200)
		})
		t.Run("GET /.well-known/jwks.json has the keys of access tokens", func(t *testing.T) {
			resp, err := http.Get(w.url + "/.well-known/jwks.json")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode)
			require.Contains(t, resp.Header.Get("Cache-Control"), "public")
		})
	})
}

func TestPasswordAndEmailChanges(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		t.Run("pages of mail links", func(t *testing.T) {
			for _, path := range []string{"/verify-email?token=x", "/reset-password?token=x", "/accept-invitation?token=x", "/forgot-password", "/undo-email-change?token=x"} {
				resp, err := http.Get(w.url + path)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, 200, resp.StatusCode, path)
				require.Contains(t, resp.Header.Get("Content-Security-Policy"), "script-src 'self';")
				require.Contains(t, []string{"no-referrer", "same-origin"}, resp.Header.Get("Referrer-Policy"), "other hosts do not get the token")
			}
		})
		t.Run("POST /api/auth/verify-email confirms an address once", func(t *testing.T) {
			a := w.seeker(t)
			token := object{"token": w.tokenFromMail(t, a.email, "confirm")}
			w.guest(t).post("/api/auth/verify-email", token).ok(200)
			w.guest(t).post("/api/auth/verify-email", token).invalid("token")
			w.guest(t).post("/api/auth/verify-email", object{}).invalid("token")
		})
		t.Run("POST /api/auth/forgot-password and POST /api/auth/reset-password end every session", func(t *testing.T) {
			a := w.seeker(t)
			known := w.guest(t).post("/api/auth/forgot-password", object{"email": a.email}).ok(200)
			unknown := w.guest(t).post("/api/auth/forgot-password", object{"email": newEmail()}).ok(200)
			require.Equal(t, known.raw, unknown.raw)
			token := w.tokenFromMail(t, a.email, "Set a new password")
			w.guest(t).post("/api/auth/reset-password", object{"token": token, "password": "weak"}).invalid("password")
			w.guest(t).post("/api/auth/reset-password", object{"token": "loc_mt_x", "password": password}).invalid("token")
			w.guest(t).post("/api/auth/verify-email", object{"token": token}).invalid("token")
			w.guest(t).post("/api/auth/reset-password", object{"token": token, "password": "An0ther-horse"}).ok(200)
			a.isOut(t)
			a.signIn("An0ther-horse")
			w.guest(t).post("/api/auth/reset-password", object{"token": token, "password": password}).invalid("token")
			require.Contains(t, w.waitForMail(t, a.email, "was changed"), "forgot-password")
		})
		t.Run("POST /api/auth/change-password ends the other sessions", func(t *testing.T) {
			a := w.seeker(t)
			other := a.signIn(password)
			a.post("/api/auth/change-password", object{"currentPassword": "Wr0ng-horse", "newPassword": "An0ther-horse"}).invalid("currentPassword")
			a.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": "weak"}).invalid("newPassword")
			w.guest(t).post("/api/auth/change-password", object{}).fails(401, "Unauthorized")
			a.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": "An0ther-horse"}).ok(200)
			a.get("/api/auth/me").ok(200)
			other.isOut(t)
			a.signIn("An0ther-horse")
		})
	})
}

func TestTeam(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		boss, foreign, seeker := w.employer(t), w.employer(t), w.seeker(t)
		permissions := func(id string) string { return "/api/employers/team/" + id + "/permissions" }

		t.Run("POST /api/auth/accept-invitation keeps the id of the invited member", func(t *testing.T) {
			email := newEmail()
			boss.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email}).ok(200)
			boss.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email}).fails(409, "Already a team member or invited")
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

			token := w.tokenFromMail(t, email, "Join")
			w.guest(t).post("/api/auth/accept-invitation", object{"token": token}).invalid("password")
			w.guest(t).post("/api/auth/accept-invitation", object{"token": "loc_mt_x", "password": password}).invalid("token")
			c := w.guest(t)
			in := c.post("/api/auth/accept-invitation", object{"token": token, "password": password, "name": "Tomas"}).ok(200)
			require.Equal(t, id, in.text("data.user.id"))
			require.Equal(t, "EMPLOYER_TEAM", in.text("data.user.role"))
			c.token = in.text("data.accessToken")
			require.Equal(t, "Tomas", c.get("/api/auth/me").ok(200).text("data.name"))
			c.post("/api/employers/team", object{"intent": "add-member", "name": "X", "email": newEmail()}).fails(403, "Forbidden")
			c.put(permissions(boss.id), object{"role": "viewer"}).fails(403, "Forbidden")
			c.get(permissions(boss.id)).ok(200)
			w.guest(t).post("/api/auth/accept-invitation", object{"token": token, "password": password}).invalid("token")
		})
		t.Run("jobseeker accepts an invitation", func(t *testing.T) {
			jo := w.seeker(t)
			boss.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Jo", "email": jo.email, "role": "viewer"}).ok(200)
			token := object{"token": w.tokenFromMail(t, jo.email, "Join"), "password": password}
			w.guest(t).post("/api/auth/accept-invitation", token).fails(401, "Sign in to accept this invitation")
			seeker.post("/api/auth/accept-invitation", token).fails(403, "This invitation is for another account")
			jo.post("/api/auth/accept-invitation", token).ok(200)
			require.Equal(t, "EMPLOYER_TEAM", jo.get("/api/auth/me").ok(200).text("data.role"))
			jo.get("/api/employers/team").ok(200)
		})
		t.Run("revoked permission", func(t *testing.T) {
			second := boss.inviteMember("admin")
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
			w.guest(t).get("/api/employers/team").fails(401, "Unauthorized")
			w.guest(t).get(permissions(boss.id)).fails(401, "Unauthorized")
		})
		t.Run("invalid invitations", func(t *testing.T) {
			c := foreign.fromNewAddress()
			c.post("/api/employers/team", object{"name": "X"}).fails(400, "Intent is required")
			c.post("/api/employers/team", object{"intent": "fire-member", "name": "X", "email": newEmail()}).invalid("intent")
			c.post("/api/employers/team", object{"intent": "add-member", "email": "x"}).invalid("email")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "X", "email": newEmail(), "role": "emperor"}).invalid("role")
			c.get("/api/employers/team?page=0").invalid("page")
			c.get("/api/employers/team?cursor=x").invalid("cursor")
		})
	})
}

func TestTeam_UppercaseID_IsTheSameMember(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		employer := w.employer(t)
		member := w.addMember(t, employer, nil)
		path := "/api/employers/team/" + strings.ToUpper(member.id) + "/permissions"
		require.Equal(t, member.id, employer.get(path).ok(200).text("data.userId"))
		require.Equal(t, "viewer", employer.put(path, object{"role": "viewer"}).ok(200).text("data.role"))
	})
}

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// memberNames returns the sorted names of the members of an object.
func (a *response) memberNames(path string) []string {
	a.t.Helper()
	o, ok := a.at(path).(object)
	require.True(a.t, ok, "%s is not an object in %s", path, a.raw)
	return slices.Sorted(maps.Keys(o))
}

// parseClaims returns the claims of an access token.
func parseClaims(t *testing.T, token string) (out struct {
	Subject string  `json:"sub"`
	Issued  float64 `json:"iat"`
	Expires float64 `json:"exp"`
}) {
	t.Helper()
	part := strings.Split(token, ".")
	require.Len(t, part, 3, "it is a JWT")
	raw, err := base64.RawURLEncoding.DecodeString(part[1])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// TestAuthenticationRoutes covers the documented operations one by one: every
// field of the success, every listed error, every limit.
func TestAuthenticationRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		t.Run("POST /api/auth/register", func(t *testing.T) {
			t.Parallel()
			for _, kind := range []struct{ userType, role string }{{"jobseeker", "jobseeker"}, {"employer", "EMPLOYER"}} {
				email := newEmail()
				body := object{"email": email, "password": password, "name": "Niamh Byrne", "userType": kind.userType}
				a := w.guest(t).post("/api/auth/register", body).ok(201)
				require.NotEmpty(t, a.text("message"))
				require.Equal(t, []string{"accessToken", "refreshToken", "user"}, a.memberNames("data"))
				require.Equal(t, object{"id": a.text("data.user.id"), "email": email, "name": "Niamh Byrne", "role": kind.role}, a.at("data.user"))
				require.Len(t, a.text("data.user.id"), 36)
				c := parseClaims(t, a.text("data.accessToken"))
				require.Equal(t, a.text("data.user.id"), c.Subject)
				require.InDelta(t, 15*60, c.Expires-c.Issued, 0)
				w.guest(t).post("/api/auth/register", body).fails(409, "Email already registered")
				body["email"] = strings.ToUpper(email)
				w.guest(t).post("/api/auth/register", body).fails(409, "Email already registered")
			}
			for _, missing := range []string{"email", "password", "name", "userType"} {
				body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
				delete(body, missing)
				w.guest(t).post("/api/auth/register", body).invalid(missing)
			}
			for field, bad := range map[string]any{"email": "no-address", "password": "Sh0rt", "name": "  ", "userType": "admin"} {
				body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
				body[field] = bad
				w.guest(t).post("/api/auth/register", body).invalid(field)
			}
		})
		t.Run("POST /api/auth/login", func(t *testing.T) {
			t.Parallel()
			jo, boss := w.seeker(t), w.employer(t)
			for _, who := range []struct {
				*account
				name, role string
			}{{jo, "Niamh Byrne", "jobseeker"}, {boss, "Asha Patel", "EMPLOYER"}} {
				a := w.guest(t).post("/api/auth/login", object{"email": who.email, "password": password}).ok(200)
				require.Equal(t, []string{"accessToken", "refreshToken", "user"}, a.memberNames("data"))
				require.Equal(t, object{"id": who.id, "email": who.email, "name": who.name, "role": who.role, "subscriptionStatus": "active"}, a.at("data.user"))
			}
			w.guest(t).post("/api/auth/login", object{"email": jo.email, "password": "Wr0ng-horse"}).fails(401, "Invalid email or password")
			w.guest(t).post("/api/auth/login", object{"email": newEmail(), "password": password}).fails(401, "Invalid email or password")
			w.guest(t).post("/api/auth/login", object{"password": password}).invalid("email")
			w.guest(t).post("/api/auth/login", object{"email": jo.email}).invalid("password")
		})
		t.Run("POST /api/auth/refresh", func(t *testing.T) {
			t.Parallel()
			jo := w.seeker(t)
			a := w.guest(t).post("/api/auth/refresh", object{"refreshToken": jo.refresh}).ok(200)
			require.Equal(t, []string{"accessToken", "refreshToken"}, a.memberNames("data"))
			require.NotEqual(t, jo.refresh, a.text("data.refreshToken"))
			require.Equal(t, jo.id, parseClaims(t, a.text("data.accessToken")).Subject)
			c := w.guest(t)
			c.token = a.text("data.accessToken")
			c.get("/api/auth/me").ok(200)
			for _, bad := range []string{"nonsense", jo.token, "loc_rt_" + strings.Repeat("x", 43)} {
				w.guest(t).post("/api/auth/refresh", object{"refreshToken": bad}).fails(401, "Invalid or expired refresh token")
			}
			w.guest(t).post("/api/auth/refresh", object{}).invalid("refreshToken")
		})
		t.Run("POST /api/auth/logout", func(t *testing.T) {
			t.Parallel()
			jo := w.seeker(t)
			require.NotEmpty(t, jo.post("/api/auth/logout", nil).ok(200).text("message"))
			jo.isOut(t)
			jo.post("/api/auth/logout", nil).fails(401, "Unauthorized")
			w.guest(t).post("/api/auth/logout", nil).fails(401, "Unauthorized")
		})
		t.Run("POST /api/auth/register-employer", func(t *testing.T) {
			t.Parallel()
			c, email := w.guest(t), newEmail()
			a := c.post("/api/auth/register-employer", object{"email": email, "password": "password", "name": "Asha Patel", "companyName": "St Brigid's", "industry": "hospital", "companySize": "51-200"}).ok(201)
			require.Equal(t, []string{"accessToken", "refreshToken", "user"}, a.memberNames("data"))
			require.Equal(t, object{"id": a.text("data.user.id"), "email": email, "role": "EMPLOYER"}, a.at("data.user"))
			for _, missing := range []string{"email", "password", "name", "companyName"} {
				body := object{"email": newEmail(), "password": "password", "name": "N", "companyName": "C"}
				delete(body, missing)
				c.post("/api/auth/register-employer", body).invalid(missing)
			}
			over := c.post("/api/auth/register-employer", object{"email": newEmail(), "password": "password", "name": "N", "companyName": "C"}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, over.header.Get("Retry-After"), "the sixth call in 15 minutes, successful or not")
			w.guest(t).post("/api/auth/register-employer", object{"email": email, "password": "password", "name": "N", "companyName": "C"}).fails(409, "Email already registered")
			w.guest(t).post("/api/auth/register-employer", object{"email": newEmail(), "password": "seven77", "name": "N", "companyName": "C"}).invalid("password")
		})
		t.Run("GET /api/auth/me", func(t *testing.T) {
			t.Parallel()
			jo := w.seeker(t)
			a := jo.get("/api/auth/me").ok(200)
			require.Equal(t, []string{"createdAt", "email", "id", "name", "role", "subscriptionStatus"}, a.memberNames("data"))
			require.Equal(t, jo.id, a.text("data.id"))
			require.Equal(t, jo.email, a.text("data.email"))
			require.Equal(t, "Niamh Byrne", a.text("data.name"))
			require.Equal(t, "jobseeker", a.text("data.role"))
			require.Equal(t, "active", a.text("data.subscriptionStatus"))
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`, a.text("data.createdAt"))
			w.guest(t).get("/api/auth/me").fails(401, "Unauthorized")
		})
	})
}

func TestTeamRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		permissions := func(id string) string { return "/api/employers/team/" + id + "/permissions" }
		recruiter := object{"jobs": object{"create": true, "update": true, "delete": false}, "applications": object{"view": true, "update": true}}

		t.Run("GET /api/employers/team", func(t *testing.T) {
			t.Parallel()
			boss := w.employer(t)
			member := boss.inviteMember("recruiter")
			a := boss.get("/api/employers/team").ok(200)
			require.Equal(t, []any{
				object{"id": boss.id, "name": "Asha Patel", "email": boss.email, "role": "admin", "status": "active"},
				object{"id": member.id, "name": "Tom Okafor", "email": member.email, "role": "recruiter", "status": "active"},
			}, a.list("data.team"))
			require.Equal(t, object{"total": 2., "page": 1., "limit": 20., "totalPages": 1.}, a.at("data.pagination"))
			second := boss.get("/api/employers/team?page=2&limit=1").ok(200)
			require.Equal(t, member.id, second.text("data.team.0.id"))
			require.Equal(t, object{"total": 2., "page": 2., "limit": 1., "totalPages": 2.}, second.at("data.pagination"))
			require.InDelta(t, 100, boss.get("/api/employers/team?limit=1000").ok(200).number("data.pagination.limit"), 0)
			boss.get("/api/employers/team?limit=0").invalid("limit")
			w.guest(t).get("/api/employers/team").fails(401, "Unauthorized")
			w.seeker(t).get("/api/employers/team").fails(403, "Forbidden")
		})
		t.Run("POST /api/employers/team", func(t *testing.T) {
			t.Parallel()
			boss := w.employer(t)
			email := newEmail()
			a := boss.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": email, "role": "RECRUITER"}).ok(200)
			require.NotEmpty(t, a.text("message"))
			listed := boss.get("/api/employers/team").ok(200)
			require.Equal(t, email, listed.text("data.team.1.email"))
			require.Equal(t, "recruiter", listed.text("data.team.1.role"))
			require.Equal(t, "invited", listed.text("data.team.1.status"))

			c := boss.fromNewAddress()
			c.post("/api/employers/team", object{}).fails(400, "Intent is required")
			c.post("/api/employers/team", object{"name": 7, "email": "nowhere"}).fails(400, "Intent is required")
			c.post("/api/employers/team", object{"intent": "fire-member", "name": "T", "email": newEmail()}).invalid("intent")
			c.post("/api/employers/team", object{"intent": "add-member", "email": newEmail()}).invalid("name")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "T"}).invalid("email")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "T", "email": "nowhere"}).invalid("email")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "T", "email": newEmail(), "role": "emperor"}).invalid("role")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "T", "email": email}).fails(409, "Already a team member or invited")
			requireLimitOfTen(t, w, "POST", "/api/employers/team")
		})
		t.Run("GET /api/employers/team/:id/permissions", func(t *testing.T) {
			t.Parallel()
			boss := w.employer(t)
			member := boss.inviteMember("recruiter")
			require.Equal(t, object{"userId": member.id, "role": "recruiter", "permissions": recruiter}, boss.get(permissions(member.id)).ok(200).at("data"))
			require.Equal(t, boss.id, member.get(permissions(boss.id)).ok(200).text("data.userId"))
			for _, id := range []string{w.employer(t).id, w.seeker(t).id, "01890000-0000-7000-8000-000000000000", "nonsense"} {
				boss.get(permissions(id)).fails(403, "Team member not in your organization")
			}
			w.guest(t).get(permissions(member.id)).fails(401, "Unauthorized")
		})
		t.Run("PUT /api/employers/team/:id/permissions", func(t *testing.T) {
			t.Parallel()
			boss := w.employer(t)
			member := boss.inviteMember("recruiter")
			want := object{"jobs": object{"create": true, "update": true, "delete": true}, "applications": object{"view": true, "update": false}}
			put := boss.put(permissions(member.id), object{"permissions": object{"jobs": object{"delete": true}, "applications": object{"update": false}}}).ok(200)
			require.Equal(t, object{"userId": member.id, "role": "recruiter", "permissions": want}, put.at("data"))
			require.Equal(t, put.at("data"), boss.get(permissions(member.id)).ok(200).at("data"))
			viewer := boss.put(permissions(member.id), object{"role": "viewer"}).ok(200)
			require.Equal(t, "viewer", viewer.text("data.role"))
			require.Equal(t, object{"jobs": object{"create": false, "update": false, "delete": false}, "applications": object{"view": true, "update": false}}, viewer.at("data.permissions"))

			boss.put(permissions(member.id), object{"role": "emperor"}).invalid("role")
			boss.put(permissions(member.id), object{"permissions": "all"}).invalid("permissions")
			boss.put(permissions(member.id), object{"permissions": object{"jobs": object{"create": "yes"}}}).invalid("permissions.jobs.create")
			boss.put(permissions(boss.id), object{"role": "viewer"}).fails(409, "An organization needs at least one admin")
			member.put(permissions(member.id), object{"role": "admin"}).fails(403, "Forbidden")
			for _, id := range []string{w.employer(t).id, w.seeker(t).id, "nonsense"} {
				boss.put(permissions(id), object{"role": "viewer"}).fails(403, "Team member not in your organization")
			}
			w.guest(t).put(permissions(member.id), object{"role": "viewer"}).fails(401, "Unauthorized")
		})
	})
}

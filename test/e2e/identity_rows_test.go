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
func (r *response) memberNames(path string) []string {
	r.t.Helper()

	o, ok := r.at(path).(object)
	require.True(r.t, ok, "%s is not an object in %s", path, r.raw)

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
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/register", func(t *testing.T) {
			t.Parallel()

			for _, kind := range []struct{ userType, role string }{{"jobseeker", "jobseeker"}, {"employer", "EMPLOYER"}} {
				email := newEmail()
				body := object{"email": email, "password": password, "name": "Niamh Byrne", "userType": kind.userType}
				res := server.guest(t).post("/api/auth/register", body).ok(201)
				require.NotEmpty(t, res.text("message"))
				require.Equal(t, []string{"accessToken", "refreshToken", "user"}, res.memberNames("data"))
				require.Equal(t,
					object{"id": res.text("data.user.id"), "email": email, "name": "Niamh Byrne", "role": kind.role},
					res.at("data.user"))
				require.Len(t, res.text("data.user.id"), 36)

				c := parseClaims(t, res.text("data.accessToken"))
				require.Equal(t, res.text("data.user.id"), c.Subject)
				require.InDelta(t, 15*60, c.Expires-c.Issued, 0) // access tokens are valid for 15 minutes
				server.guest(t).post("/api/auth/register", body).fails(409, "Email already registered")

				body["email"] = strings.ToUpper(email) // the case of an address does not matter
				server.guest(t).post("/api/auth/register", body).fails(409, "Email already registered")
			}

			for _, missing := range []string{"email", "password", "name", "userType"} {
				body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
				delete(body, missing)
				server.guest(t).post("/api/auth/register", body).invalid(missing)
			}

			for field, bad := range map[string]any{"email": "no-address", "password": "Sh0rt", "name": "  ", "userType": "admin"} {
				body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
				body[field] = bad
				server.guest(t).post("/api/auth/register", body).invalid(field)
			}
		})

		t.Run("POST /api/auth/login", func(t *testing.T) {
			t.Parallel()

			jo, boss := server.seeker(t), server.employer(t)
			for _, who := range []struct {
				*account
				name, role string
			}{{jo, "Niamh Byrne", "jobseeker"}, {boss, "Asha Patel", "EMPLOYER"}} {
				res := server.guest(t).post("/api/auth/login", object{"email": who.email, "password": password}).ok(200)
				require.Equal(t, []string{"accessToken", "refreshToken", "user"}, res.memberNames("data"))
				require.Equal(t,
					object{"id": who.id, "email": who.email, "name": who.name, "role": who.role, "subscriptionStatus": "active"},
					res.at("data.user"))
			}

			server.guest(t).
				post("/api/auth/login", object{"email": jo.email, "password": "Wr0ng-horse"}).
				fails(401, "Invalid email or password")
			server.guest(t).
				post("/api/auth/login", object{"email": newEmail(), "password": password}).
				fails(401, "Invalid email or password")
			server.guest(t).post("/api/auth/login", object{"password": password}).invalid("email")
			server.guest(t).post("/api/auth/login", object{"email": jo.email}).invalid("password")
		})

		t.Run("POST /api/auth/refresh", func(t *testing.T) {
			t.Parallel()

			jo := server.seeker(t)
			res := server.guest(t).post("/api/auth/refresh", object{"refreshToken": jo.refresh}).ok(200)
			require.Equal(t, []string{"accessToken", "refreshToken"}, res.memberNames("data"))
			require.NotEqual(t, jo.refresh, res.text("data.refreshToken"))
			require.Equal(t, jo.id, parseClaims(t, res.text("data.accessToken")).Subject)

			c := server.guest(t)
			c.token = res.text("data.accessToken")
			c.get("/api/auth/me").ok(200)

			for _, bad := range []string{"nonsense", jo.token, "loc_rt_" + strings.Repeat("x", 43)} {
				server.guest(t).post("/api/auth/refresh", object{"refreshToken": bad}).fails(401, "Invalid or expired refresh token")
			}

			server.guest(t).post("/api/auth/refresh", object{}).invalid("refreshToken")
		})

		t.Run("POST /api/auth/logout", func(t *testing.T) {
			t.Parallel()

			jo := server.seeker(t)
			require.NotEmpty(t, jo.post("/api/auth/logout", nil).ok(200).text("message"))
			jo.requireSignedOut(t)
			jo.post("/api/auth/logout", nil).fails(401, "Unauthorized")
			server.guest(t).post("/api/auth/logout", nil).fails(401, "Unauthorized")
		})

		t.Run("POST /api/auth/register-employer", func(t *testing.T) {
			t.Parallel()

			c, email := server.guest(t), newEmail()
			res := c.post("/api/auth/register-employer", object{
				"email":       email,
				"password":    "password",
				"name":        "Asha Patel",
				"companyName": "St Brigid's",
				"industry":    "hospital",
				"companySize": "51-200",
			}).
				ok(201)
			require.Equal(t, []string{"accessToken", "refreshToken", "user"}, res.memberNames("data"))
			require.Equal(t, object{"id": res.text("data.user.id"), "email": email, "role": "EMPLOYER"}, res.at("data.user"))

			for _, missing := range []string{"email", "password", "name", "companyName"} {
				body := object{"email": newEmail(), "password": "password", "name": "N", "companyName": "C"}
				delete(body, missing)
				c.post("/api/auth/register-employer", body).invalid(missing)
			}

			// One registration and four invalid ones came before, which is the limit.
			over := c.post("/api/auth/register-employer", object{
				"email":       newEmail(),
				"password":    "password",
				"name":        "N",
				"companyName": "C",
			}).
				fails(429, "Rate limit exceeded")
			require.NotEmpty(t, over.header.Get("Retry-After"), "the sixth call in 15 minutes, successful or not")
			server.guest(t).
				post("/api/auth/register-employer", object{"email": email, "password": "password", "name": "N", "companyName": "C"}).
				fails(409, "Email already registered")
			server.guest(t).
				post("/api/auth/register-employer", object{"email": newEmail(), "password": "seven77", "name": "N", "companyName": "C"}).
				invalid("password")
		})

		t.Run("GET /api/auth/me", func(t *testing.T) {
			t.Parallel()

			jo := server.seeker(t)
			res := jo.get("/api/auth/me").ok(200)
			require.Equal(t, []string{"createdAt", "email", "id", "name", "role", "subscriptionStatus"}, res.memberNames("data"))
			require.Equal(t, jo.id, res.text("data.id"))
			require.Equal(t, jo.email, res.text("data.email"))
			require.Equal(t, "Niamh Byrne", res.text("data.name"))
			require.Equal(t, "jobseeker", res.text("data.role"))
			require.Equal(t, "active", res.text("data.subscriptionStatus"))
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`, res.text("data.createdAt"))
			server.guest(t).get("/api/auth/me").fails(401, "Unauthorized")
		})
	})
}

// TestTeamRoutes covers the documented operations of teams and permissions one by one, as
// TestAuthenticationRoutes does for sign-ins.
func TestTeamRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		permissions := func(id string) string { return "/api/employers/team/" + id + "/permissions" }
		recruiter := object{
			"jobs":         object{"create": true, "update": true, "delete": false},
			"applications": object{"view": true, "update": true},
		}

		t.Run("GET /api/employers/team", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := boss.inviteMember("recruiter")
			res := boss.get("/api/employers/team").ok(200)
			require.Equal(t, []any{
				object{"id": boss.id, "name": "Asha Patel", "email": boss.email, "role": "admin", "status": "active"},
				object{"id": member.id, "name": "Tom Okafor", "email": member.email, "role": "recruiter", "status": "active"},
			}, res.list("data.team"))
			require.Equal(t, object{"total": 2., "page": 1., "limit": 20., "totalPages": 1.}, res.at("data.pagination"))

			second := boss.get("/api/employers/team?page=2&limit=1").ok(200)
			require.Equal(t, member.id, second.text("data.team.0.id"))
			require.Equal(t, object{"total": 2., "page": 2., "limit": 1., "totalPages": 2.}, second.at("data.pagination"))
			require.InDelta(t, 100, boss.get("/api/employers/team?limit=1000").ok(200).number("data.pagination.limit"), 0)
			boss.get("/api/employers/team?limit=0").invalid("limit")
			server.guest(t).get("/api/employers/team").fails(401, "Unauthorized")
			server.seeker(t).get("/api/employers/team").fails(403, "Forbidden")
		})

		t.Run("POST /api/employers/team", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			email := newEmail()
			res := boss.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": email, "role": "RECRUITER"}).
				ok(200)
			require.NotEmpty(t, res.text("message"))

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
			c.post("/api/employers/team", object{"intent": "add-member", "name": "T", "email": newEmail(), "role": "emperor"}).
				invalid("role")
			c.post("/api/employers/team", object{"intent": "add-member", "name": "T", "email": email}).
				fails(409, "Already a team member or invited")
			requireLimitOfTen(t, server, "POST", "/api/employers/team")
		})

		t.Run("GET /api/employers/team/:id/permissions", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := boss.inviteMember("recruiter")
			require.Equal(t, object{"userId": member.id, "role": "recruiter", "permissions": recruiter},
				boss.get(permissions(member.id)).ok(200).at("data"))
			require.Equal(t, boss.id, member.get(permissions(boss.id)).ok(200).text("data.userId"))

			for _, id := range []string{server.employer(t).id, server.seeker(t).id, "01890000-0000-7000-8000-000000000000", "nonsense"} {
				boss.get(permissions(id)).fails(403, "Team member not in your organization")
			}

			server.guest(t).get(permissions(member.id)).fails(401, "Unauthorized")
		})

		t.Run("PUT /api/employers/team/:id/permissions", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := boss.inviteMember("recruiter")
			want := object{
				"jobs":         object{"create": true, "update": true, "delete": true},
				"applications": object{"view": true, "update": false},
			}
			put := boss.put(permissions(member.id), object{"permissions": object{
				"jobs":         object{"delete": true}, // changes only what it names
				"applications": object{"update": false},
			}}).
				ok(200)
			require.Equal(t, object{"userId": member.id, "role": "recruiter", "permissions": want}, put.at("data"))
			require.Equal(t, put.at("data"), boss.get(permissions(member.id)).ok(200).at("data"))

			viewer := boss.put(permissions(member.id), object{"role": "viewer"}).ok(200)
			require.Equal(t, "viewer", viewer.text("data.role"))
			require.Equal(
				t,
				object{
					"jobs":         object{"create": false, "update": false, "delete": false},
					"applications": object{"view": true, "update": false},
				},
				viewer.at("data.permissions"),
			)

			boss.put(permissions(member.id), object{"role": "emperor"}).invalid("role")
			boss.put(permissions(member.id), object{"permissions": "all"}).invalid("permissions")
			boss.put(permissions(member.id), object{"permissions": object{"jobs": object{"create": "yes"}}}).
				invalid("permissions.jobs.create")
			boss.put(permissions(boss.id), object{"role": "viewer"}).fails(409, "An organization needs at least one admin")
			member.put(permissions(member.id), object{"role": "admin"}).fails(403, "Forbidden")

			for _, id := range []string{server.employer(t).id, server.seeker(t).id, "nonsense"} {
				boss.put(permissions(id), object{"role": "viewer"}).fails(403, "Team member not in your organization")
			}

			server.guest(t).put(permissions(member.id), object{"role": "viewer"}).fails(401, "Unauthorized")
		})
	})
}

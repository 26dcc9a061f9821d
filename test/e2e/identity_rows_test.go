package e2e

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memberNames returns the sorted names of the members of an object.
func (r *response) memberNames(path string) []string {
	r.t.Helper()

	members, ok := r.at(path).(object)
	require.True(r.t, ok, "%s is not an object in %s", path, r.raw)

	return slices.Sorted(maps.Keys(members))
}

// tokenClaims are the claims of an access token that the tests check.
type tokenClaims struct {
	Subject string `json:"sub"` // the id of the user
	Issued  int64  `json:"iat"` // in seconds since 1970
	Expires int64  `json:"exp"` // in seconds since 1970
}

// parseClaims returns the claims of an access token, which is a JWT: header, claims and signature, separated by points.
func parseClaims(t *testing.T, accessToken string) (claims tokenClaims) {
	t.Helper()

	parts := strings.Split(accessToken, ".")
	require.Len(t, parts, 3, "a JWT has three parts")

	claimsJSON, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(claimsJSON, &claims))

	return claims
}

// TestAuthenticationRoutes checks the documented operations of registration and sign-in one by one: every
// field of the successful response, every documented error, and every limit.
//
// server.seeker and server.employer register users whose names are seekerName and employerName. Each of
// them, and each guest, sends requests from an address of its own.
func TestAuthenticationRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/register", func(t *testing.T) {
			t.Parallel()

			const path = "/api/auth/register"

			// The API spells the role of employers in capitals, and that of jobseekers in lower case.
			for _, user := range []struct{ userType, role string }{
				{userType: "jobseeker", role: "jobseeker"},
				{userType: "employer", role: "EMPLOYER"},
			} {
				t.Run(user.userType, func(t *testing.T) {
					email := newEmail()
					body := object{"email": email, "password": password, "name": "Niamh Byrne", "userType": user.userType}
					registered := server.guest(t).post(path, body).ok(201)
					require.NotEmpty(t, registered.text("message"))
					require.Equal(t, []string{"accessToken", "refreshToken", "user"}, registered.memberNames("data"))

					id := registered.text("data.user.id")
					require.Len(t, id, len("00000000-0000-0000-0000-000000000000"), "the id is a UUID")
					require.Equal(t,
						object{"id": id, "email": email, "name": "Niamh Byrne", "role": user.role},
						registered.at("data.user"))

					claims := parseClaims(t, registered.text("data.accessToken"))
					lifetime := time.Duration(claims.Expires-claims.Issued) * time.Second
					require.Equal(t, id, claims.Subject)
					require.Equal(t, 15*time.Minute, lifetime, "the access token is valid for 15 minutes")

					// An address has one account. Upper and lower case make no difference.
					server.guest(t).post(path, body).fails(409, "Email already registered")

					body["email"] = strings.ToUpper(email)
					server.guest(t).post(path, body).fails(409, "Email already registered")
				})
			}

			t.Run("missing fields", func(t *testing.T) {
				for _, missing := range []string{"email", "password", "name", "userType"} {
					body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
					delete(body, missing)
					server.guest(t).post(path, body).invalid(missing)
				}
			})

			t.Run("invalid fields", func(t *testing.T) {
				invalidFields := map[string]any{"email": "no-address", "password": "Sh0rt", "name": "  ", "userType": "admin"}
				for field, invalidValue := range invalidFields {
					body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
					body[field] = invalidValue
					server.guest(t).post(path, body).invalid(field)
				}
			})
		})

		t.Run("POST /api/auth/login", func(t *testing.T) {
			t.Parallel()

			const path = "/api/auth/login"

			seeker, employer := server.seeker(t), server.employer(t)
			for _, user := range []struct {
				*account
				name, role string
			}{
				{account: seeker, name: seekerName, role: "jobseeker"},
				{account: employer, name: employerName, role: "EMPLOYER"},
			} {
				signedIn := server.guest(t).post(path, object{"email": user.email, "password": password}).ok(200)
				require.Equal(t, []string{"accessToken", "refreshToken", "user"}, signedIn.memberNames("data"))
				require.Equal(t,
					object{"id": user.id, "email": user.email, "name": user.name, "role": user.role, "subscriptionStatus": "active"},
					signedIn.at("data.user"))
			}

			// A wrong password and an unknown address have the same response.
			server.guest(t).
				post(path, object{"email": seeker.email, "password": wrongPassword}).
				fails(401, "Invalid email or password")
			server.guest(t).
				post(path, object{"email": newEmail(), "password": password}).
				fails(401, "Invalid email or password")

			// Missing fields.
			server.guest(t).post(path, object{"password": password}).invalid("email")
			server.guest(t).post(path, object{"email": seeker.email}).invalid("password")
		})

		t.Run("POST /api/auth/refresh", func(t *testing.T) {
			t.Parallel()

			// A refresh token is exchanged for a new access token, which works, and a new refresh token.
			seeker := server.seeker(t)
			refreshed := server.guest(t).post("/api/auth/refresh", object{"refreshToken": seeker.refresh}).ok(200)
			require.Equal(t, []string{"accessToken", "refreshToken"}, refreshed.memberNames("data"))
			require.NotEqual(t, seeker.refresh, refreshed.text("data.refreshToken"))
			require.Equal(t, seeker.id, parseClaims(t, refreshed.text("data.accessToken")).Subject)

			withNewToken := server.guest(t)
			withNewToken.token = refreshed.text("data.accessToken")
			withNewToken.get("/api/auth/me").ok(200)

			// A text that is no token, an access token, and a refresh token that was never issued.
			for _, invalidToken := range []string{"nonsense", seeker.token, "loc_rt_" + strings.Repeat("x", 43)} {
				server.guest(t).
					post("/api/auth/refresh", object{"refreshToken": invalidToken}).
					fails(401, "Invalid or expired refresh token")
			}

			server.guest(t).post("/api/auth/refresh", object{}).invalid("refreshToken")
		})

		t.Run("POST /api/auth/logout", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			require.NotEmpty(t, seeker.post("/api/auth/logout", nil).ok(200).text("message"))
			seeker.requireSignedOut(t)

			// A second sign-out, and the sign-out of a guest.
			seeker.post("/api/auth/logout", nil).fails(401, "Unauthorized")
			server.guest(t).post("/api/auth/logout", nil).fails(401, "Unauthorized")
		})

		t.Run("POST /api/auth/register-employer", func(t *testing.T) {
			t.Parallel()

			const (
				path             = "/api/auth/register-employer"
				employerPassword = "password" // employers need eight characters of any kind
				maxRequests      = 5          // of one address in 15 minutes, successful or not
			)

			// All requests of this client come from one address.
			client := server.guest(t)
			email := newEmail()

			registered := client.post(path, object{
				"email":       email,
				"password":    employerPassword,
				"name":        "Asha Patel",
				"companyName": "St Brigid's",
				"industry":    "hospital",
				"companySize": "51-200",
			}).
				ok(201)
			require.Equal(t, []string{"accessToken", "refreshToken", "user"}, registered.memberNames("data"))
			require.Equal(t,
				object{"id": registered.text("data.user.id"), "email": email, "role": "EMPLOYER"},
				registered.at("data.user"))

			required := []string{"email", "password", "name", "companyName"}
			for _, missing := range required {
				body := object{"email": newEmail(), "password": employerPassword, "name": "N", "companyName": "C"}
				delete(body, missing)
				client.post(path, body).invalid(missing)
			}

			// The client has sent the registration and the invalid requests, which are as many as the limit
			// allows. The next request is valid, and exceeds the limit.
			require.Equal(t, maxRequests, 1+len(required), "requests so far")

			limited := client.post(path, object{
				"email":       newEmail(),
				"password":    employerPassword,
				"name":        "N",
				"companyName": "C",
			}).
				fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))

			// New guests have new addresses, from which no requests have been counted. The first request
			// has an address that is registered, and the second one a password that is too short.
			server.guest(t).
				post(path, object{"email": email, "password": employerPassword, "name": "N", "companyName": "C"}).
				fails(409, "Email already registered")
			server.guest(t).
				post(path, object{"email": newEmail(), "password": "seven77", "name": "N", "companyName": "C"}).
				invalid("password")
		})

		t.Run("GET /api/auth/me", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)

			// The user has exactly these members. The time of the registration is in UTC.
			me := seeker.get("/api/auth/me").ok(200)
			require.Equal(t, []string{"createdAt", "email", "id", "name", "role", "subscriptionStatus"}, me.memberNames("data"))
			require.Equal(t, seeker.id, me.text("data.id"))
			require.Equal(t, seeker.email, me.text("data.email"))
			require.Equal(t, seekerName, me.text("data.name"))
			require.Equal(t, "jobseeker", me.text("data.role"))
			require.Equal(t, "active", me.text("data.subscriptionStatus"))
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`, me.text("data.createdAt"))
			server.guest(t).get("/api/auth/me").fails(401, "Unauthorized")
		})
	})
}

// TestTeamRoutes checks the documented operations of teams and permissions one by one: every field of the
// successful response, every documented error, and every limit.
//
// The employer Asha Patel is the admin of an organization. admin.inviteMember adds Tom Okafor, who has
// accepted the invitation. admin.in(t) reports failures of the admin's requests in the subtest.
func TestTeamRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		permissionsPath := func(memberID string) string { return "/api/employers/team/" + memberID + "/permissions" }

		t.Run("GET /api/employers/team", func(t *testing.T) {
			t.Parallel()

			admin := server.employer(t)
			member := admin.inviteMember("recruiter")
			team := admin.get("/api/employers/team").ok(200)
			require.Equal(t, []any{
				object{"id": admin.id, "name": employerName, "email": admin.email, "role": "admin", "status": "active"},
				object{"id": member.id, "name": "Tom Okafor", "email": member.email, "role": "recruiter", "status": "active"},
			}, team.list("data.team"))
			require.Equal(t, object{"total": 2., "page": 1., "limit": 20., "totalPages": 1.}, team.at("data.pagination"))

			t.Run("pages", func(t *testing.T) {
				secondPage := admin.get("/api/employers/team?page=2&limit=1").ok(200)
				require.Equal(t, member.id, secondPage.text("data.team.0.id"))
				require.Equal(t, object{"total": 2., "page": 2., "limit": 1., "totalPages": 2.}, secondPage.at("data.pagination"))

				// A limit above the maximum of 100 is reduced to it.
				require.Equal(t, 100, admin.get("/api/employers/team?limit=1000").ok(200).integer("data.pagination.limit"))
				admin.get("/api/employers/team?limit=0").invalid("limit")
			})

			t.Run("guest and jobseeker", func(t *testing.T) {
				server.guest(t).get("/api/employers/team").fails(401, "Unauthorized")
				server.seeker(t).get("/api/employers/team").fails(403, "Forbidden")
			})
		})

		t.Run("POST /api/employers/team", func(t *testing.T) {
			t.Parallel()

			const path = "/api/employers/team"

			// The invitation comes from a new address, because the route limits requests by address.
			admin := server.employer(t)
			email := newEmail()
			added := admin.fromNewAddress().
				post(path, object{"intent": "add-member", "name": "Tom Reed", "email": email, "role": "RECRUITER"}).
				ok(200)
			require.NotEmpty(t, added.text("message"))

			// The invited member is the second of the team, after the admin.
			team := admin.get(path).ok(200)
			require.Equal(t, email, team.text("data.team.1.email"))
			require.Equal(t, "recruiter", team.text("data.team.1.role"))
			require.Equal(t, "invited", team.text("data.team.1.status"))

			t.Run("invalid invitations", func(t *testing.T) {
				client := admin.in(t).fromNewAddress()
				client.post(path, object{}).fails(400, "Intent is required")
				client.post(path, object{"name": 7, "email": "nowhere"}).fails(400, "Intent is required")
				client.post(path, object{"intent": "fire-member", "name": "T", "email": newEmail()}).invalid("intent")
				client.post(path, object{"intent": "add-member", "email": newEmail()}).invalid("name")
				client.post(path, object{"intent": "add-member", "name": "T"}).invalid("email")
				client.post(path, object{"intent": "add-member", "name": "T", "email": "nowhere"}).invalid("email")
				client.post(path, object{"intent": "add-member", "name": "T", "email": newEmail(), "role": "emperor"}).invalid("role")
				client.post(path, object{"intent": "add-member", "name": "T", "email": email}).
					fails(409, "Already a team member or invited")
			})

			// The eleventh request from an address within 15 minutes is refused.
			requireLimitOfTen(t, server, "POST", path)
		})

		t.Run("GET /api/employers/team/:id/permissions", func(t *testing.T) {
			t.Parallel()

			admin := server.employer(t)
			member := admin.inviteMember("recruiter")
			ofRecruiters := object{
				"jobs":         object{"create": true, "update": true, "delete": false},
				"applications": object{"view": true, "update": true},
			}
			require.Equal(t, object{"userId": member.id, "role": "recruiter", "permissions": ofRecruiters},
				admin.get(permissionsPath(member.id)).ok(200).at("data"))

			// A member who is no admin can read the permissions of others.
			require.Equal(t, admin.id, member.get(permissionsPath(admin.id)).ok(200).text("data.userId"))

			// Users of other organizations and of none, an id that no user has, and a text that is no id.
			for _, id := range []string{server.employer(t).id, server.seeker(t).id, nowhere, "nonsense"} {
				admin.get(permissionsPath(id)).fails(403, "Team member not in your organization")
			}

			server.guest(t).get(permissionsPath(member.id)).fails(401, "Unauthorized")
		})

		t.Run("PUT /api/employers/team/:id/permissions", func(t *testing.T) {
			t.Parallel()

			admin := server.employer(t)
			member := admin.inviteMember("recruiter")

			// A change of two permissions leaves the other permissions of a recruiter as they were.
			changed := admin.put(permissionsPath(member.id), object{"permissions": object{
				"jobs":         object{"delete": true},
				"applications": object{"update": false},
			}}).
				ok(200)
			want := object{
				"jobs":         object{"create": true, "update": true, "delete": true},
				"applications": object{"view": true, "update": false},
			}
			require.Equal(t, object{"userId": member.id, "role": "recruiter", "permissions": want}, changed.at("data"))
			require.Equal(t, changed.at("data"), admin.get(permissionsPath(member.id)).ok(200).at("data"))

			// A new role replaces all permissions by those of the role.
			viewer := admin.put(permissionsPath(member.id), object{"role": "viewer"}).ok(200)
			require.Equal(t, "viewer", viewer.text("data.role"))
			require.Equal(
				t,
				object{
					"jobs":         object{"create": false, "update": false, "delete": false},
					"applications": object{"view": true, "update": false},
				},
				viewer.at("data.permissions"),
			)

			t.Run("invalid changes", func(t *testing.T) {
				admin := admin.in(t)
				admin.put(permissionsPath(member.id), object{"role": "emperor"}).invalid("role")
				admin.put(permissionsPath(member.id), object{"permissions": "all"}).invalid("permissions")
				admin.put(permissionsPath(member.id), object{"permissions": object{"jobs": object{"create": "yes"}}}).
					invalid("permissions.jobs.create")
				admin.put(permissionsPath(admin.id), object{"role": "viewer"}).fails(409, "An organization needs at least one admin")
			})

			t.Run("foreign members", func(t *testing.T) {
				for _, id := range []string{server.employer(t).id, server.seeker(t).id, "nonsense"} {
					admin.put(permissionsPath(id), object{"role": "viewer"}).fails(403, "Team member not in your organization")
				}
			})

			t.Run("viewer and guest", func(t *testing.T) {
				// The member has become a viewer above, and cannot become an admin by their own request.
				member.put(permissionsPath(member.id), object{"role": "admin"}).fails(403, "Forbidden")
				server.guest(t).put(permissionsPath(member.id), object{"role": "viewer"}).fails(401, "Unauthorized")
			})
		})
	})
}

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

// mailToken matches the token that has its own line in an e-mail. A user proves with it that the address is theirs.
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

	client := a.server.guest(a.t)
	signedIn := client.post("/api/auth/login", object{"email": a.email, "password": password}).ok(200)
	client.token = signedIn.text("data.accessToken")

	return &account{
		client:  client,
		id:      signedIn.text("data.user.id"),
		email:   a.email,
		refresh: signedIn.text("data.refreshToken"),
	}
}

// requireSignedOut requires that neither the access token nor the refresh token is valid.
func (a *account) requireSignedOut(t testing.TB) {
	t.Helper()
	require.Contains(t, a.get("/api/auth/me").fails(401, "Unauthorized").header.Get("WWW-Authenticate"), "Bearer")
	a.server.guest(t).post("/api/auth/refresh", object{"refreshToken": a.refresh}).fails(401, "Invalid or expired refresh token")
}

// inviteMember invites a user with the role, accepts the invitation, and returns the new
// member. The invitation comes from a new address, because the route is limited by address.
func (a *account) inviteMember(role string) *account {
	a.t.Helper()

	email := newEmail()
	a.fromNewAddress().
		post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email, "role": role}).
		ok(200)

	client := a.server.guest(a.t)
	token := a.server.tokenFromMail(a.t, email, "Join")
	accepted := client.post("/api/auth/accept-invitation", object{"token": token, "password": password}).ok(200)
	client.token = accepted.text("data.accessToken")

	return &account{
		client:  client,
		id:      accepted.text("data.user.id"),
		email:   email,
		refresh: accepted.text("data.refreshToken"),
	}
}

// TestSignInAndOut checks registration, sign-in, refresh and sign-out, also under concurrent
// requests. Responses do not reveal whether an address has an account, except on registration.
func TestSignInAndOut(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/register-employer creates an organization's admin", func(t *testing.T) {
			const path = "/api/auth/register-employer"

			client := server.guest(t) // all its requests come from one address
			body := object{
				"email":       newEmail(),
				"password":    "all-lower", // employers have a weaker rule than jobseekers: eight characters
				"name":        "Asha Patel",
				"companyName": "St Brigid's",
				"industry":    "hospital",
				"companySize": "51-200",
			}
			registered := client.post(path, body).ok(201)
			require.Equal(t, "EMPLOYER", registered.text("data.user.role"))

			client.post(path, body).fails(409, "Email already registered")
			client.post(path, object{"companyName": 7, "email": "x"}).invalid("companyName")
			client.post(path, object{}).invalid("email")
			client.post(path, body).fails(409, "Email already registered")

			// These were five requests, as many as one address may send in 15 minutes.
			limited := client.post(path, body).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))
		})

		t.Run("invalid registrations", func(t *testing.T) {
			const path = "/api/auth/register"

			client := server.guest(t)

			// All four fields are invalid. The first of the body is reported first.
			refused := client.post(path, `{"name":"","userType":"admin","password":"short","email":"x"}`).invalid("name")
			require.Len(t, refused.list("errors"), 4)

			// Missing fields, no JSON, JSON that is no object, and a field of another type.
			client.post(path, object{}).invalid("email")
			client.post(path, `{"email":`).invalid("body")
			client.post(path, `[]`).invalid("body")
			client.post(path, `{"email":1,"password":"`+password+`","name":"N","userType":"jobseeker"}`).invalid("email")

			// A jobseeker's password has lower case, upper case and digits.
			for _, weak := range []string{"alllower1", "ALLUPPER1", "NoDigits-x"} {
				client.post(path, object{"email": newEmail(), "password": weak, "name": "N", "userType": "jobseeker"}).invalid("password")
			}
		})

		t.Run("concurrent registrations of one address", func(t *testing.T) {
			const registrations = 20
			body := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
			var created, refused atomic.Int32

			var requests sync.WaitGroup
			for range registrations {
				client := server.guest(t)

				requests.Go(func() {
					registered := retryWhenBusy(func() *response { return client.try("POST", "/api/auth/register", body) })
					switch registered.status {
					case 201:
						created.Add(1)
					case 409:
						refused.Add(1)
					}
				})
			}

			requests.Wait()
			require.EqualValues(t, 1, created.Load())
			require.EqualValues(t, registrations-1, refused.Load())
		})

		t.Run("POST /api/auth/login", func(t *testing.T) {
			const path = "/api/auth/login"

			// Upper and lower case of the address make no difference.
			seeker := server.seeker(t)
			signedIn := server.guest(t).post(path, object{"email": strings.ToUpper(seeker.email), "password": password}).ok(200)
			require.Equal(t, seeker.id, signedIn.text("data.user.id"))
			require.Equal(t, "active", signedIn.text("data.user.subscriptionStatus"))

			// The responses are equal, so that an attacker cannot find out which addresses have accounts.
			ofAccount := server.guest(t).
				post(path, object{"email": seeker.email, "password": wrongPassword}).
				fails(401, "Invalid email or password")
			ofUnknownAddress := server.guest(t).
				post(path, object{"email": newEmail(), "password": wrongPassword}).
				fails(401, "Invalid email or password")
			require.Equal(t, ofAccount.raw, ofUnknownAddress.raw)

			server.guest(t).post(path, object{"password": "x"}).invalid("email")
		})

		// Ten failures block the account for 15 minutes, even with the right password, but only
		// for the network that failed: others cannot lock a user out.
		t.Run("failures throttle the account per network", func(t *testing.T) {
			seeker, attacker := server.seeker(t), server.guest(t)
			for range 10 {
				attacker.
					post("/api/auth/login", object{"email": seeker.email, "password": wrongPassword}).
					fails(401, "Invalid email or password")
			}

			// Some failures may have been counted in Redis and some in memory; then neither count reaches the limit.
			if server.countsLocally() {
				return
			}

			limited := attacker.
				post("/api/auth/login", object{"email": seeker.email, "password": password}).
				fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))

			seeker.signIn(password) // from another network
		})

		t.Run("GET /api/auth/me", func(t *testing.T) {
			seeker := server.seeker(t)
			me := seeker.get("/api/auth/me").ok(200)
			require.Equal(t, seeker.id, me.text("data.id"))
			require.Equal(t, "jobseeker", me.text("data.role"))
			require.Equal(t, "active", me.text("data.subscriptionStatus"))
			require.Regexp(t, `^\d{4}-\d\d-\d\dT.*Z$`, me.text("data.createdAt"))

			invalidTokens := []string{
				"", "x", "a.b.c", // none, and no JWT
				seeker.refresh,                     // a token for another purpose
				seeker.token + "x",                 // an extended signature
				seeker.token[:len(seeker.token)-6], // a shortened signature
			}
			for _, invalidToken := range invalidTokens {
				client := server.guest(t)
				client.token = invalidToken
				client.get("/api/auth/me").fails(401, "Unauthorized")
			}
		})

		// A refresh token can be used again within 10 s, for clients that lost the response or
		// have several tabs. A later use ends the session.
		t.Run("concurrent refreshes of a session", func(t *testing.T) {
			const clients = 20
			seeker := server.seeker(t)
			var refreshed atomic.Int32

			var requests sync.WaitGroup
			for range clients {
				client := server.guest(t)

				requests.Go(func() {
					reply, _, _ := client.exchange("POST", "/api/auth/refresh", object{"refreshToken": seeker.refresh})
					if reply.status == 200 {
						refreshed.Add(1)
					}
				})
			}

			requests.Wait()
			require.EqualValues(t, clients, refreshed.Load())

			// A token that was never issued, and none.
			server.guest(t).
				post("/api/auth/refresh", object{"refreshToken": "loc_rt_nothing"}).
				fails(401, "Invalid or expired refresh token")
			server.guest(t).post("/api/auth/refresh", object{}).invalid("refreshToken")
		})

		t.Run("POST /api/auth/logout ends access and refresh at once", func(t *testing.T) {
			seeker := server.seeker(t)
			otherSession := seeker.signIn(password)
			seeker.post("/api/auth/logout", nil).ok(200)
			seeker.requireSignedOut(t)
			seeker.post("/api/auth/logout", nil).fails(401, "Unauthorized")
			otherSession.get("/api/auth/me").ok(200)
		})

		t.Run("GET /.well-known/jwks.json has the keys of access tokens", func(t *testing.T) {
			keys, err := http.Get(server.url + "/.well-known/jwks.json")
			require.NoError(t, err)
			require.NoError(t, keys.Body.Close())
			require.Equal(t, 200, keys.StatusCode)

			// Programs that verify tokens may cache the keys.
			require.Contains(t, keys.Header.Get("Cache-Control"), "public")
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
				page, err := http.Get(server.url + path)
				require.NoError(t, err)
				require.NoError(t, page.Body.Close())
				require.Equal(t, 200, page.StatusCode, path)
				require.Contains(t, page.Header.Get("Content-Security-Policy"), "script-src 'self';")
				require.Contains(t, []string{"no-referrer", "same-origin"}, page.Header.Get("Referrer-Policy"),
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
			ofAccount := server.guest(t).post("/api/auth/forgot-password", object{"email": seeker.email}).ok(200)
			ofUnknownAddress := server.guest(t).post("/api/auth/forgot-password", object{"email": newEmail()}).ok(200)
			require.Equal(t, ofAccount.raw, ofUnknownAddress.raw) // the response does not reveal whether there is an account

			// A weak password, a token that was never sent, and the token for another purpose.
			token := server.tokenFromMail(t, seeker.email, "Set a new password")
			server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": "weak"}).invalid("password")
			server.guest(t).post("/api/auth/reset-password", object{"token": "loc_mt_x", "password": password}).invalid("token")
			server.guest(t).post("/api/auth/verify-email", object{"token": token}).invalid("token")

			// The new password.
			server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": otherPassword}).ok(200)
			seeker.requireSignedOut(t)
			seeker.signIn(otherPassword)

			// A second use of the token.
			server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": password}).invalid("token")

			// An e-mail reports the change, with a link to set another password in case an attacker made it.
			require.Contains(t, server.waitForMail(t, seeker.email, "was changed"), "forgot-password")
		})

		t.Run("POST /api/auth/change-password ends the other sessions", func(t *testing.T) {
			const path = "/api/auth/change-password"

			seeker := server.seeker(t)
			otherSession := seeker.signIn(password)

			// A wrong password, a weak new one, and a guest.
			seeker.post(path, object{"currentPassword": wrongPassword, "newPassword": otherPassword}).invalid("currentPassword")
			seeker.post(path, object{"currentPassword": password, "newPassword": "weak"}).invalid("newPassword")
			server.guest(t).post(path, object{}).fails(401, "Unauthorized")

			// The session that changes the password continues.
			seeker.post(path, object{"currentPassword": password, "newPassword": otherPassword}).ok(200)
			seeker.get("/api/auth/me").ok(200)
			otherSession.requireSignedOut(t)
			seeker.signIn(otherPassword)
		})
	})
}

// TestTeam checks invitations and permissions: an invited member has an id before accepting,
// permissions are the role's with exceptions, and an organization always has an admin.
func TestTeam(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		admin, otherAdmin, seeker := server.employer(t), server.employer(t), server.seeker(t)
		permissions := func(id string) string { return "/api/employers/team/" + id + "/permissions" }

		t.Run("POST /api/auth/accept-invitation keeps the id of the invited member", func(t *testing.T) {
			// An address is invited once. Each request comes from a new address, because the route is limited by address.
			email := newEmail()
			invitation := object{"intent": "add-member", "name": "Tom Okafor", "email": email}
			admin.fromNewAddress().post("/api/employers/team", invitation).ok(200)
			admin.fromNewAddress().post("/api/employers/team", invitation).fails(409, "Already a team member or invited")

			// The newest member is the last, and a recruiter unless the invitation has another role.
			team := admin.get("/api/employers/team?limit=100").ok(200)
			members := team.list("data.team")
			invited := members[len(members)-1].(object)
			require.Equal(t, email, invited["email"])
			require.Equal(t, "recruiter", invited["role"])
			require.Equal(t, len(members), team.integer("data.pagination.total"))

			// The admin changes the permissions of a member who has not accepted yet: those of a viewer with an exception.
			id := invited["id"].(string)
			viewer := admin.put(permissions(id), object{"role": "viewer", "permissions": object{"jobs": object{"create": true}}}).ok(200)
			require.Equal(t, id, viewer.text("data.userId"))
			require.Equal(t, "viewer", viewer.text("data.role"))
			require.Equal(t, object{
				"jobs":         object{"create": true, "update": false, "delete": false},
				"applications": object{"view": true, "update": false},
			}, viewer.at("data.permissions"))
			require.Equal(t, viewer.at("data"), admin.get(permissions(id)).ok(200).at("data"))

			// Invalid acceptances.
			token := server.tokenFromMail(t, email, "Join")
			server.guest(t).post("/api/auth/accept-invitation", object{"token": token}).invalid("password")
			server.guest(t).post("/api/auth/accept-invitation", object{"token": "loc_mt_x", "password": password}).invalid("token")

			// The acceptance signs the member in, and may have another name.
			member := server.guest(t)
			accepted := member.post("/api/auth/accept-invitation", object{"token": token, "password": password, "name": "Tomas"}).ok(200)
			require.Equal(t, id, accepted.text("data.user.id"))
			require.Equal(t, "EMPLOYER_TEAM", accepted.text("data.user.role"))

			member.token = accepted.text("data.accessToken")
			require.Equal(t, "Tomas", member.get("/api/auth/me").ok(200).text("data.name"))

			// A viewer reads permissions, and neither invites nor changes members.
			member.post("/api/employers/team", object{"intent": "add-member", "name": "X", "email": newEmail()}).fails(403, "Forbidden")
			member.put(permissions(admin.id), object{"role": "viewer"}).fails(403, "Forbidden")
			member.get(permissions(admin.id)).ok(200)

			// A second use of the token.
			server.guest(t).post("/api/auth/accept-invitation", object{"token": token, "password": password}).invalid("token")
		})

		t.Run("jobseeker accepts an invitation", func(t *testing.T) {
			invited := server.seeker(t)
			admin.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Jo", "email": invited.email, "role": "viewer"}).
				ok(200)

			// The address has an account, so only this account accepts the invitation.
			acceptance := object{"token": server.tokenFromMail(t, invited.email, "Join"), "password": password}
			server.guest(t).post("/api/auth/accept-invitation", acceptance).fails(401, "Sign in to accept this invitation")
			seeker.post("/api/auth/accept-invitation", acceptance).fails(403, "This invitation is for another account")
			invited.post("/api/auth/accept-invitation", acceptance).ok(200)

			require.Equal(t, "EMPLOYER_TEAM", invited.get("/api/auth/me").ok(200).text("data.role"))
			invited.get("/api/employers/team").ok(200)
		})

		t.Run("revoked permission", func(t *testing.T) {
			secondAdmin := admin.inviteMember("admin")

			// An admin has all permissions, without exceptions.
			secondAdmin.
				put(permissions(secondAdmin.id), object{"permissions": object{"jobs": object{"delete": false}}}).
				invalid("permissions")

			// An admin who becomes a recruiter cannot change members any more.
			admin.put(permissions(secondAdmin.id), object{"role": "recruiter"}).ok(200)
			secondAdmin.put(permissions(admin.id), object{"role": "viewer"}).fails(403, "Forbidden")

			admin.put(permissions(admin.id), object{"role": "viewer"}).fails(409, "An organization needs at least one admin")
		})

		t.Run("foreign and unknown members", func(t *testing.T) {
			for _, id := range []string{otherAdmin.id, seeker.id, "01890000-0000-7000-8000-000000000000", "x"} {
				admin.get(permissions(id)).fails(403, "Team member not in your organization")
				admin.put(permissions(id), object{"role": "viewer"}).fails(403, "Team member not in your organization")
			}

			seeker.get("/api/employers/team").fails(403, "Forbidden")
			seeker.get(permissions(admin.id)).fails(403, "Forbidden")
			server.guest(t).get("/api/employers/team").fails(401, "Unauthorized")
			server.guest(t).get(permissions(admin.id)).fails(401, "Unauthorized")
		})

		t.Run("invalid invitations", func(t *testing.T) {
			const path = "/api/employers/team"

			client := otherAdmin.fromNewAddress()
			client.post(path, object{"name": "X"}).fails(400, "Intent is required")
			client.post(path, object{"intent": "fire-member", "name": "X", "email": newEmail()}).invalid("intent")
			client.post(path, object{"intent": "add-member", "email": "x"}).invalid("email")
			client.post(path, object{"intent": "add-member", "name": "X", "email": newEmail(), "role": "emperor"}).invalid("role")
			client.get(path + "?page=0").invalid("page")
			client.get(path + "?cursor=x").invalid("cursor")
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

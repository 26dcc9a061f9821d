package e2e

import (
	"net/url"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// authenticator is an authenticator app (RFC 6238), which makes codes of the time and a secret that the server knows, too.
type authenticator struct {
	t      testing.TB
	secret string
	// offset is added to the clock. The server accepts the code of a time step only once, so that each call of code adds
	// one time step to the offset.
	offset        time.Duration
	recoveryCodes []string // of the account, each of which replaces the app once
}

// code returns a code that was not used before.
func (a *authenticator) code() string {
	a.t.Helper()

	code, err := totp.GenerateCode(a.secret, time.Now().Add(a.offset))
	require.NoError(a.t, err)

	const timeStep = 30 * time.Second
	a.offset += timeStep

	return code
}

// enroll enables a second factor and returns its app. The confirmation uses up the code of the present time step, so that
// the next code of the app is that of the next time step. The server accepts this code although its time has not
// come, because the clock of a phone may be ahead.
func (a *account) enroll() *authenticator {
	a.t.Helper()

	begun := a.post("/api/auth/second-factor", object{"currentPassword": password}).ok(200)
	app := &authenticator{t: a.t, secret: begun.text("data.secret")}

	confirmed := a.post("/api/auth/second-factor/confirm", object{"code": app.code()}).ok(200)
	for _, code := range confirmed.list("data.recoveryCodes") {
		app.recoveryCodes = append(app.recoveryCodes, code.(string))
	}

	return app
}

// requireCodeRefused requires that a sign-in was refused because the code is missing or wrong,
// with the message and the code of the error.
func (r *response) requireCodeRefused(message, code string) {
	r.t.Helper()
	r.fails(401, message)
	require.Equal(r.t, code, r.text("code"))
}

// TestSecondFactor checks two-step sign-in: enrollment, codes and recovery codes that work
// once, turning it off, the sign-in page, organizations that require it, and the reset by an
// operator.
func TestSecondFactor(t *testing.T) {
	const (
		codeRequired = "Enter the code of your authenticator app"
		codeInvalid  = "Invalid authentication code"
		wrongCode    = "000000"
		noCode       = ""

		recoveryCodes = 10 // of a new second factor
	)

	onEachSetup(t, func(t *testing.T, server *testServer) {
		// login sends the request that signs the user in, with the password, and with the code unless it is noCode.
		login := func(t *testing.T, user *account, password, code string) *response {
			body := object{"email": user.email, "password": password}
			if code != noCode {
				body["totp"] = code
			}

			return server.guest(t).post("/api/auth/login", body)
		}

		t.Run("POST /api/auth/second-factor and POST /api/auth/second-factor/confirm", func(t *testing.T) {
			t.Parallel()

			const path = "/api/auth/second-factor"

			user := server.seeker(t)
			user.post(path+"/confirm", object{"code": wrongCode}).fails(409, "The account has no second factor")

			// An enrollment that is not confirmed changes nothing.
			enrolled := user.post(path, nil).ok(200)
			require.Contains(t, enrolled.text("data.url"), "otpauth://totp/locum:")
			user.post(path+"/confirm", object{"code": wrongCode}).invalid("code")
			login(t, user, password, noCode).ok(200)
			user.post(path, object{"currentPassword": wrongPassword}).invalid("currentPassword")

			// The session that enables the second factor continues.
			app := user.enroll()
			require.Len(t, app.recoveryCodes, recoveryCodes)
			user.get("/api/auth/me").ok(200)
			user.post(path, object{"currentPassword": password}).fails(409, "The second factor is already enabled")
			require.Contains(t, server.waitForMail(t, user.email, "Two-step sign-in is on"), "second factor")

			// With a wrong password, the response does not reveal that the account has a second
			// factor.
			login(t, user, wrongPassword, noCode).fails(401, "Invalid email or password")
			login(t, user, wrongPassword, app.recoveryCodes[0]).fails(401, "Invalid email or password")
			login(t, user, password, noCode).requireCodeRefused(codeRequired, "second_factor_required")
			login(t, user, password, wrongCode).requireCodeRefused(codeInvalid, "second_factor_invalid")

			// A code of the app and a recovery code work once.
			for _, code := range []string{app.code(), app.recoveryCodes[0]} {
				login(t, user, password, code).ok(200)
				login(t, user, password, code).requireCodeRefused(codeInvalid, "second_factor_invalid")
			}

			server.guest(t).post(path, nil).fails(401, "Unauthorized")
			server.guest(t).post(path+"/confirm", object{"code": wrongCode}).fails(401, "Unauthorized")
		})

		t.Run("GET and DELETE /api/auth/second-factor", func(t *testing.T) {
			t.Parallel()

			const path = "/api/auth/second-factor"

			user := server.seeker(t)
			require.Equal(t,
				object{"enabled": false, "enabledAt": nil, "recoveryCodesLeft": 0., "required": false},
				user.get(path).ok(200).at("data"))

			// A sign-in uses up one of the recovery codes.
			app := user.enroll()
			login(t, user, password, app.recoveryCodes[recoveryCodes-1]).ok(200)
			require.Equal(t, object{"enabled": true, "recoveryCodesLeft": float64(recoveryCodes - 1)},
				user.get(path).ok(200).pick("data", "enabled", "recoveryCodesLeft"))

			// The password and a code are both needed to disable it.
			unusedCode := app.recoveryCodes[1]
			disable := func(body object) *response { return user.send("DELETE", path, body) }

			disable(object{"code": unusedCode}).invalid("currentPassword")
			disable(object{"currentPassword": password}).invalid("code")
			disable(object{"currentPassword": wrongPassword, "code": unusedCode}).invalid("currentPassword")
			disable(object{"currentPassword": password, "code": wrongCode}).invalid("code")
			disable(object{"currentPassword": password, "code": unusedCode}).ok(200)
			login(t, user, password, noCode).ok(200)

			server.guest(t).get(path).fails(401, "Unauthorized")
		})

		t.Run("sign-in page asks for a code", func(t *testing.T) {
			t.Parallel()

			user := server.seeker(t)
			app := user.enroll()

			// signIn sends the form of the page. next is the page to which a successful sign-in redirects.
			signIn := func(browser *browser, next, password, code string) pageView {
				return browser.open("POST", "/developers/sign-in",
					url.Values{"email": {user.email}, "password": {password}, "totp": {code}, "next": {next}})
			}

			const defaultPage = ""
			browser := server.browser(t)
			require.Contains(t, browser.open("GET", "/developers/sign-in", nil).text, `name="totp"`)

			// Only the right password reveals that the account has a second factor.
			withoutCode := signIn(browser, defaultPage, password, noCode)
			require.Equal(t, 401, withoutCode.status)
			require.Contains(t, withoutCode.text, "two-step sign-in. Enter your password again")
			require.NotContains(t, signIn(browser, defaultPage, wrongPassword, noCode).text, "Enter your password again")
			require.Contains(t, signIn(browser, defaultPage, password, wrongCode).text, "The authentication code is not right")
			require.Equal(t, 303, browser.open("GET", "/developers", nil).status, "not signed in")

			require.Equal(t, 303, signIn(browser, defaultPage, password, app.code()).status)
			require.Equal(t, 200, browser.open("GET", "/developers", nil).status)

			// A sign-in that an app of a third party requests with OAuth needs the code too.
			thirdParty := server.thirdParty(t, nil)
			authorizationURL, err := url.Parse(thirdParty.authorizationPath(oauth2.GenerateVerifier()))
			require.NoError(t, err)

			consentPage := authorizationURL.RequestURI()
			otherBrowser := server.browser(t)
			require.Equal(t, 303, otherBrowser.open("GET", consentPage, nil).status)
			require.Equal(t, 401, signIn(otherBrowser, consentPage, password, noCode).status)
			require.Equal(t, 303, otherBrowser.open("GET", consentPage, nil).status, "not signed in")
			require.Less(t, signIn(otherBrowser, consentPage, password, app.recoveryCodes[0]).status, 400)
			require.Equal(t, 200, otherBrowser.open("GET", consentPage, nil).status)
		})

		t.Run("required by the organization", func(t *testing.T) {
			t.Parallel()

			const (
				organization      = "/api/employers/organization"
				enrollmentMissing = "Your organization requires a second factor; enroll one first"
			)

			admin := server.employer(t)
			member := server.addMember(t, admin, nil)
			job := admin.listing(nil)
			require.Equal(t, false, admin.get(organization).ok(200).at("data.requireSecondFactor"))

			// An admin without a second factor cannot require one: the admin would lose access.
			admin.put(organization, object{"requireSecondFactor": true}).invalid("requireSecondFactor")
			admin.enroll()
			admin.put(organization, object{"requireSecondFactor": true}).ok(200)
			member.put(organization, object{"requireSecondFactor": false}).fails(403, enrollmentMissing)
			admin.get("/api/employers/jobs").ok(200)

			// The member can sign in, but has access to the account only.
			member.token = login(t, member, password, noCode).ok(200).text("data.accessToken")
			for _, path := range []string{
				"/api/employers/jobs", "/api/employers/jobs/" + job, "/api/employers/team",
				"/api/employers/applications", "/api/employers/profile",
			} {
				refused := member.get(path).fails(403, enrollmentMissing)
				require.Equal(t, "second_factor_enrollment_required", refused.text("code"))
			}

			member.patch("/api/listings/"+job, object{"meta": object{}}).fails(403, enrollmentMissing)
			require.Equal(t, true, member.get("/api/auth/second-factor").ok(200).at("data.required"))
			member.get("/api/auth/me").ok(200)

			// A member with a second factor has access again.
			member.enroll()
			member.get("/api/employers/jobs").ok(200)

			// The audit log has both changes of the requirement.
			admin.put(organization, object{"requireSecondFactor": false}).ok(200)
			require.Equal(t, []auditEntry{
				{action: "second_factor.required", actorID: admin.id, object: admin.organization(), detail: "on"},
				{action: "second_factor.required", actorID: admin.id, object: admin.organization(), detail: "off"},
			}, admin.auditEntries("&action=second_factor.required"))
		})

		t.Run("operator resets a lost factor", func(t *testing.T) {
			t.Parallel()

			user := server.seeker(t)
			require.Contains(t, server.fails(t, "users", "reset-second-factor", user.email), "The account has no second factor")

			user.enroll()
			require.Regexp(t, `(?m)^second factor\s+20.*, 10 recovery codes left$`, server.run(t, "users", "show", user.email))

			// After the reset the user signs in without a code. The audit log and an e-mail report it.
			server.run(t, "users", "reset-second-factor", user.email)
			login(t, user, password, noCode).ok(200)
			require.Contains(t, server.run(t, "audit", "list", "--user", user.email), "second_factor.reset")
			require.Contains(t, server.waitForMail(t, user.email, "Two-step sign-in is off"), "second factor")
		})
	})
}

// organization returns the id of the account's organization.
func (a *account) organization() string {
	a.t.Helper()
	return a.get("/api/employers/organization").ok(200).text("data.organizationId")
}

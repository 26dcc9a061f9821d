package e2e

import (
	"net/url"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// authenticator is an authenticator app (RFC 6238).
type authenticator struct {
	t      testing.TB
	secret string
	// offset is added to the clock. Each code moves it by a time step, because the server accepts
	// the code of a time step once.
	offset        time.Duration
	recoveryCodes []string // of the account
}

// code returns a code that was not used before.
func (a *authenticator) code() string {
	a.t.Helper()

	code, err := totp.GenerateCode(a.secret, time.Now().Add(a.offset))
	require.NoError(a.t, err)

	a.offset += 30 * time.Second

	return code
}

// enroll enables a second factor and returns its app, whose next code is that of the next time
// step. The server accepts it, because it allows for clocks that differ.
func (a *account) enroll() *authenticator {
	a.t.Helper()

	begun := a.fromNewAddress().post("/api/auth/second-factor", object{"currentPassword": password}).ok(200)
	app := &authenticator{t: a.t, secret: begun.text("data.secret")}

	codes := a.fromNewAddress().post("/api/auth/second-factor/confirm", object{"code": app.code()}).ok(200).list("data.recoveryCodes")
	for _, code := range codes {
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
		required = "Enter the code of your authenticator app"
		invalid  = "Invalid authentication code"
	)
	onEachSetup(t, func(t *testing.T, server *testServer) {
		login := func(t *testing.T, user *account, password, code string) *response {
			body := object{"email": user.email, "password": password}
			if code != "" {
				body["totp"] = code
			}

			return server.guest(t).post("/api/auth/login", body)
		}

		t.Run("POST /api/auth/second-factor and POST /api/auth/second-factor/confirm", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			me.post("/api/auth/second-factor/confirm", object{"code": "000000"}).fails(409, "The account has no second factor")

			enrolled := me.post("/api/auth/second-factor", nil).ok(200)
			require.Contains(t, enrolled.text("data.url"), "otpauth://totp/locum:")
			me.post("/api/auth/second-factor/confirm", object{"code": "000000"}).invalid("code")
			login(t, me, password, "").ok(200)
			me.post("/api/auth/second-factor", object{"currentPassword": wrongPassword}).invalid("currentPassword")

			app := me.enroll()
			require.Len(t, app.recoveryCodes, 10)
			me.get("/api/auth/me").ok(200)
			me.fromNewAddress().
				post("/api/auth/second-factor", object{"currentPassword": password}).
				fails(409, "The second factor is already enabled")
			login(t, me, password, "").requireCodeRefused(required, "second_factor_required")

			// With a wrong password, the response does not reveal that the account has a second
			// factor.
			login(t, me, wrongPassword, "").fails(401, "Invalid email or password")
			login(t, me, wrongPassword, app.recoveryCodes[0]).fails(401, "Invalid email or password")
			login(t, me, password, "000000").requireCodeRefused(invalid, "second_factor_invalid")

			code := app.code()
			login(t, me, password, code).ok(200)
			login(t, me, password, code).requireCodeRefused(invalid, "second_factor_invalid")
			login(t, me, password, app.recoveryCodes[0]).ok(200)
			login(t, me, password, app.recoveryCodes[0]).requireCodeRefused(invalid, "second_factor_invalid")
			require.Contains(t, server.waitForMail(t, me.email, "Two-step sign-in is on"), "second factor")
			server.guest(t).post("/api/auth/second-factor", nil).fails(401, "Unauthorized")
			server.guest(t).post("/api/auth/second-factor/confirm", object{"code": "000000"}).fails(401, "Unauthorized")
		})

		t.Run("GET and DELETE /api/auth/second-factor", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			require.Equal(t,
				object{"enabled": false, "enabledAt": nil, "recoveryCodesLeft": 0., "required": false},
				me.get("/api/auth/second-factor").ok(200).at("data"))

			app := me.enroll()
			login(t, me, password, app.recoveryCodes[9]).ok(200)
			require.Equal(t, object{"enabled": true, "recoveryCodesLeft": 9.},
				me.get("/api/auth/second-factor").ok(200).pick("data", "enabled", "recoveryCodesLeft"))

			disable := func(body object) *response {
				return me.fromNewAddress().send("DELETE", "/api/auth/second-factor", body)
			}
			disable(object{"code": app.recoveryCodes[1]}).invalid("currentPassword")
			disable(object{"currentPassword": password}).invalid("code")
			disable(object{"currentPassword": wrongPassword, "code": app.recoveryCodes[1]}).invalid("currentPassword")
			disable(object{"currentPassword": password, "code": "000000"}).invalid("code")
			disable(object{"currentPassword": password, "code": app.recoveryCodes[1]}).ok(200)
			login(t, me, password, "").ok(200)
			server.guest(t).get("/api/auth/second-factor").fails(401, "Unauthorized")
		})

		t.Run("sign-in page asks for a code", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			thirdParty := server.thirdParty(t, nil)
			app := me.enroll()
			signIn := func(browser *browser, next, password, code string) pageView {
				return browser.open("POST", "/developers/sign-in",
					url.Values{"email": {me.email}, "password": {password}, "totp": {code}, "next": {next}})
			}

			browser := server.browser(t)
			require.Contains(t, browser.open("GET", "/developers/sign-in", nil).text, `name="totp"`)

			refused := signIn(browser, "", password, "")
			require.Equal(t, 401, refused.status)
			require.Contains(t, refused.text, "two-step sign-in. Enter your password again")
			require.NotContains(t, signIn(browser, "", wrongPassword, "").text, "Enter your password again")
			require.Contains(t, signIn(browser, "", password, "000000").text, "The authentication code is not right")
			require.Equal(t, 303, browser.open("GET", "/developers", nil).status)
			require.Equal(t, 303, signIn(browser, "", password, app.code()).status)
			require.Equal(t, 200, browser.open("GET", "/developers", nil).status)

			authorize, err := url.Parse(thirdParty.authorizationPath(oauth2.GenerateVerifier()))
			require.NoError(t, err)

			otherBrowser := server.browser(t)
			require.Equal(t, 303, otherBrowser.open("GET", authorize.RequestURI(), nil).status)
			require.Equal(t, 401, signIn(otherBrowser, authorize.RequestURI(), password, "").status)
			require.Equal(t, 303, otherBrowser.open("GET", authorize.RequestURI(), nil).status, "not signed in")
			require.Less(t, signIn(otherBrowser, authorize.RequestURI(), password, app.recoveryCodes[0]).status, 400)
			require.Equal(t, 200, otherBrowser.open("GET", authorize.RequestURI(), nil).status)
		})

		t.Run("required by the organization", func(t *testing.T) {
			t.Parallel()
			const needed = "Your organization requires a second factor; enroll one first"
			boss := server.employer(t)
			member := server.addMember(t, boss, nil)
			job := boss.listing(nil)
			require.Equal(t, false, boss.get("/api/employers/organization").ok(200).at("data.requireSecondFactor"))

			// An admin without a second factor would lose access.
			boss.put("/api/employers/organization", object{"requireSecondFactor": true}).invalid("requireSecondFactor")
			boss.enroll()
			boss.put("/api/employers/organization", object{"requireSecondFactor": true}).ok(200)
			member.put("/api/employers/organization", object{"requireSecondFactor": false}).fails(403, needed)
			boss.get("/api/employers/jobs").ok(200)

			// The member can sign in, but has access to the account only.
			member.token = login(t, member, password, "").ok(200).text("data.accessToken")
			for _, path := range []string{
				"/api/employers/jobs", "/api/employers/jobs/" + job, "/api/employers/team",
				"/api/employers/applications", "/api/employers/profile",
			} {
				refused := member.get(path).fails(403, needed)
				require.Equal(t, "second_factor_enrollment_required", refused.text("code"))
			}

			member.patch("/api/listings/"+job, object{"meta": object{}}).fails(403, needed)
			require.Equal(t, true, member.get("/api/auth/second-factor").ok(200).at("data.required"))
			member.get("/api/auth/me").ok(200)
			member.enroll()
			member.get("/api/employers/jobs").ok(200)
			boss.put("/api/employers/organization", object{"requireSecondFactor": false}).ok(200)
			require.Equal(t, []auditEntry{
				{action: "second_factor.required", actorID: boss.id, object: boss.organization(), detail: "on"},
				{action: "second_factor.required", actorID: boss.id, object: boss.organization(), detail: "off"},
			}, boss.auditEntries("&action=second_factor.required"))
		})

		t.Run("operator resets a lost factor", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			require.Contains(t, server.fails(t, "users", "reset-second-factor", me.email), "The account has no second factor")
			me.enroll()
			require.Regexp(t, `(?m)^second factor\s+20.*, 10 recovery codes left$`, server.run(t, "users", "show", me.email))
			server.run(t, "users", "reset-second-factor", me.email)
			login(t, me, password, "").ok(200)
			require.Contains(t, server.run(t, "audit", "list", "--user", me.email), "second_factor.reset")
			require.Contains(t, server.waitForMail(t, me.email, "Two-step sign-in is off"), "second factor")
		})
	})
}

// organization returns the id of the account's organization.
func (a *account) organization() string {
	a.t.Helper()
	return a.fromNewAddress().get("/api/employers/organization").ok(200).text("data.organizationId")
}

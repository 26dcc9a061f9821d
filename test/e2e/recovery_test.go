package e2e

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// programs are the means by which programs act for an account: an API key, an
// OAuth grant, a webhook, and a consent for the app of another developer.
type programs struct {
	owner   *account // of the app
	key     *client
	grant   *client
	webhook string // its path
	consent string // the client_id of an app of another developer
}

// programs creates a key, a grant, a webhook and a consent for the account.
func (a *account) programs() *programs {
	a.t.Helper()

	me := &account{client: a.fromNewAddress(), id: a.id, email: a.email}
	p := &programs{owner: a, consent: a.server.authorizeApp(a.t, a)}
	app := me.newApp()
	p.key = me.programOf(app)
	p.grant = me.grantApp(app, integrations.Scopes()...)
	created := me.post("/api/developers/apps/"+app+"/webhooks", object{
		"url":    "https://receiver.invalid/hook",
		"events": []string{"job.closed"},
	}).
		ok(201)
	p.webhook = "/api/developers/apps/" + app + "/webhooks/" + created.text("data.webhook.id")

	return p
}

// requireActive requires that key, grant, webhook and consent work. The session is one of the
// owner, which reads their states.
func (p *programs) requireActive(t testing.TB, session *client) {
	t.Helper()
	p.key.get("/v1/applications").okDeveloper(200)
	p.grant.get("/v1/applications").okDeveloper(200)
	require.Equal(t, "active", session.get(p.webhook).ok(200).text("data.webhook.status"))
	require.Len(t, session.get("/api/auth/consents").ok(200).list("data.consents"), 1)
}

// requireRevoked requires that key, grant, webhook and consent do not work. A webhook is paused instead of deleted, so
// that the owner can check and resume it.
func (p *programs) requireRevoked(t testing.TB, session *client) {
	t.Helper()
	p.key.get("/v1/applications").problem(401, "unauthorized")
	p.grant.get("/v1/applications").problem(401, "unauthorized")
	require.Equal(t, "paused", session.get(p.webhook).ok(200).text("data.webhook.status"))
	require.Empty(t, session.get("/api/auth/consents").ok(200).list("data.consents"))
}

// requireListed requires that the e-mail names key, webhook and app, so that the owner can find
// those of an attacker.
func (p *programs) requireListed(t testing.TB, mail string) {
	t.Helper()

	mail = strings.ReplaceAll(mail, "=\r\n", "") // joins folded lines of quoted-printable text
	for _, name := range []string{"API key k", "Webhook", "Ward Finder"} {
		require.Contains(t, mail, name)
	}
}

// resetPassword sets a new password by mail and signs in with it.
func (a *account) resetPassword() *account {
	a.t.Helper()
	a.server.guest(a.t).post("/api/auth/forgot-password", object{"email": a.email}).ok(200)
	a.server.guest(a.t).
		post("/api/auth/reset-password", object{
			"token":    a.server.tokenFromMail(a.t, a.email, "Subject: Set a new password"),
			"password": password + "1",
		}).
		ok(200)

	return a.signIn(password + "1")
}

// TestPasswordReset_ProgramsOfTheAccount_Revoked checks that a reset password also ends the
// access of programs, because an attacker may have created them, and that the e-mail about it
// lists them.
func TestPasswordReset_ProgramsOfTheAccount_Revoked(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		victim := server.seeker(t)
		programs := victim.programs()
		programs.requireActive(t, victim.client)

		owner := victim.resetPassword()
		programs.requireRevoked(t, owner.client)
		programs.requireListed(t, server.waitForMail(t, victim.email, "password was changed"))
	})
}

// TestChangePassword_SignOutPrograms_OnRequestOnly checks that a user who knows the password
// decides whether programs keep their access: signOutPrograms revokes it.
func TestChangePassword_SignOutPrograms_OnRequestOnly(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		owner := server.seeker(t)
		programs := owner.programs()

		// A change without the member keeps the access of programs.
		change := object{"currentPassword": password, "newPassword": password + "1"}
		owner.post("/api/auth/change-password", change).ok(200)
		programs.requireActive(t, owner.client)

		// A change with the member revokes it.
		change = object{"currentPassword": password + "1", "newPassword": password, "signOutPrograms": true}
		owner.post("/api/auth/change-password", change).ok(200)
		programs.requireRevoked(t, owner.client)
	})
}

// TestAcceptInvitation_UnverifiedAccount_ProgramsRevoked checks that an account whose address
// was never confirmed loses its programs when it joins a team: it may have been registered by
// an attacker with the address of the invited user.
func TestAcceptInvitation_UnverifiedAccount_ProgramsRevoked(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, invited := server.employer(t), server.seeker(t)
		programs := invited.programs()
		accept := func() {
			boss.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Niamh", "email": invited.email}).
				ok(200)
			invited.fromNewAddress().
				post("/api/auth/accept-invitation", object{
					"token":    server.tokenFromMail(t, invited.email, "Subject: Join"),
					"password": password,
				}).
				ok(200)
		}

		accept()
		programs.requireRevoked(t, invited.client)
		programs.requireListed(t, server.waitForMail(t, invited.email, "Programs"))

		// A user who has confirmed the address before keeps the programs.
		verified := server.seeker(t)
		server.guest(t).post("/api/auth/verify-email", object{"token": server.tokenFromMail(t, verified.email, "confirm")}).ok(200)

		programs, invited = verified.programs(), verified

		accept()
		programs.requireActive(t, verified.client)
	})
}

// TestConfirmationMail_AccountWithPrograms_ListsThem checks that the e-mail that confirms a new
// address names the programs with access to the account.
func TestConfirmationMail_AccountWithPrograms_ListsThem(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		someone := server.seeker(t)
		next := newEmail()
		programs := someone.programs()
		someone.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"email": next}}).ok(200)
		programs.requireListed(t, server.waitForMail(t, next, "confirm"))
	})
}

// TestPasswordReset_KeysCreatedMeanwhile_DoNotSurvive checks that an attacker cannot keep
// access by creating API keys at the same time as the password is reset.
func TestPasswordReset_KeysCreatedMeanwhile_DoNotSurvive(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		victim := server.seeker(t)
		app := victim.newApp()
		server.guest(t).post("/api/auth/forgot-password", object{"email": victim.email}).ok(200)

		token := server.tokenFromMail(t, victim.email, "Subject: Set a new password")
		var creators sync.WaitGroup

		// Four goroutines create five keys each, so that the channels never block.
		keys := make(chan string, 20)

		begun := make(chan struct{}, 20)
		for range 4 {
			creators.Go(func() {
				for range 5 {
					resp := victim.fromNewAddress().try("POST", "/api/developers/apps/"+app+"/keys", object{"name": "k"})
					begun <- struct{}{}

					if resp.status == 201 {
						keys <- resp.text("data.apiKey")
					}
				}
			})
		}

		// The reset begins after the first key, while others are still being created.
		<-begun
		server.guest(t).post("/api/auth/reset-password", object{"token": token, "password": password + "1"}).ok(200)
		creators.Wait()
		close(keys)

		// No key survives, whether it was created before or during the reset.
		for key := range keys {
			server.guest(t).withKey(key).get("/v1/jobs").problem(401, "unauthorized")
		}

		require.Empty(t, victim.signIn(password+"1").get("/api/developers/apps/"+app+"/keys").ok(200).list("data.keys"))
	})
}

// TestEmailChange_UndoFromOldMailbox_RestoresTheAccount checks that the owner of the old
// address can take back an account whose address an attacker has changed, once, with a new
// password.
func TestEmailChange_UndoFromOldMailbox_RestoresTheAccount(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/undo-email-change restores address and password once", func(t *testing.T) {
			victim := server.seeker(t)
			attackersEmail := newEmail()

			// An attacker with a stolen session takes over the account.
			victim.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"email": attackersEmail}}).ok(200)
			server.guest(t).post("/api/auth/verify-email", object{"token": server.tokenFromMail(t, attackersEmail, "confirm your new")}).ok(200)

			programs := (&account{client: victim.client, id: victim.id, email: attackersEmail}).programs()
			server.guest(t).
				post("/api/auth/register", object{"email": victim.email, "password": password, "name": "N", "userType": "jobseeker"}).
				fails(409, "Email already registered")

			// The undo refuses a weak password and a changed token. It works once, and ends the attacker's session.
			token := server.undoToken(t, victim.email)
			undo := object{"token": token, "password": password + "1"}
			server.guest(t).post("/api/auth/undo-email-change", object{"token": token, "password": "weak"}).invalid("password")
			server.guest(t).post("/api/auth/undo-email-change", object{"token": token + "x", "password": password}).invalid("token")
			server.guest(t).post("/api/auth/undo-email-change", undo).ok(200)
			server.guest(t).post("/api/auth/undo-email-change", undo).invalid("token")
			victim.requireSignedOut(t)

			// The owner has the old address again. The attacker's programs are revoked, and the new address has no account.
			owner := victim.signIn(password + "1")
			require.Equal(t, victim.email, owner.get("/api/auth/me").ok(200).text("data.email"))
			programs.requireRevoked(t, owner.client)
			server.guest(t).post("/api/auth/login", object{"email": attackersEmail, "password": password}).fails(401, "Invalid email or password")
		})

		t.Run("undo link after a later change", func(t *testing.T) {
			victim := server.seeker(t)

			// The address is changed twice. The link that was sent to the first address still restores it.
			for range 2 {
				next := newEmail()
				victim.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"email": next}}).ok(200)
				server.guest(t).post("/api/auth/verify-email", object{"token": server.tokenFromMail(t, next, "confirm your new")}).ok(200)
			}

			server.guest(t).
				post("/api/auth/undo-email-change", object{"token": server.undoToken(t, victim.email), "password": password + "1"}).
				ok(200)
			victim.signIn(password + "1")
		})
	})
}

// undoToken returns the token of the link that was sent to the old address after the change.
func (s *testServer) undoToken(t testing.TB, old string) string {
	t.Helper()

	text := strings.ReplaceAll(
		strings.ReplaceAll(s.waitForMail(t, old, "Subject: Your e-mail address was changed"), "=\r\n", ""),
		"=3D",
		"=",
	)
	found := undoLink.FindStringSubmatch(text)
	require.NotNil(t, found, text)

	return found[1]
}

// undoLink matches the link that undoes a change of address.
var undoLink = regexp.MustCompile(`/undo-email-change\?token=([0-9A-Za-z_.-]+)`)

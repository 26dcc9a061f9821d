package e2e

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// The guide about accounts (accounts.md in guidesDir) has a table of what an event does to the means by which
// users and programs get access to an account. Each row is an event, such as a password reset. Each column is a
// means of access, such as an API key, and its cells say "kept", "revoked", or the state of a webhook. This file
// compares every cell with the behaviour of the server.

// accountAccess is an account with one of every means of access in the table.
type accountAccess struct {
	server *testServer

	// acting is the session in which the user causes the event of a row, and otherDevice a second session of the same user.
	// The columns about sessions and tokens are about the second one.
	acting      *account
	otherDevice *account
	// otherDeviceSession is the id of the session of otherDevice.
	otherDeviceSession string

	browser    *browser  // signed in to the pages with a cookie
	programs   *programs // an API key, an OAuth grant and a webhook
	exportLink string    // to an export of the organization, which can be downloaded with the link alone
	invitation string    // the token of an invitation by a second organization, which the user has not accepted

	admin *account // of the organization of the account

	// signInPassword and signInEmail are those with which the user can sign in after the events so far. At first the
	// password is that of all test users, the constant password.
	signInPassword, signInEmail string
	isDeleted                   bool // the user can no longer sign in
}

// accountWithEveryAccess creates an account that is a member of an organization, with all means of access.
func (s *testServer) accountWithEveryAccess(t *testing.T) *accountAccess {
	t.Helper()

	user := s.seeker(t)
	access := &accountAccess{server: s, acting: user, signInEmail: user.email, signInPassword: password}

	// invite makes the organization of an admin invite the user.
	invite := func(admin *account) {
		admin.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Niamh", "email": user.email}).ok(200)
	}

	// The user accepts the invitation of the first organization.
	access.admin = s.employer(t)
	invite(access.admin)

	invitation := s.tokenFromMail(t, user.email, "Subject: Join")
	user.post("/api/auth/accept-invitation", object{"token": invitation, "password": password}).ok(200)

	access.programs = user.programs()
	access.exportLink = user.exportLink("applications")

	// The invitation of the second organization stays open.
	rival := s.employer(t)
	rival.put("/api/employers/organization", object{"name": "Rival Clinic"}).ok(200)
	invite(rival)

	access.invitation = s.tokenFromMail(t, user.email, "Rival Clinic")
	access.otherDevice = user.signIn(password)
	access.browser = s.signedIn(t, user)

	// The server marks the session that sends the request as current, which is that of the other device.
	for _, item := range access.otherDevice.get("/api/auth/sessions").ok(200).list("data.sessions") {
		session := item.(object)
		if session["current"] == true {
			access.otherDeviceSession = session["id"].(string)
		}
	}

	require.NotEmpty(t, access.otherDeviceSession, "the list of sessions has no current one")

	return access
}

// changeAddress changes the account's e-mail address and confirms the new one.
func (a *accountAccess) changeAddress(t *testing.T) {
	newAddress := newEmail()
	a.acting.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"email": newAddress}}).ok(200)

	confirmation := a.server.tokenFromMail(t, newAddress, "confirm your new")
	a.server.guest(t).post("/api/auth/verify-email", object{"token": confirmation}).ok(200)

	a.signInEmail = newAddress
}

// recoveryEvents has a function for each row of the guide's table, by the text in its first column. The function
// causes the event, and sets the password and the address that the account has afterwards.
var recoveryEvents = map[string]func(t *testing.T, a *accountAccess){
	"Password reset": func(t *testing.T, a *accountAccess) {
		guest := a.server.guest(t)
		guest.post("/api/auth/forgot-password", object{"email": a.signInEmail}).ok(200)

		token := a.server.tokenFromMail(t, a.signInEmail, "Subject: Set a new password")
		guest.post("/api/auth/reset-password", object{"token": token, "password": otherPassword}).ok(200)

		a.signInPassword = otherPassword
	},
	"Password change": func(_ *testing.T, a *accountAccess) {
		change := object{"currentPassword": password, "newPassword": otherPassword}
		a.acting.post("/api/auth/change-password", change).ok(200)

		a.signInPassword = otherPassword
	},
	"Password change with `signOutPrograms`": func(_ *testing.T, a *accountAccess) {
		change := object{"currentPassword": password, "newPassword": otherPassword, "signOutPrograms": true}
		a.acting.post("/api/auth/change-password", change).ok(200)

		a.signInPassword = otherPassword
	},
	"Address change": func(t *testing.T, a *accountAccess) { a.changeAddress(t) },
	"Address change undone": func(t *testing.T, a *accountAccess) {
		oldAddress := a.signInEmail
		a.changeAddress(t)

		// The e-mail to the old address has a link that restores this address and sets a new password.
		undo := object{"token": a.server.undoToken(t, oldAddress), "password": otherPassword}
		a.server.guest(t).post("/api/auth/undo-email-change", undo).ok(200)

		a.signInEmail = oldAddress
		a.signInPassword = otherPassword
	},
	// A member who deletes the employer profile leaves the organization, and keeps the account.
	"Leaving an organization": func(_ *testing.T, a *accountAccess) { a.acting.delete("/api/employers/profile").ok(200) },
	"Removal from a team":     func(_ *testing.T, a *accountAccess) { a.admin.delete(teamPath(a.acting.id)).ok(200) },
	"Account deletion": func(_ *testing.T, a *accountAccess) {
		a.acting.delete("/api/jobseekers/profile").ok(200)

		a.isDeleted = true
	},
}

// signInAfterEvent signs in with the password and the address after the event. If the account is deleted, the
// function requires that the user cannot sign in any more, and returns nil.
func (a *accountAccess) signInAfterEvent(t *testing.T) *account {
	t.Helper()

	if a.isDeleted {
		credentials := object{"email": a.signInEmail, "password": a.signInPassword}
		a.server.guest(t).post("/api/auth/login", credentials).fails(401, "Invalid email or password")

		return nil
	}

	user := &account{client: a.server.guest(t), id: a.acting.id, email: a.signInEmail}

	return user.signIn(a.signInPassword)
}

// keptOrRevoked returns the word in the guide's table for a means of access that still works, or no longer.
func keptOrRevoked(kept bool) string {
	if kept {
		return "kept"
	}

	return "revoked"
}

// recoveryColumns has a function for each column of the guide's table, by the name of the column. The function
// uses the means of access after the event, and returns the text that the cell must have. newSession is
// the session of signInAfterEvent, or nil if the account is deleted.
var recoveryColumns = map[string]func(t *testing.T, a *accountAccess, newSession *account) string{
	"session": func(_ *testing.T, a *accountAccess, newSession *account) string {
		if newSession == nil {
			return "revoked"
		}

		sessions := newSession.get("/api/auth/sessions?limit=100").ok(200)

		return keptOrRevoked(strings.Contains(string(sessions.raw), a.otherDeviceSession))
	},
	"access token": func(_ *testing.T, a *accountAccess, _ *account) string {
		return keptOrRevoked(a.otherDevice.get("/api/auth/me").status == 200)
	},
	"refresh token": func(t *testing.T, a *accountAccess, _ *account) string {
		refreshed := a.server.guest(t).post("/api/auth/refresh", object{"refreshToken": a.otherDevice.refresh})
		return keptOrRevoked(refreshed.status == 200)
	},
	"browser cookie": func(_ *testing.T, a *accountAccess, _ *account) string {
		return keptOrRevoked(a.browser.open("GET", "/developers", nil).status == 200)
	},
	"API key": func(_ *testing.T, a *accountAccess, _ *account) string {
		return keptOrRevoked(a.programs.key.get("/v1/jobs").status == 200)
	},
	"OAuth grant": func(_ *testing.T, a *accountAccess, _ *account) string {
		return keptOrRevoked(a.programs.grant.get("/v1/jobs").status == 200)
	},
	"webhook": func(t *testing.T, a *accountAccess, newSession *account) string {
		if newSession != nil {
			return newSession.get(a.programs.webhook).ok(200).text("data.webhook.status")
		}

		// The API does not return the webhook of a deleted account, so the test reads it from the database.
		// The server deletes the webhook in the background.
		id := path.Base(a.programs.webhook)
		require.Eventually(t,
			func() bool {
				rowsByTable := kit.RowsContaining(t, a.server.databaseURL(), nil, id)
				return len(rowsByTable["webhook_endpoints"]) == 0
			},
			waitTimeout, 100*time.Millisecond, "the webhook of a deleted account is still stored")

		return "deleted"
	},
	"export link": func(t *testing.T, a *accountAccess, _ *account) string {
		return keptOrRevoked(a.server.guest(t).get(a.exportLink).status == 200)
	},
	"invitation": func(t *testing.T, a *accountAccess, newSession *account) string {
		user := a.server.guest(t)
		if newSession != nil {
			user = newSession.client
		}

		// A guest must send a password with the token.
		accepted := user.post("/api/auth/accept-invitation", object{"token": a.invitation, "password": password})

		return keptOrRevoked(accepted.status == 200)
	},
}

// guideTable parses the first table of a guide, which is a Markdown file: its header and its rows.
func guideTable(t *testing.T, guide string) (header []string, rows [][]string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(guidesDir, guide+".md"))
	require.NoError(t, err)

	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)

		isInTable := strings.HasPrefix(line, "|")
		if !isInTable {
			if rows != nil { // the line after the table
				return header, rows
			}

			continue
		}

		var cells []string
		for text := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(text))
		}

		switch {
		case header == nil:
			header = cells
		case !strings.HasPrefix(cells[0], "---"): // the line between the header and the rows
			rows = append(rows, cells)
		}
	}

	return header, rows
}

// TestRecoveryMatrix_EveryCell_IsAsDocumented checks the table in the guide about accounts. For each row
// the test creates an account with all means of access and causes the event of the row. Then it
// uses each means of access, and compares the result with the cell.
func TestRecoveryMatrix_EveryCell_IsAsDocumented(t *testing.T) {
	header, rows := guideTable(t, "accounts")
	require.Len(t, header, 1+len(recoveryColumns), "the first column names the event; each of the others needs a function")
	require.Len(t, rows, len(recoveryEvents), "each row needs a function")

	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, row := range rows {
			event := row[0]
			t.Run(event, func(t *testing.T) {
				t.Parallel()
				require.Contains(t, recoveryEvents, event, "no function causes the event")
				require.Len(t, row, len(header), "a row needs a cell for each column")

				access := server.accountWithEveryAccess(t)
				causeEvent := recoveryEvents[event]
				causeEvent(t, access)

				newSession := access.signInAfterEvent(t)
				for i := 1; i < len(header); i++ { // the first column names the event
					column, documented := header[i], row[i]
					require.Contains(t, recoveryColumns, column, "no function uses the means of access")

					useAccess := recoveryColumns[column]
					require.Equal(t, documented, useAccess(t, access, newSession), "%s after: %s", column, event)
				}
			})
		}
	})
}

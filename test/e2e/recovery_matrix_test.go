package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// accountAccess is an account with one of every means of access, which the rows of the guide's
// table revoke or keep.
type accountAccess struct {
	server     *testServer
	acting     *account // the session that acts
	other      *account // another device
	session    string   // of the other device
	browser    *browser
	programs   *programs
	link       string // to an export of the organization
	invitation string // token of another organization's invitation
	boss       *account
	password   string // after the event
	email      string // after the event
}

// accessOf creates an account that is a member of an organization, with all means of access.
func (s *testServer) accessOf(t *testing.T) *accountAccess {
	t.Helper()

	a := &accountAccess{server: s, boss: s.employer(t), acting: s.seeker(t), password: password}
	me := a.acting
	join := func(boss *account) string {
		boss.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Niamh", "email": me.email}).ok(200)
		return s.tokenFromMail(t, me.email, "Subject: Join")
	}

	me.post("/api/auth/accept-invitation", object{"token": join(a.boss), "password": password}).ok(200)

	a.programs = me.programs()
	a.link = me.exportLink("applications")
	rival := s.employer(t)
	rival.put("/api/employers/organization", object{"name": "Rival Clinic"}).ok(200)
	rival.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Niamh", "email": me.email}).ok(200)

	a.invitation = s.tokenFromMail(t, me.email, "Rival Clinic")
	a.other = me.signIn(password)
	a.browser = s.signedIn(t, me)

	a.email = me.email
	for _, item := range a.other.get("/api/auth/sessions").ok(200).list("data.sessions") {
		session := item.(object)
		if session["current"] == true { // the session of a.other, which sends the request
			a.session = session["id"].(string)
		}
	}

	require.NotEmpty(t, a.session)

	return a
}

// changeAddress changes the account's e-mail address and confirms the new one.
func (a *accountAccess) changeAddress(t *testing.T) {
	next := newEmail()
	a.acting.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"email": next}}).ok(200)
	a.server.guest(t).post("/api/auth/verify-email", object{"token": a.server.tokenFromMail(t, next, "confirm your new")}).ok(200)

	a.email = next
}

// recoveryEvents execute the events of the guide's table, by the text in its first column. They
// set the password and the address that the account has afterwards.
var recoveryEvents = map[string]func(t *testing.T, a *accountAccess){
	"Password reset": func(t *testing.T, a *accountAccess) {
		a.server.guest(t).post("/api/auth/forgot-password", object{"email": a.email}).ok(200)

		a.password = password + "1"
		a.server.guest(t).
			post("/api/auth/reset-password", object{
				"token":    a.server.tokenFromMail(t, a.email, "Subject: Set a new password"),
				"password": a.password,
			}).
			ok(200)
	},
	"Password change": func(_ *testing.T, a *accountAccess) {
		a.password = password + "1"
		a.acting.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": a.password}).ok(200)
	},
	"Password change with `signOutPrograms`": func(_ *testing.T, a *accountAccess) {
		a.password = password + "1"
		a.acting.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": a.password, "signOutPrograms": true}).
			ok(200)
	},
	"Address change": func(t *testing.T, a *accountAccess) { a.changeAddress(t) },
	"Address change undone": func(t *testing.T, a *accountAccess) {
		first := a.email
		a.changeAddress(t)

		a.email = first
		a.password = password + "1"
		a.server.guest(t).post("/api/auth/undo-email-change", object{"token": a.server.undoToken(t, first), "password": a.password}).ok(200)
	},
	"Leaving an organization": func(_ *testing.T, a *accountAccess) { a.acting.delete("/api/employers/profile").ok(200) },
	"Removal from a team":     func(_ *testing.T, a *accountAccess) { a.boss.delete(teamPath(a.acting.id)).ok(200) },
	"Account deletion": func(_ *testing.T, a *accountAccess) {
		a.acting.delete("/api/jobseekers/profile").ok(200)

		a.password = ""
	},
}

// signInAgain signs in after the event. It returns nil if the account is deleted, which
// recoveryEvents mark by an empty password.
func (a *accountAccess) signInAgain(t *testing.T) *account {
	t.Helper()

	if a.password == "" {
		a.server.guest(t).post("/api/auth/login", object{"email": a.email, "password": password}).fails(401, "Invalid email or password")
		return nil
	}

	return (&account{client: a.server.guest(t), id: a.acting.id, email: a.email}).signIn(a.password)
}

// cell returns the word in the guide's table for a means of access that was kept, or not.
func cell(kept bool) string {
	if kept {
		return "kept"
	}

	return "revoked"
}

// recoveryColumns try the means of access in the columns of the guide's table, by the column's
// name, and return the text of the cell. again is the account after signInAgain.
var recoveryColumns = map[string]func(t *testing.T, a *accountAccess, again *account) string{
	"session": func(_ *testing.T, a *accountAccess, again *account) string {
		if again == nil {
			return "revoked"
		}

		return cell(strings.Contains(string(again.get("/api/auth/sessions?limit=100").ok(200).raw), a.session))
	},
	"access token": func(_ *testing.T, a *accountAccess, _ *account) string {
		return cell(a.other.get("/api/auth/me").status == 200)
	},
	"refresh token": func(t *testing.T, a *accountAccess, _ *account) string {
		return cell(a.server.guest(t).post("/api/auth/refresh", object{"refreshToken": a.other.refresh}).status == 200)
	},
	"browser cookie": func(_ *testing.T, a *accountAccess, _ *account) string {
		return cell(a.browser.open("GET", "/developers", nil).status == 200)
	},
	"API key": func(_ *testing.T, a *accountAccess, _ *account) string {
		return cell(a.programs.key.get("/v1/jobs").status == 200)
	},
	"OAuth grant": func(_ *testing.T, a *accountAccess, _ *account) string {
		return cell(a.programs.grant.get("/v1/jobs").status == 200)
	},
	"webhook": func(t *testing.T, a *accountAccess, again *account) string {
		if again != nil {
			return again.get(a.programs.webhook).ok(200).text("data.webhook.status")
		}

		// The owner is deleted, so that only the database shows the deletion.
		id := a.programs.webhook[strings.LastIndex(a.programs.webhook, "/")+1:]
		require.Eventually(t,
			func() bool {
				return len(kit.RowsContaining(t, a.server.databaseURL(), nil, id)["webhook_endpoints"]) == 0
			},
			waitTimeout, 100*time.Millisecond)

		return "deleted"
	},
	"export link": func(t *testing.T, a *accountAccess, _ *account) string {
		return cell(a.server.guest(t).get(a.link).status == 200)
	},
	"invitation": func(t *testing.T, a *accountAccess, again *account) string {
		user := a.server.guest(t)
		if again != nil {
			user = again.client
		}

		return cell(user.post("/api/auth/accept-invitation", object{"token": a.invitation, "password": password}).status == 200)
	},
}

// table parses the first table of a guide: its header and its rows.
func table(t *testing.T, guide string) (header []string, rows [][]string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(guidesDir, guide+".md"))
	require.NoError(t, err)

	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if rows != nil {
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
		case !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}

	return header, rows
}

// TestRecoveryMatrix_EveryCell_IsAsDocumented checks the table in the guide about accounts,
// which says for every event which means of access it revokes. An account has all of them, goes
// through the event of a row, and tries each.
func TestRecoveryMatrix_EveryCell_IsAsDocumented(t *testing.T) {
	header, rows := table(t, "accounts")
	require.Len(t, header, len(recoveryColumns)+1)
	require.Len(t, rows, len(recoveryEvents))

	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, row := range rows {
			event := row[0]
			t.Run(event, func(t *testing.T) {
				t.Parallel()
				require.Contains(t, recoveryEvents, event)

				access := server.accessOf(t)
				recoveryEvents[event](t, access)

				again := access.signInAgain(t)
				require.Len(t, row, len(header))

				for i := 1; i < len(header); i++ {
					column, documented := header[i], row[i]
					require.Contains(t, recoveryColumns, column)
					require.Equal(t, documented, recoveryColumns[column](t, access, again), "%s after: %s", column, event)
				}
			})
		}
	})
}

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// account is a registered user with a client that is signed in.
type account struct {
	*client
	id, email, refresh string
}

// password is the password of every test user.
const password = "Corr3ct-horse"

// newEmail returns an address that no other test uses.
func newEmail() string { return fmt.Sprintf("p%x@example.org", rand.Uint64()) }

// account returns the user of a successful registration and signs the client in.
func (s *testServer) account(t testing.TB, res *response, c *client, email string) *account {
	t.Helper()
	res.ok(201)
	c.token = res.text("data.accessToken")
	return &account{client: c, id: res.text("data.user.id"), email: email, refresh: res.text("data.refreshToken")}
}

// register sends a registration of a test user, and repeats it if the machine is too busy,
// which is not what the test checks.
func (c *client) register(path string, body object) *response {
	c.t.Helper()
	return retryWhenBusy(func() *response { return c.try("POST", path, body) })
}

// seeker registers a jobseeker.
func (s *testServer) seeker(t testing.TB) *account {
	t.Helper()
	c, email := s.guest(t), newEmail()
	return s.account(t,
		c.register("/api/auth/register", object{"email": email, "password": password, "name": "Niamh Byrne", "userType": "jobseeker"}),
		c, email)
}

// employer registers an employer with an organization.
func (s *testServer) employer(t testing.TB) *account {
	t.Helper()
	c, email := s.guest(t), newEmail()
	return s.account(
		t,
		c.register(
			"/api/auth/register-employer",
			object{"email": email, "password": password, "name": "Asha Patel", "companyName": "St Brigid's Hospital"},
		),
		c,
		email,
	)
}

// moderator registers a user whom an operator makes a moderator.
func (s *testServer) moderator(t testing.TB) *account {
	t.Helper()
	seeker := s.seeker(t)
	s.run(t, "admin", "grant", seeker.email)
	return seeker
}

// listing posts a job with the members of more, from a new address because the route is rate
// limited, and returns its id.
func (a *account) listing(more object) string {
	a.t.Helper()
	body := object{"title": "Staff Nurse", "description": "Medical ward, days and nights."}
	for k, v := range more {
		body[k] = v
	}
	return a.fromNewAddress().post("/api/employers/jobs", body).ok(201).text("data.id")
}

// application applies to a listing, from a new address because the route is rate limited, and
// returns the application's id.
func (a *account) application(listing string, more object) string {
	a.t.Helper()
	body := object{"listingId": listing}
	for k, v := range more {
		body[k] = v
	}
	return a.fromNewAddress().post("/api/jobseekers/applications", body).ok(201).text("data.id")
}

// messagesTo returns the messages so far that contain the address and the words, in the order
// of their arrival. The server under test writes each e-mail into a file, which never changes.
func (s *testServer) messagesTo(t testing.TB, to, subject string) (out []string) {
	t.Helper()
	dir := filepath.Join(s.dir, "data", "mail")
	files, _ := os.ReadDir(dir)
	s.mailMu.Lock()
	defer s.mailMu.Unlock()
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".eml" {
			continue
		}
		body, known := s.mails[f.Name()]
		if !known {
			var err error
			body, err = os.ReadFile(filepath.Join(dir, f.Name()))
			require.NoError(t, err)
			if s.mails == nil {
				s.mails = map[string][]byte{}
			}
			s.mails[f.Name()] = body
		}
		if bytes.Contains(body, []byte(to)) && bytes.Contains(body, []byte(subject)) {
			out = append(out, string(body))
		}
	}
	return out
}

// waitForMail waits until there is a message that contains the address and the words, and
// returns the newest one as it was sent, with its header.
func (s *testServer) waitForMail(t testing.TB, to, subject string) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = s.messagesTo(t, to, subject)
		return len(found) > 0
	}, waitTimeout, 20*time.Millisecond, "no mail to %s about %s\n%s", to, subject, s.log)
	return found[len(found)-1]
}

// requireNoMail requires that no message so far contains the address and the words.
func (s *testServer) requireNoMail(t testing.TB, to, subject string) {
	t.Helper()
	require.Empty(t, s.messagesTo(t, to, subject))
}

// tokenInMail matches the token in the link of an e-mail.
var tokenInMail = regexp.MustCompile(`\?token=([0-9A-Za-z_=-]+)`)

// addMember adds a new member to the employer's organization, with the given
// permissions or those of a recruiter.
func (s *testServer) addMember(t testing.TB, employer *account, permissions object) *account {
	t.Helper()
	email := newEmail()
	employer.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": email}).ok(200)
	// Quoted-printable text has = at the end of folded lines, and =3D for =.
	text := strings.ReplaceAll(s.waitForMail(t, email, "Subject:"), "=\r\n", "")
	token := tokenInMail.FindStringSubmatch(strings.ReplaceAll(text, "=3D", "="))
	require.NotNil(t, token, text)
	c := s.guest(t)
	res := c.post("/api/auth/accept-invitation", object{"token": token[1], "password": password, "name": "Tom Reed"})
	require.Less(t, res.status, 300, "%s", res.raw)
	c.token = res.text("data.accessToken")
	m := &account{client: c, id: res.text("data.user.id"), email: email, refresh: res.text("data.refreshToken")}
	if permissions != nil {
		employer.put("/api/employers/team/"+m.id+"/permissions", object{"permissions": permissions}).ok(200)
	}
	return m
}

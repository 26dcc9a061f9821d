package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// account is a registered user with a client that is signed in.
type account struct {
	*client
	id, email, refresh string
}

// in returns a client of the same user for a subtest, which reports its failures there.
func (a *account) in(t testing.TB) *account {
	inSubtest := *a.client
	inSubtest.t = t

	return &account{client: &inSubtest, id: a.id, email: a.email, refresh: a.refresh}
}

const (
	// password is the password of every test user.
	password = "Corr3ct-horse"
	// wrongPassword is a valid password that no test user has.
	wrongPassword = "Wr0ng-horse"
	// otherPassword is the password to which tests change the password of a user.
	otherPassword = "An0ther-horse"
)

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

// The names with which seeker and employer register users.
const (
	seekerName       = "Niamh Byrne"
	employerName     = "Asha Patel"
	organizationName = "St Brigid's Hospital" // of every employer
)

// seeker registers a jobseeker with the name seekerName.
func (s *testServer) seeker(t testing.TB) *account {
	t.Helper()

	guest := s.guest(t)
	email := newEmail()
	registered := guest.register("/api/auth/register", object{
		"email":    email,
		"password": password,
		"name":     seekerName,
		"userType": "jobseeker",
	})

	return s.account(t, registered, guest, email)
}

// employer registers an employer with the name employerName and an organization with the name
// organizationName.
func (s *testServer) employer(t testing.TB) *account {
	t.Helper()

	guest := s.guest(t)
	email := newEmail()
	registered := guest.register("/api/auth/register-employer", object{
		"email":       email,
		"password":    password,
		"name":        employerName,
		"companyName": organizationName,
	})

	return s.account(t, registered, guest, email)
}

// moderator registers a user whom an operator makes a moderator.
func (s *testServer) moderator(t testing.TB) *account {
	t.Helper()

	seeker := s.seeker(t)
	s.run(t, "admin", "grant", seeker.email)

	return seeker
}

// listing posts a job with default members, replaced by those of more, from a new address because the route is rate
// limited, and returns its id.
func (a *account) listing(more object) string {
	a.t.Helper()

	body := object{"title": "Staff Nurse", "description": "Medical ward, days and nights."}
	maps.Copy(body, more)

	return a.fromNewAddress().post("/api/employers/jobs", body).ok(201).text("data.id")
}

// application applies to a listing with the members of more, from a new address because the route is rate limited, and
// returns the application's id.
func (a *account) application(listing string, more object) string {
	a.t.Helper()

	body := object{"listingId": listing}
	maps.Copy(body, more)

	return a.fromNewAddress().post("/api/jobseekers/applications", body).ok(201).text("data.id")
}

// messagesTo returns the messages so far that contain the address and the words, in the order
// of their arrival. The server under test writes each e-mail into a file, which never changes.
func (s *testServer) messagesTo(t testing.TB, to, subject string) (messages []string) {
	t.Helper()

	dir := filepath.Join(s.dir, "data", "mail")
	files, _ := os.ReadDir(dir)

	s.mailMu.Lock()
	defer s.mailMu.Unlock()

	for _, file := range files {
		if filepath.Ext(file.Name()) != ".eml" {
			continue
		}

		body, known := s.mails[file.Name()]
		if !known {
			var err error
			body, err = os.ReadFile(filepath.Join(dir, file.Name()))
			require.NoError(t, err)

			if s.mails == nil {
				s.mails = map[string][]byte{}
			}

			s.mails[file.Name()] = body
		}

		if bytes.Contains(body, []byte(to)) && bytes.Contains(body, []byte(subject)) {
			messages = append(messages, string(body))
		}
	}

	return messages
}

// waitForMail waits until there is a message that contains the address and the words, and
// returns the newest one as it was sent, with its header.
func (s *testServer) waitForMail(t testing.TB, to, subject string) string {
	t.Helper()
	var messages []string
	require.Eventually(t, func() bool {
		messages = s.messagesTo(t, to, subject)
		return len(messages) > 0
	}, waitTimeout, 20*time.Millisecond, "no mail to %s about %s\n%s", to, subject, s.log)

	return messages[len(messages)-1]
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

	guest := s.guest(t)
	accepted := guest.post("/api/auth/accept-invitation", object{"token": s.token(t, email), "password": password, "name": "Tom Reed"})
	require.Less(t, accepted.status, 300, "%s", accepted.raw)

	guest.token = accepted.text("data.accessToken")

	member := &account{
		client:  guest,
		id:      accepted.text("data.user.id"),
		email:   email,
		refresh: accepted.text("data.refreshToken"),
	}
	if permissions != nil {
		employer.put("/api/employers/team/"+member.id+"/permissions", object{"permissions": permissions}).ok(200)
	}

	return member
}

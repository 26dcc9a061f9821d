package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// isListed reports whether the public list has the title.
func (s *testServer) isListed(t testing.TB, title string) bool {
	t.Helper()

	res := s.guest(t).try("GET", "/api/listings?limit=50", nil)

	return res.status == http.StatusOK && strings.Contains(string(res.raw), title)
}

// PgBouncer is a pooler: it shares a few connections to Postgres among its clients. In transaction mode, a client has a
// connection only during a transaction, so that LISTEN and NOTIFY do not work through the pooler.

// TestPgBouncer_DirectURL_NothingIsLost checks two servers behind PgBouncer that also have a direct URL of Postgres, over
// which they notify each other. They see each other's listings, and lose no application while the pooler restarts.
func TestPgBouncer_DirectURL_NothingIsLost(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	postgres := kit.PostgresURL(t)
	pooler := kit.PgBouncer(t, postgres)
	one := start(t, dir, "LOCUM_DATABASE_URL="+pooler.URL, "LOCUM_DATABASE_POOLER=transaction", "LOCUM_DATABASE_DIRECT_URL="+postgres)
	two := &testServer{
		dir:    dir,
		env:    append(slices.Clip(one.env), "LOCUM_SEARCH_URL=embedded:search-of-two"),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	two.serve(t)

	one.waitUntilReady(t)
	two.waitUntilReady(t)

	employer := one.employer(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})

	require.Eventually(t, func() bool { return two.isListed(t, "Theatre Nurse") }, waitTimeout, 10*time.Millisecond)

	const applicants = 20 // half of them at each server

	seekers := make([]*account, applicants)
	for i := range seekers {
		if i%2 == 0 {
			seekers[i] = one.seeker(t)
		} else {
			seekers[i] = two.seeker(t)
		}
	}

	// The pooler restarts while the applicants apply.
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)

		pooler.Kill()

		_ = pooler.Start()
	}()

	// Each applicant repeats the request while the server responds 503, for at most retryTime.
	const retryTime = 20 * time.Second

	begun := time.Now()
	counts := concurrently(t, applicants, func(i int) *response {
		for {
			res := seekers[i].fromNewAddress().try("POST", "/api/jobseekers/applications", object{"listingId": listing})
			if res.status != http.StatusServiceUnavailable || time.Since(begun) > retryTime {
				return res
			}
		}
	})

	<-restarted

	// A request gets 400 if it repeats one that has stored the application, but whose response was lost.
	require.Equal(t, applicants, counts[201]+counts[400], "an application failed: %v", counts)

	// Each application is stored, and each applicant has at least the e-mail of the registration.
	list := employer.get("/api/employers/applications?limit=50").ok(200)
	for _, seeker := range seekers {
		require.Contains(t, string(list.raw), seeker.email)
		one.waitForMail(t, seeker.email, "confirm your e-mail")
	}

	require.Eventually(t, func() bool { return len(one.messagesTo(t, employer.email, "application")) == applicants },
		waitTimeout, 50*time.Millisecond, "the employer does not get one e-mail about each application")
}

// TestPgBouncer_NoDirectURL_Polls checks that without a direct connection, which LISTEN and
// migrations need, the servers poll for each other's changes, and `migrate up` explains what to
// set.
func TestPgBouncer_NoDirectURL_Polls(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	postgres := kit.PostgresURL(t)
	pooler := kit.PgBouncer(t, postgres)
	env := []string{"LOCUM_DATABASE_URL=" + pooler.URL, "LOCUM_DATABASE_POOLER=transaction"}

	// The schema is created with a direct connection.
	migrate := exec.Command(kit.Program(t), "migrate", "up")
	migrate.Dir = dir
	migrate.Env = []string{"HOME=" + dir, "LOCUM_DATABASE_URL=" + postgres}
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, "%s", out)

	one := &testServer{dir: dir, env: append(serverEnv(dir), env...), log: &kit.Log{}, exited: make(chan error, 1)}
	require.Contains(t, one.fails(t, "migrate", "up"), "set database.direct_url")
	one.serve(t)

	two := &testServer{
		dir:    dir,
		env:    append(slices.Clip(one.env), "LOCUM_SEARCH_URL=embedded:search-of-two"),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	two.serve(t)

	employer := one.employer(t)
	for i := range 5 {
		title := fmt.Sprint("Theatre Nurse ", i)
		employer.listing(object{"title": title})
		require.Eventually(t, func() bool { return one.isListed(t, title) }, waitTimeout, time.Millisecond,
			"the server's own writes are visible")
		require.Eventually(t, func() bool { return two.isListed(t, title) }, 10*time.Second, 20*time.Millisecond)
	}

	one.waitForMail(t, employer.email, "confirm your e-mail")
}

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// on returns the same user as a client of another instance.
func (c *client) on(server *testServer) *client {
	other := c.fromNewAddress()
	other.server = server
	return other
}

// TestInstances_Two_ShareState checks that two servers with one database and one Redis act as
// one: sessions, listings, rate limits and idempotency keys hold on both, and no e-mail is sent
// twice.
func TestInstances_Two_ShareState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := start(t, dir, "LOCUM_DATABASE_URL="+kit.PostgresURL(t), "LOCUM_LIMITER_URL="+kit.RedisURL(t))
	two := &testServer{
		dir: dir,
		// Each instance has its own search index, in its own directory.
		env:    append(slices.Clip(one.env), "LOCUM_SEARCH_URL=embedded:search-of-two"),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	two.serve(t)
	users := []*testServer{one, two}
	employer, seeker := one.employer(t), two.seeker(t)

	t.Run("logout on another instance", func(t *testing.T) {
		s := one.seeker(t)
		s.on(two).get("/api/auth/me").ok(200)
		s.post("/api/auth/logout", nil).ok(200)
		s.on(two).get("/api/auth/me").fails(401, "Unauthorized")
		s.on(two).post("/api/auth/refresh", object{"refreshToken": s.refresh}).fails(401, "Invalid or expired refresh token")
	})
	t.Run("search on the other instance within a second", func(t *testing.T) {
		id := employer.listing(nil)
		guests := two.guest(t)
		guests.get("/api/listings/" + id).ok(200)
		employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"title": "New"}).ok(200)
		follows := func(seen func(*response) bool) {
			t.Helper()
			written := time.Now()
			for {
				requested := time.Now() // the response may be as old as the request
				if seen(guests.get("/api/listings/" + id)) {
					return
				}
				require.Less(t, requested.Sub(written), 1500*time.Millisecond)
			}
		}
		follows(func(res *response) bool { return res.ok(200).text("data.title") == "New" })
		employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": "closed"}).ok(200)
		follows(func(res *response) bool { return res.status == 404 })
		require.Equal(t, "closed",
			employer.on(two).get("/api/employers/jobs/"+id).ok(200).text("data.job.status"),
			"members of the organization see the change at once")
	})
	t.Run("limits are shared by all instances", func(t *testing.T) {
		c := one.guest(t)
		for i := range 13 {
			d := *c
			d.server = users[i%2]
			res := d.post("/api/employers/jobs", object{})
			if i < 10 {
				res.fails(401, "Unauthorized")
			} else {
				res.fails(429, "Rate limit exceeded")
			}
		}
	})
	t.Run("concurrent requests to both instances", func(t *testing.T) {
		const n = 20
		listing := employer.listing(nil)
		require.Equal(t, map[int]int{201: 1, 400: n - 1}, concurrently(t, n, func(i int) *response {
			return seeker.on(users[i%2]).try("POST", "/api/jobseekers/applications", object{"listingId": listing})
		}))
		email := newEmail()
		require.Equal(t, map[int]int{201: 1, 409: n - 1}, concurrently(t, n, func(i int) *response {
			return retryWhenBusy(func() *response {
				return users[i%2].guest(t).
					try("POST", "/api/auth/register", object{"email": email, "password": password, "name": "N", "userType": "jobseeker"})
			})
		}))
		require.Equal(t, map[int]int{200: n}, concurrently(t, n, func(i int) *response {
			return employer.on(users[i%2]).try("PATCH", "/api/listings/"+listing, object{"meta": object{fmt.Sprint("key", i): i}})
		}))
		require.Len(t, employer.get("/api/employers/jobs/"+listing).ok(200).at("data.job.meta"), n)
		c := employer.fromNewAddress()
		c.key = "over-both"
		counts := concurrently(t, n, func(i int) *response {
			d := c.on(users[i%2])
			d.key = c.key
			return d.try("POST", "/api/employers/jobs", object{"title": "Once " + email, "description": "D"})
		})
		// A request with the key of one that is still being executed is a 409.
		require.Positive(t, counts[201], "%v", counts)
		require.Equal(t, n, counts[201]+counts[409], "%v", counts)
		require.Equal(t, 1, bytes.Count(employer.get("/api/employers/jobs").ok(200).raw, []byte("Once "+email)))
	})
	t.Run("concurrent opt-outs", func(t *testing.T) {
		var all []*account
		for i := range 6 {
			all = append(all, users[i%2].seeker(t))
		}
		for _, s := range all {
			one.waitForMail(t, s.email, "Subject:")
		}
		// Each user gets one e-mail at registration, although both instances run tasks.
		require.Never(t, func() bool {
			names, _ := filepath.Glob(filepath.Join(dir, "data", "mail", "*.eml"))
			counts := map[string]int{}
			for _, name := range names {
				body, err := os.ReadFile(name)
				require.NoError(t, err)
				for _, s := range all {
					if bytes.Contains(body, []byte(s.email)) {
						counts[s.email]++
					}
				}
			}
			for _, n := range counts {
				if n > 1 {
					return true
				}
			}
			return false
		}, time.Second, 100*time.Millisecond)
	})
}

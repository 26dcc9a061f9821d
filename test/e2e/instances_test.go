package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestInstances_Two_ShareState checks that two servers with one database and one Redis act as one
// server. Sessions, listings, rate limits and idempotency keys of one instance hold on the other, and
// no e-mail is sent twice.
//
// An account of the tests sends its requests to the instance that registered it. The method on, below,
// returns a client of the same user for another instance.
func TestInstances_Two_ShareState(t *testing.T) {
	t.Parallel()

	// Both instances write e-mails into the same directory, from which the tests read them.
	dir := t.TempDir()
	first := start(t, dir, "LOCUM_DATABASE_URL="+kit.PostgresURL(t), "LOCUM_LIMITER_URL="+kit.RedisURL(t))
	second := &testServer{
		dir: dir,
		// Each instance has its own search index, in its own directory.
		env:    append(slices.Clip(first.env), "LOCUM_SEARCH_URL=embedded:search-of-second"),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	second.serve(t)

	instances := []*testServer{first, second}
	employer := first.employer(t)
	seeker := second.seeker(t)

	t.Run("logout on one instance ends the session on the other", func(t *testing.T) {
		leaving := first.seeker(t)
		leaving.on(second).get("/api/auth/me").ok(200)
		leaving.post("/api/auth/logout", nil).ok(200)
		leaving.on(second).get("/api/auth/me").fails(401, "Unauthorized")
		leaving.on(second).
			post("/api/auth/refresh", object{"refreshToken": leaving.refresh}).
			fails(401, "Invalid or expired refresh token")
	})

	t.Run("changed listing is on the other instance within 1.5 s", func(t *testing.T) {
		id := employer.listing(nil)
		guest := second.guest(t)
		guest.get("/api/listings/" + id).ok(200) // so that the second instance has cached the listing

		// The first instance notifies the second one of a change, which must be visible within this time.
		const maxDelay = 1500 * time.Millisecond

		// requireSoon repeats the request of the guest until isExpected accepts the response. It fails
		// if a request that was sent after maxDelay gets an old response.
		requireSoon := func(isExpected func(*response) bool) {
			t.Helper()

			changed := time.Now()
			for {
				requested := time.Now() // the time of the response would include delays of a busy machine

				if isExpected(guest.get("/api/listings/" + id)) {
					return
				}

				require.Less(t, requested.Sub(changed), maxDelay, "the listing is still the old one")
			}
		}

		employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"title": "New"}).ok(200)
		requireSoon(func(resp *response) bool { return resp.ok(200).text("data.title") == "New" })
		employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": "closed"}).ok(200)
		requireSoon(func(resp *response) bool { return resp.status == 404 })
		require.Equal(t, "closed",
			employer.on(second).get("/api/employers/jobs/"+id).ok(200).text("data.job.status"),
			"members of the organization see the change at once")
	})

	t.Run("rate limit counts requests to both instances", func(t *testing.T) {
		const (
			maxRequests     = 10 // from one address in 15 minutes
			refusedRequests = 3
		)

		guest := first.guest(t)
		for i := range maxRequests + refusedRequests {
			// The same address alternates between the instances.
			sameAddress := *guest
			sameAddress.server = instances[i%2]

			resp := sameAddress.post("/api/employers/jobs", object{})
			if i < maxRequests {
				resp.fails(401, "Unauthorized")
			} else {
				resp.fails(429, "Rate limit exceeded")
			}
		}
	})

	// concurrently sends requests at the same time and returns the number of responses with each status.
	t.Run("concurrent requests to both instances", func(t *testing.T) {
		const requests = 20
		listing := employer.listing(nil)

		t.Run("application is created once", func(t *testing.T) {
			statuses := concurrently(t, requests, func(i int) *response {
				return seeker.on(instances[i%2]).
					try("POST", "/api/jobseekers/applications", object{"listingId": listing})
			})

			require.Equal(t, map[int]int{201: 1, 400: requests - 1}, statuses)
		})

		t.Run("e-mail address is registered once", func(t *testing.T) {
			registration := object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
			statuses := concurrently(t, requests, func(i int) *response {
				return retryWhenBusy(func() *response {
					return instances[i%2].guest(t).try("POST", "/api/auth/register", registration)
				})
			})

			require.Equal(t, map[int]int{201: 1, 409: requests - 1}, statuses)
		})

		t.Run("no change of a listing is lost", func(t *testing.T) {
			statuses := concurrently(t, requests, func(i int) *response {
				return employer.on(instances[i%2]).
					try("PATCH", "/api/listings/"+listing, object{"meta": object{fmt.Sprint("key", i): i}})
			})

			require.Equal(t, map[int]int{200: requests}, statuses)

			// Each request added one member to meta.
			meta := employer.get("/api/employers/jobs/" + listing).ok(200).at("data.job.meta")
			require.Len(t, meta, requests)
		})

		t.Run("idempotency key is executed once", func(t *testing.T) {
			title := "Once " + newEmail() // unique
			statuses := concurrently(t, requests, func(i int) *response {
				sender := employer.on(instances[i%2])
				sender.key = "used-on-both-instances"
				return sender.try("POST", "/api/employers/jobs", object{"title": title, "description": "D"})
			})

			// Requests with the key of a request that has been executed get its response, 201. The status
			// is 409 while that request is still being executed.
			require.Positive(t, statuses[201], "no request succeeded: %v", statuses)
			require.Equal(t, requests, statuses[201]+statuses[409], "there are other statuses: %v", statuses)

			listings := employer.get("/api/employers/jobs").ok(200).raw
			require.Equal(t, 1, bytes.Count(listings, []byte(title)), "listings with the title")
		})
	})

	// Both instances execute background tasks, such as sending e-mails, from the queue in the database.
	t.Run("one e-mail per registration, although both instances run tasks", func(t *testing.T) {
		var registered []*account
		for i := range 6 {
			registered = append(registered, instances[i%2].seeker(t))
		}

		for _, user := range registered {
			first.waitForMail(t, user.email, "confirm your e-mail")
		}

		// If both instances executed the same task, the second e-mail would be sent at about the same
		// time as the first. A second is long enough to see it.
		anyHasTwoMails := func() bool {
			return slices.ContainsFunc(registered, func(user *account) bool {
				return len(first.messagesTo(t, user.email, "")) > 1
			})
		}
		require.Never(t, anyHasTwoMails, time.Second, 100*time.Millisecond, "a user has more than one e-mail")
	})
}

// on returns a client of the same user at a new address. The client sends its requests to the
// instance.
func (c *client) on(instance *testServer) *client {
	sameUser := c.fromNewAddress()
	sameUser.server = instance
	return sameUser
}

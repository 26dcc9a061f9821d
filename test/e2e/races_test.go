package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// concurrently calls request(0) to request(n-1), each of which sends one request, at the same
// time, and returns the number of responses by status. It fails if a request has no response.
func concurrently(t *testing.T, n int, request func(i int) *response) map[int]int {
	t.Helper()

	responses := make([]*response, n)
	start := make(chan struct{})

	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start

			responses[i] = request(i)
		})
	}

	close(start)
	group.Wait()

	counts := map[int]int{}
	for _, resp := range responses {
		require.NotNil(t, resp, "a request got no response")
		counts[resp.status]++
	}

	return counts
}

// retryWhenBusy repeats a request up to five times while the server responds 503 with a
// Retry-After: it limits the passwords that it hashes and the connections that it opens at a
// time.
func retryWhenBusy(request func() *response) *response {
	resp := request()
	for range 5 {
		isBusy := resp.status == http.StatusServiceUnavailable && resp.header.Get("Retry-After") != ""
		if !isBusy {
			break
		}

		resp = request()
	}

	return resp
}

// TestRaces checks that concurrent requests have the same result as if they came one after the other, in any order. Limits
// hold, a resource that must be unique exists once, no change is lost, and no deadlock makes a request fail. The function
// concurrently returns the number of responses by status, so that map[int]int{201: 1, 400: 19} means that one of
// twenty requests succeeded.
func TestRaces(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const requests = 20 // at the same time
		employer, seeker := server.employer(t), server.seeker(t)
		subtest := subtests(t, employer.client, seeker.client)
		subtest("concurrent creations of apps do not exceed the limit", func(t *testing.T) {
			developer := server.seeker(t)

			const maxApps, excess = 50, 10 // a user can have maxApps

			counts := concurrently(t, maxApps+excess, func(int) *response {
				return developer.fromNewAddress().try("POST", "/api/developers/apps", object{"name": "One of many"})
			})
			require.Equal(t, map[int]int{201: maxApps, 409: excess}, counts)
		})

		subtest("one of the concurrent applications for a listing succeeds", func(t *testing.T) {
			listing := employer.listing(nil)
			counts := concurrently(t, requests, func(int) *response {
				return seeker.fromNewAddress().try("POST", "/api/jobseekers/applications", object{"listingId": listing})
			})
			require.Equal(t, map[int]int{201: 1, 400: requests - 1}, counts)
			seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": listing}).
				fails(400, "Already applied to this position")
			require.Equal(t, 1., seeker.get("/api/jobseekers/applications").ok(200).number("data.pagination.total"))
			require.Equal(t, 1., employer.get("/api/employers/applications").ok(200).number("data.pagination.total"))
		})

		subtest("one of the concurrent bookmarks of a listing succeeds", func(t *testing.T) {
			listing := employer.listing(nil)
			paths := []string{"/api/jobseekers/saved", "/api/jobseekers/bookmarks"} // both create a bookmark
			counts := concurrently(t, requests, func(i int) *response {
				return seeker.fromNewAddress().try("POST", paths[i%len(paths)], object{"listingId": listing})
			})
			require.Equal(t, map[int]int{201: 1, 400: requests - 1}, counts)
			require.Equal(t, 1., seeker.get("/api/jobseekers/bookmarks").ok(200).number("data.pagination.total"))
		})

		subtest("concurrent uploads of default documents leave one default", func(t *testing.T) {
			counts := concurrently(t, requests, func(int) *response {
				return seeker.fromNewAddress().
					try("POST", "/api/jobseekers/documents", object{
						"intent":    "upload-document",
						"type":      "cv",
						"content":   "x",
						"isDefault": true,
					})
			})
			require.Equal(t, map[int]int{200: requests}, counts)

			defaults := 0
			for _, document := range seeker.get("/api/jobseekers/documents?limit=100").ok(200).list("data.documents") {
				if document.(object)["isDefault"] == true {
					defaults++
				}
			}

			require.Equal(t, 1, defaults, "one document is the default")
		})

		subtest("one of the concurrent registrations of an address succeeds", func(t *testing.T) {
			email := newEmail()
			counts := concurrently(t, requests, func(i int) *response {
				return retryWhenBusy(func() *response {
					// Jobseekers and employers share the addresses.
					if i%2 == 0 {
						return server.guest(t).
							try("POST", "/api/auth/register", object{
								"email":    email,
								"password": password,
								"name":     "N",
								"userType": "jobseeker",
							})
					}

					return server.guest(t).
						try("POST", "/api/auth/register-employer", object{
							"email":       email,
							"password":    password,
							"name":        "N",
							"companyName": "C",
						})
				})
			})
			require.Equal(t, map[int]int{201: 1, 409: requests - 1}, counts)
			server.guest(t).post("/api/auth/login", object{"email": email, "password": password}).ok(200)
		})

		subtest("concurrent changes of different keys of meta are all kept", func(t *testing.T) {
			listing := employer.listing(nil)
			counts := concurrently(t, requests, func(i int) *response {
				key := fmt.Sprint("key", i)

				meta := object{key: i, "inner": object{key: i}}
				if i%2 == 0 {
					return employer.fromNewAddress().try("PATCH", "/api/listings/"+listing, object{"meta": meta})
				}

				return employer.fromNewAddress().try("PUT", "/api/listings/batch", []object{{"uuid": listing, "meta": meta}})
			})
			require.Equal(t, map[int]int{200: requests}, counts)

			resp := employer.get("/api/employers/jobs/" + listing).ok(200)
			for i := range requests {
				require.Equal(t, float64(i), resp.number(fmt.Sprint("data.job.meta.key", i)), "key %d", i)
				require.Equal(t, float64(i), resp.number(fmt.Sprint("data.job.meta.inner.key", i)), "inner key %d", i)
			}
		})

		subtest("concurrent changes of different fields are all kept", func(t *testing.T) {
			listing := employer.listing(nil)
			changes := []object{
				{"title": "New"},
				{"description": "New"},
				{"department": "New"},
				{"location": "York"},
				{"specialty": "New"},
				{"remote": true},
				{"contractType": "contract"},
				{"employmentType": "bank"},
				{"requirements": []string{"New"}},
				{"benefits": []string{"New"}},
			}
			counts := concurrently(t, requests, func(i int) *response {
				change := changes[i%len(changes)]
				if i < requests/2 {
					return employer.fromNewAddress().try("PUT", "/api/employers/jobs/"+listing, change)
				}

				return employer.fromNewAddress().
					try("PUT", "/api/employers/jobs/batch", object{"jobs": []object{merge(change, object{"id": listing})}})
			})
			require.Equal(t, map[int]int{200: requests}, counts)

			resp := employer.get("/api/employers/jobs/" + listing).ok(200)
			for _, change := range changes {
				for field, value := range change {
					require.Equal(t, fmt.Sprint(value), fmt.Sprint(resp.at("data.job."+field)), field)
				}
			}
		})

		// Transactions that lock the same rows in different orders could deadlock.
		subtest("concurrent batches in different orders do not deadlock or mix", func(t *testing.T) {
			var ids []string
			for range 5 {
				ids = append(ids, employer.listing(nil))
			}

			counts := concurrently(t, requests, func(i int) *response {
				jobs := make([]object, len(ids))
				for position := range ids {
					id := ids[(i+position)%len(ids)] // each batch begins with another listing
					jobs[position] = object{"id": id, "title": fmt.Sprint("Title ", i)}
				}

				return employer.fromNewAddress().try("PUT", "/api/employers/jobs/batch", object{"jobs": jobs})
			})
			require.Equal(t, map[int]int{200: requests}, counts)

			title := employer.get("/api/employers/jobs/" + ids[0]).text("data.job.title")
			for _, id := range ids {
				require.Equal(t, title, employer.get("/api/employers/jobs/"+id).text("data.job.title"),
					"the same batch was the last for all listings")
			}
		})

		subtest("concurrent changes of the state of a listing do not fail", func(t *testing.T) {
			listing := employer.listing(nil)
			changes := []struct {
				method, path string
				body         any
			}{
				{method: "POST", path: "/api/listings/" + listing + "/archive"},
				{method: "POST", path: "/api/listings/" + listing + "/restore"},
				{method: "POST", path: "/api/employers/jobs/" + listing + "/renew"},
				{method: "DELETE", path: "/api/employers/jobs/" + listing},
				{method: "PUT", path: "/api/employers/jobs/" + listing, body: object{"status": "closed"}},
			}
			counts := concurrently(t, requests, func(i int) *response {
				change := changes[i%len(changes)]
				return employer.fromNewAddress().try(change.method, change.path, change.body)
			})

			restorations := requests / len(changes)
			require.Equal(t, requests, counts[200]+counts[404], "a request failed: %v", counts)
			require.LessOrEqual(t, counts[404], restorations, "only restore may find no archived listing: %v", counts)
		})

		subtest("withdrawal during concurrent decisions is final", func(t *testing.T) {
			listing := employer.listing(nil)
			id := seeker.application(listing, nil)
			decisions := []string{"review", "interview", "rejected"}
			withdrawal := requests / 2 // the request in the middle; the others are decisions
			counts := concurrently(t, requests, func(i int) *response {
				if i == withdrawal {
					return seeker.fromNewAddress().try("DELETE", "/api/jobseekers/applications/"+id, nil)
				}

				return employer.fromNewAddress().
					try("PUT", "/api/employers/applications/"+id, object{"status": decisions[i%len(decisions)]})
			})

			require.Equal(t, requests, counts[200]+counts[400], "each request succeeds, or is refused after the withdrawal: %v", counts)

			resp := employer.get("/api/employers/applications/" + id).ok(200)
			require.Equal(t, "withdrawn", resp.text("data.application.status"))

			timeline := resp.list("data.application.timeline")
			for i := 1; i < len(timeline); i++ {
				previous := timeline[i-1].(object)
				change := timeline[i].(object)
				require.Equal(t, previous["to"], change["from"], "change %d starts from the previous status", i)
			}
		})

		subtest("concurrent refreshes keep the session", func(t *testing.T) {
			seeker := server.seeker(t)

			const tabs = 5 // of one browser, which share a refresh token

			counts := concurrently(t, tabs, func(int) *response {
				return server.guest(t).try("POST", "/api/auth/refresh", object{"refreshToken": seeker.refresh})
			})
			require.Equal(t, map[int]int{200: tabs}, counts, "a refresh with a lost response may be retried")
			seeker.get("/api/auth/me").ok(200)
		})

		subtest("concurrent requests do not exceed the rate limit", func(t *testing.T) {
			guest := server.guest(t)

			// A guest gets 401 until the limit is reached, and 429 afterwards.
			counts := concurrently(t, requests, func(int) *response { return guest.try("POST", "/api/employers/jobs", nil) })
			if !server.countsLocally() { // otherwise a part of the requests was counted in Redis and the rest in memory
				const maxRequests = 10 // of an address to this path in 15 minutes

				require.Equal(t, map[int]int{401: maxRequests, 429: requests - maxRequests}, counts)
			}
		})
	})
}

// TestRaces_Users checks concurrent changes of users: an organization keeps an admin, and
// invitations, links in e-mails and addresses are used once.
func TestRaces_Users(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const requests = 10 // at the same time
		t.Run("concurrent demotions of admins leave an admin", func(t *testing.T) {
			// In one round, the demotions may happen one after the other by chance.
			const rounds = 4
			for range rounds {
				one := server.employer(t)
				two := server.addMember(t, one, nil)
				one.put("/api/employers/team/"+two.id+"/permissions", object{"role": "admin"}).ok(200)

				demote := func(admin, target *account) *response {
					return admin.fromNewAddress().
						try("PUT", "/api/employers/team/"+target.id+"/permissions", object{"role": "viewer"})
				}

				counts := concurrently(t, requests, func(i int) *response {
					if i%2 == 0 {
						return demote(one, two)
					}

					return demote(two, one)
				})

				// 403 for an admin who was demoted first, 409 for the demotion of the last admin.
				require.Equal(t, requests, counts[200]+counts[403]+counts[409], "%v", counts)

				team := string(one.get("/api/employers/team").ok(200).raw)
				require.Contains(t, team, `"role":"admin"`, "the organization has no admin")
			}
		})

		t.Run("concurrent invitations and acceptances of an address succeed once", func(t *testing.T) {
			employer := server.employer(t)
			email := newEmail()
			invited := concurrently(t, requests, func(int) *response {
				return employer.fromNewAddress().
					try("POST", "/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": email})
			})
			require.Equal(t, map[int]int{200: 1, 409: requests - 1}, invited)

			// The invited user accepts the one invitation several times.
			token := server.token(t, email)
			accepted := concurrently(t, requests, func(int) *response {
				return retryWhenBusy(func() *response {
					return server.guest(t).
						try("POST", "/api/auth/accept-invitation", object{"token": token, "password": password, "name": "Tom Reed"})
				})
			})

			successes := accepted[200] + accepted[201]
			require.Equal(t, 1, successes, "one acceptance succeeds: %v", accepted)
			require.Equal(t, requests-successes, accepted[400]+accepted[409], "the others are refused: %v", accepted)

			members := employer.get("/api/employers/team").ok(200).integer("data.pagination.total")
			require.Equal(t, 2, members, "the employer and the invited user")
		})

		t.Run("one of the concurrent uses of a reset link succeeds", func(t *testing.T) {
			seeker := server.seeker(t)

			// The e-mail of the registration must not arrive after that with the reset link.
			require.NotEmpty(t, server.waitForMail(t, seeker.email, "confirm your e-mail"))
			server.guest(t).post("/api/auth/forgot-password", object{"email": seeker.email}).ok(200)

			token := server.tokenAbout(t, seeker.email, "assword") // "password" or "Password"
			counts := concurrently(t, requests, func(i int) *response {
				return retryWhenBusy(func() *response {
					return server.guest(t).
						try("POST", "/api/auth/reset-password", object{"token": token, "password": fmt.Sprint(password, i)})
				})
			})

			require.Equal(t, map[int]int{200: 1, 400: requests - 1}, counts)
		})

		t.Run("one of the concurrent deletions of an account succeeds", func(t *testing.T) {
			seeker := server.seeker(t)
			counts := concurrently(t, requests,
				func(int) *response { return seeker.fromNewAddress().try("DELETE", "/api/jobseekers/profile", nil) })

			// After the first deletion, the token of the other requests is invalid.
			require.Equal(t, map[int]int{200: 1, 401: requests - 1}, counts)
		})

		t.Run("one of the concurrent changes to an address succeeds", func(t *testing.T) {
			newAddress := newEmail()
			change := object{"intent": "update-profile", "profile": object{"email": newAddress}}
			server.seeker(t).put("/api/jobseekers/profile", change).ok(200)

			seekersToken := server.tokenFromMail(t, newAddress, "confirm your new")
			server.employer(t).put("/api/employers/profile", change).ok(200)
			var employersToken string
			require.Eventually(t, func() bool { // until the second e-mail arrives, the newest is that of the jobseeker
				employersToken = server.tokenFromMail(t, newAddress, "confirm your new")
				return employersToken != seekersToken
			}, waitTimeout, 50*time.Millisecond)

			tokens := []string{seekersToken, employersToken}
			counts := concurrently(t, requests, func(i int) *response {
				return server.guest(t).try("POST", "/api/auth/verify-email", object{"token": tokens[i%len(tokens)]})
			})
			require.Equal(t, 1, counts[200], "one confirmation succeeds: %v", counts)
			require.Equal(t, requests-1, counts[400]+counts[409], "the others are refused: %v", counts)
			server.guest(t).post("/api/auth/login", object{"email": newAddress, "password": password}).ok(200)
		})

		t.Run("concurrent requests with one idempotency key create one listing", func(t *testing.T) {
			employer := server.employer(t)
			counts := concurrently(t, requests, func(int) *response {
				client := employer.fromNewAddress()
				client.key = "one-key"
				return client.try("POST", "/api/employers/jobs", object{"title": "T", "description": "D"})
			})

			// A request gets 409 while the first one is being processed, and afterwards the stored response of the first, 201.
			require.Positive(t, counts[201], "no request succeeded: %v", counts)
			require.Equal(t, requests, counts[201]+counts[409], "a request has another status: %v", counts)
			require.Equal(t, 1., employer.get("/api/employers/jobs").ok(200).number("data.pagination.total"))
		})
	})
}

// token waits for an e-mail to the address and returns the token in the newest.
func (s *testServer) token(t testing.TB, email string) string {
	return s.tokenAbout(t, email, "") // any subject
}

// tokenAbout waits for an e-mail to the address whose subject contains the words, and returns
// the token in the newest. It fails if the e-mail contains none.
func (s *testServer) tokenAbout(t testing.TB, email, subject string) string {
	t.Helper()

	// In quoted-printable (RFC 2045), "=" at the end of a line joins it with the next, and "=3D"
	// is "=".
	text := strings.ReplaceAll(s.waitForMail(t, email, subject), "=\r\n", "")
	token := tokenInMail.FindStringSubmatch(strings.ReplaceAll(text, "=3D", "="))
	require.NotNil(t, token, text)

	return token[1]
}

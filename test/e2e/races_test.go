package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// concurrently sends n requests at the same time, each from its own address, and
// returns the number of responses by status.
func concurrently(t *testing.T, n int, request func(i int) *response) map[int]int {
	t.Helper()
	answers := make([]*response, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			answers[i] = request(i)
		})
	}
	close(start)
	group.Wait()
	counts := map[int]int{}
	for _, resp := range answers {
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
	for i := 0; i < 5 && resp.status == http.StatusServiceUnavailable && resp.header.Get("Retry-After") != ""; i++ {
		resp = request()
	}
	return resp
}

// TestRaces checks that concurrent requests have the result of some order: limits hold, unique
// things exist once, no change is lost and no deadlock makes a request fail.
func TestRaces(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const n = 20
		employer, seeker := server.employer(t), server.seeker(t)
		subtest := subtests(t, employer.client, seeker.client)
		subtest("concurrent creation of apps at the limit", func(t *testing.T) {
			maker := server.seeker(t)
			// A user can have 50 apps.
			require.Equal(t, map[int]int{201: 50, 409: 10}, concurrently(t, 60, func(int) *response {
				return maker.fromNewAddress().try("POST", "/api/developers/apps", object{"name": "One of many"})
			}))
		})
		subtest("concurrent applications", func(t *testing.T) {
			listing := employer.listing(nil)
			require.Equal(t, map[int]int{201: 1, 400: n - 1}, concurrently(t, n, func(int) *response {
				return seeker.fromNewAddress().try("POST", "/api/jobseekers/applications", object{"listingId": listing})
			}))
			seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": listing}).
				fails(400, "Already applied to this position")
			require.Equal(t, 1., seeker.get("/api/jobseekers/applications").ok(200).number("data.pagination.total"))
			require.Equal(t, 1., employer.get("/api/employers/applications").ok(200).number("data.pagination.total"))
		})
		subtest("one bookmark per listing", func(t *testing.T) {
			listing := employer.listing(nil)
			require.Equal(t, map[int]int{201: 1, 400: n - 1}, concurrently(t, n, func(i int) *response {
				return seeker.fromNewAddress().
					try("POST", "/api/jobseekers/"+[]string{"saved", "bookmarks"}[i%2], object{"listingId": listing})
			}))
			require.Equal(t, 1., seeker.get("/api/jobseekers/bookmarks").ok(200).number("data.pagination.total"))
		})
		subtest("concurrent defaults of documents", func(t *testing.T) {
			require.Equal(t, map[int]int{200: n}, concurrently(t, n, func(int) *response {
				return seeker.fromNewAddress().
					try("POST", "/api/jobseekers/documents", object{
						"intent":    "upload-document",
						"type":      "cv",
						"content":   "x",
						"isDefault": true,
					})
			}))
			defaults := 0
			for _, d := range seeker.get("/api/jobseekers/documents?limit=100").ok(200).list("data.documents") {
				if d.(object)["isDefault"] == true {
					defaults++
				}
			}
			// At most one document is the default.
			require.Equal(t, 1, defaults)
		})
		subtest("concurrent registrations", func(t *testing.T) {
			email := newEmail()
			require.Equal(t, map[int]int{201: 1, 409: n - 1}, concurrently(t, n, func(i int) *response {
				return retryWhenBusy(func() *response {
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
			}))
			server.guest(t).post("/api/auth/login", object{"email": email, "password": password}).ok(200)
		})
		subtest("concurrent changes of meta", func(t *testing.T) {
			listing := employer.listing(nil)
			require.Equal(t, map[int]int{200: n}, concurrently(t, n, func(i int) *response {
				meta := object{fmt.Sprint("key", i): i, "inner": object{fmt.Sprint("key", i): i}}
				if i%2 == 0 {
					return employer.fromNewAddress().try("PATCH", "/api/listings/"+listing, object{"meta": meta})
				}
				return employer.fromNewAddress().try("PUT", "/api/listings/batch", []object{{"uuid": listing, "meta": meta}})
			}))
			resp := employer.get("/api/employers/jobs/" + listing).ok(200)
			for i := range n {
				require.Equal(t, float64(i), resp.number(fmt.Sprint("data.job.meta.key", i)))
				require.Equal(t, float64(i), resp.number(fmt.Sprint("data.job.meta.inner.key", i)))
			}
		})
		subtest("concurrent changes of different fields", func(t *testing.T) {
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
			require.Equal(t, map[int]int{200: n}, concurrently(t, n, func(i int) *response {
				change := changes[i%len(changes)]
				if i < n/2 {
					return employer.fromNewAddress().try("PUT", "/api/employers/jobs/"+listing, change)
				}
				return employer.fromNewAddress().
					try("PUT", "/api/employers/jobs/batch", object{"jobs": []object{merge(change, object{"id": listing})}})
			}))
			resp := employer.get("/api/employers/jobs/" + listing).ok(200)
			for _, change := range changes {
				for field, value := range change {
					require.Equal(t, fmt.Sprint(value), fmt.Sprint(resp.at("data.job."+field)), field)
				}
			}
		})
		// Transactions that lock the same rows in different orders could deadlock.
		subtest("concurrent batches in different orders", func(t *testing.T) {
			var ids []string
			for range 5 {
				ids = append(ids, employer.listing(nil))
			}
			require.Equal(t, map[int]int{200: n}, concurrently(t, n, func(i int) *response {
				jobs := make([]object, len(ids))
				for j := range ids {
					jobs[j] = object{"id": ids[(i+j)%len(ids)], "title": fmt.Sprint("Title ", i)}
				}
				return employer.fromNewAddress().try("PUT", "/api/employers/jobs/batch", object{"jobs": jobs})
			}))
			title := employer.get("/api/employers/jobs/" + ids[0]).text("data.job.title")
			for _, id := range ids {
				require.Equal(t, title, employer.get("/api/employers/jobs/"+id).text("data.job.title"),
					"the same batch was the last for all listings")
			}
		})
		subtest("concurrent changes of a listing", func(t *testing.T) {
			listing := employer.listing(nil)
			counts := concurrently(t, n, func(i int) *response {
				c := employer.fromNewAddress()
				switch i % 5 {
				case 0:
					return c.try("POST", "/api/listings/"+listing+"/archive", nil)
				case 1:
					return c.try("POST", "/api/listings/"+listing+"/restore", nil)
				case 2:
					return c.try("POST", "/api/employers/jobs/"+listing+"/renew", nil)
				case 3:
					return c.try("DELETE", "/api/employers/jobs/"+listing, nil)
				}
				return c.try("PUT", "/api/employers/jobs/"+listing, object{"status": "closed"})
			})
			require.Equal(t, n, counts[200]+counts[404], "%v", counts)
			require.LessOrEqual(t, counts[404], n/5, "restore alone may find nothing to do")
		})
		subtest("concurrent withdrawal and decision", func(t *testing.T) {
			listing := employer.listing(nil)
			id := seeker.application(listing, nil)
			counts := concurrently(t, n, func(i int) *response {
				if i == n/2 {
					return seeker.fromNewAddress().try("DELETE", "/api/jobseekers/applications/"+id, nil)
				}
				return employer.fromNewAddress().
					try("PUT", "/api/employers/applications/"+id, object{"status": []string{"review", "interview", "rejected"}[i%3]})
			})
			require.Equal(t, n, counts[200]+counts[400], "%v", counts)
			resp := employer.get("/api/employers/applications/" + id).ok(200)
			require.Equal(t, "withdrawn", resp.text("data.application.status"))
			timeline := resp.list("data.application.timeline")
			for i := 1; i < len(timeline); i++ {
				require.Equal(t, timeline[i-1].(object)["to"], timeline[i].(object)["from"], "each change starts from the previous status")
			}
		})
		subtest("concurrent refresh keeps the session", func(t *testing.T) {
			seeker := server.seeker(t)
			counts := concurrently(t, 5, func(int) *response {
				return server.guest(t).try("POST", "/api/auth/refresh", object{"refreshToken": seeker.refresh})
			})
			require.Equal(t, map[int]int{200: 5}, counts, "a refresh with a lost response may be retried")
			seeker.get("/api/auth/me").ok(200)
		})
		subtest("concurrent requests at the limit", func(t *testing.T) {
			c := server.guest(t)
			counts := concurrently(t, n, func(int) *response { return c.try("POST", "/api/employers/jobs", nil) })
			if !server.countsLocally() {
				require.Equal(t, map[int]int{401: 10, 429: n - 10}, counts)
			}
		})
	})
}

// TestRaces_Users checks concurrent changes of users: an organization keeps an admin, and
// invitations, links in e-mails and addresses are used once.
func TestRaces_Users(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const n = 10
		t.Run("concurrent demotions of admins", func(t *testing.T) {
			for range 4 {
				one := server.employer(t)
				two := server.addMember(t, one, nil)
				one.put("/api/employers/team/"+two.id+"/permissions", object{"role": "admin"}).ok(200)
				admins := []*account{one, two}
				counts := concurrently(t, n, func(i int) *response {
					return admins[i%2].fromNewAddress().
						try("PUT", "/api/employers/team/"+admins[1-i%2].id+"/permissions", object{"role": "viewer"})
				})
				// 403 for an admin who was demoted first, 409 for the last one.
				require.Equal(t, n, counts[200]+counts[403]+counts[409], "%v", counts)
				team := string(one.get("/api/employers/team").ok(200).raw)
				require.Contains(t, team, `"role":"admin"`)
			}
		})
		t.Run("concurrent invitations", func(t *testing.T) {
			employer, email := server.employer(t), newEmail()
			require.Equal(t, map[int]int{200: 1, 409: n - 1}, concurrently(t, n, func(int) *response {
				return employer.fromNewAddress().
					try("POST", "/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": email})
			}))
			token := server.token(t, email)
			counts := concurrently(t, n, func(int) *response {
				return retryWhenBusy(func() *response {
					return server.guest(t).
						try("POST", "/api/auth/accept-invitation", object{"token": token, "password": password, "name": "Tom Reed"})
				})
			})
			require.Equal(t, 1, counts[200]+counts[201], "%v", counts)
			require.Equal(t, n, counts[200]+counts[201]+counts[400]+counts[409], "%v", counts)
			require.Equal(t, 2., employer.get("/api/employers/team").ok(200).number("data.pagination.total"))
		})
		t.Run("concurrent use of a reset link", func(t *testing.T) {
			seeker := server.seeker(t)
			require.NotEmpty(t, server.waitForMail(t, seeker.email, "Subject:")) // the e-mail of the registration
			server.guest(t).post("/api/auth/forgot-password", object{"email": seeker.email}).ok(200)
			token := server.tokenAbout(t, seeker.email, "assword")
			counts := concurrently(t, n, func(i int) *response {
				return retryWhenBusy(func() *response {
					return server.guest(t).
						try("POST", "/api/auth/reset-password", object{"token": token, "password": fmt.Sprint(password, i)})
				})
			})
			require.Equal(t, map[int]int{200: 1, 400: n - 1}, counts)
		})
		t.Run("concurrent deletions of an account", func(t *testing.T) {
			seeker := server.seeker(t)
			counts := concurrently(t, n,
				func(int) *response { return seeker.fromNewAddress().try("DELETE", "/api/jobseekers/profile", nil) })
			require.Equal(t, map[int]int{200: 1, 401: n - 1}, counts)
		})
		t.Run("concurrent changes to one address", func(t *testing.T) {
			both, next := []*account{server.seeker(t), server.employer(t)}, newEmail()
			var tokens []string
			for i, path := range []string{"/api/jobseekers/profile", "/api/employers/profile"} {
				both[i].put(path, object{"intent": "update-profile", "profile": object{"email": next}}).ok(200)
				var token string
				require.Eventually(t, func() bool { // until then, the newest e-mail is the first user's
					token = server.tokenFromMail(t, next, "confirm your new")
					return !slices.Contains(tokens, token)
				}, waitTimeout, 50*time.Millisecond)
				tokens = append(tokens, token)
			}
			counts := concurrently(t, n, func(i int) *response {
				return server.guest(t).try("POST", "/api/auth/verify-email", object{"token": tokens[i%2]})
			})
			require.Equal(t, 1, counts[200], "%v", counts)
			require.Equal(t, n-1, counts[400]+counts[409], "%v", counts)
			server.guest(t).post("/api/auth/login", object{"email": next, "password": password}).ok(200)
		})
		t.Run("repeated request", func(t *testing.T) {
			employer := server.employer(t)
			counts := concurrently(t, n, func(int) *response {
				c := employer.fromNewAddress()
				c.key = "one-key"
				return c.try("POST", "/api/employers/jobs", object{"title": "T", "description": "D"})
			})
			require.Positive(t, counts[201], "%v", counts)
			require.Equal(t, n, counts[201]+counts[409], "%v", counts)
			require.Equal(t, 1., employer.get("/api/employers/jobs").ok(200).number("data.pagination.total"))
		})
	})
}

// token returns the token in the newest mail to the address.
func (s *testServer) token(t testing.TB, email string) string {
	return s.tokenAbout(t, email, "Subject:")
}

// tokenAbout returns the token in the newest e-mail to the address whose subject contains the
// words.
func (s *testServer) tokenAbout(t testing.TB, email, subject string) string {
	t.Helper()
	text := strings.ReplaceAll(s.waitForMail(t, email, subject), "=\r\n", "")
	token := tokenInMail.FindStringSubmatch(strings.ReplaceAll(text, "=3D", "="))
	require.NotNil(t, token, text)
	return token[1]
}

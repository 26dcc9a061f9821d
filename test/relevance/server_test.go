package relevance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// object is a JSON object.
type object = map[string]any

// server is the built program with its own database.
type server struct {
	t   *testing.T
	url string
	ids map[string]*advert
	// requests counts the requests. Each request gets another client address, so that rate
	// limits do not apply.
	requests int
}

// listening matches the line in which the program prints its address.
var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// startServer migrates the database and serves it until the test ends.
func startServer(t *testing.T, database string) *server {
	t.Helper()

	dir, log := t.TempDir(), &kit.Log{}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(kit.Program(t), args...)
		cmd.Dir, cmd.Stderr = dir, log
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LOCUM_DATABASE_URL=" + database,
			"LOCUM_HTTP_ADDR=127.0.0.1:0", "LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32", "LOCUM_HTTP_DRAIN=10ms",
			// All queries come from one process, so that the limits of searches are lifted.
			"LOCUM_LIMITS_SEARCH_CPU=0", "LOCUM_LIMITS_SEARCH_TIMEOUT=10s", "LOCUM_LOG_LEVEL=error",
		}

		// The kernel ends the program if the test ends without its cleanup.
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

		return cmd
	}
	require.NoError(t, command("migrate", "up").Run(), "%s", log)

	cmd := command("serve")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	addresses := make(chan string, 1)
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			if match := listening.FindStringSubmatch(scanner.Text()); match != nil {
				addresses <- match[1]
			}
		}
	}()

	select {
	case address := <-addresses:
		return &server{t: t, url: "http://" + address, ids: map[string]*advert{}}
	case <-time.After(time.Minute):
		require.Fail(t, "the server did not start in time", "%s", log)
		return nil
	}
}

// do sends a request and decodes the response. It repeats a request that a busy
// server refuses.
func (s *server) do(method, path, token string, body any) object {
	s.t.Helper()

	raw, err := json.Marshal(body)
	require.NoError(s.t, err)

	for attempt := 1; ; attempt++ {
		s.requests++
		request, err := http.NewRequest(method, s.url+path, bytes.NewReader(raw))
		require.NoError(s.t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.1", byte(s.requests>>8), byte(s.requests)))

		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}

		response, err := http.DefaultClient.Do(request)
		require.NoError(s.t, err)

		responseBody, err := io.ReadAll(response.Body)
		_ = response.Body.Close()

		require.NoError(s.t, err)

		if response.StatusCode < 300 {
			var decoded object
			require.NoError(s.t, json.Unmarshal(responseBody, &decoded), "%s", responseBody)
			return decoded
		}

		isBusy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
		require.True(s.t, isBusy && attempt < 20, "%s %s: %d %s", method, path, response.StatusCode, responseBody)
		time.Sleep(500 * time.Millisecond)
	}
}

// at returns the value at a path of keys in v.
func at[T any](v any, path ...string) T {
	for _, key := range path {
		v = v.(object)[key]
	}

	return v.(T)
}

// load registers the employers, posts the adverts, one batch per employer and
// week, and waits until search finds the last of them.
func (s *server) load(b *board) {
	s.t.Helper()

	tokens := map[*employer]string{}
	for i, employer := range b.employers {
		account := s.do("POST", "/api/auth/register-employer", "", object{
			"email":       fmt.Sprintf("employer%d@example.org", i),
			"password":    "Corr3ct-horse",
			"name":        "Asha Patel",
			"companyName": employer.name,
		})
		tokens[employer] = at[string](account, "data", "accessToken")
	}

	for start := 0; start < len(b.adverts); {
		first, end := b.adverts[start], start
		for end < len(b.adverts) && b.adverts[end].employer == first.employer && b.adverts[end].attributes.one("week") == first.attributes.one("week") {
			end++
		}

		s.post(tokens[first.employer], b.adverts[start:end])

		start = end
	}

	last := b.adverts[len(b.adverts)-1]
	require.Eventually(s.t, func() bool {
		found, _ := s.search(&query{text: last.title, params: url.Values{"limit": {"100"}}})
		return slices.Contains(found, last)
	}, 30*time.Second, 100*time.Millisecond, "search does not find the last advert by its title")
}

// post posts adverts of one employer and remembers their ids.
func (s *server) post(token string, adverts []*advert) {
	s.t.Helper()

	jobs := make([]object, len(adverts))
	for i, advert := range adverts {
		jobs[i] = advert.fields()
	}

	response := s.do("POST", "/api/employers/jobs/batch", token, object{"jobs": jobs})
	require.Empty(s.t, at[[]any](response, "data", "failed"))

	created := at[[]any](response, "data", "created")
	require.Len(s.t, created, len(adverts))

	for i, job := range created {
		require.Equal(s.t, adverts[i].title, at[string](job, "title"))

		s.ids[at[string](job, "id")] = adverts[i]
	}
}

// fields returns the advert as the body of a request.
func (a *advert) fields() object {
	out := object{
		"title":          a.title,
		"description":    a.body,
		"location":       a.location,
		"remote":         a.attributes.one("remote") == "yes",
		"contractType":   a.attributes.one("contract"),
		"employmentType": a.attributes.one("hours"),
		"specialty":      a.specialty,
		"department":     a.department,
	}
	if a.requirements != nil {
		out["requirements"] = a.requirements
	}

	if a.pay.max > 0 {
		out["salary"] = object{"min": a.pay.min, "max": a.pay.max, "currency": a.pay.currency, "period": a.pay.period}
	}

	return out
}

// search runs the query and returns the adverts found, the best first, and how
// many of them are exact.
func (s *server) search(q *query) (found []*advert, total int) {
	s.t.Helper()
	var results []any
	params := maps.Clone(q.params)

	// The parameter via selects one of the three routes that search; it is not sent.
	via := params.Get("via")
	params.Del("via")

	switch via {
	case "post":
		response := s.do("POST", "/api/listings/search", "", searchBody(q.text, params))
		results, total = at[[]any](response, "data", "results"), int(at[float64](response, "data", "total"))
	case "jobseekers":
		params.Set("q", q.text)

		response := s.do("GET", "/api/jobseekers/search?"+params.Encode(), "", nil)
		results = at[[]any](response, "data", "search", "jobs")
		total = int(at[float64](response, "data", "search", "pagination", "total"))
	default:
		params.Set("search", q.text)

		response := s.do("GET", "/api/listings?"+params.Encode(), "", nil)
		results = at[[]any](response, "data", "listings")
		total = int(at[float64](response, "data", "pagination", "total"))
	}

	for _, job := range results {
		advert := s.ids[at[string](job, "id")]
		require.NotNil(s.t, advert, "unknown result %v", job)

		found = append(found, advert)
	}

	return found, total
}

// searchBody returns the body of POST /api/listings/search.
func searchBody(text string, params url.Values) object {
	filters, body := object{}, object{"query": text, "filters": nil}
	for key := range params {
		value := params.Get(key)

		number, err := strconv.ParseFloat(value, 64)
		switch {
		case key == "sort":
			body[key] = value
		case err == nil:
			filters[key] = number
		case key == "remote":
			filters[key] = value == "true"
		default:
			filters[key] = value
		}
	}

	body["filters"] = filters

	return body
}

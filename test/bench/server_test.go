package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// server is a running product.
type server struct {
	b   *testing.B
	cmd *exec.Cmd
	url string
	// readyAfter is the time from the start until GET /readyz succeeded.
	readyAfter time.Duration
	// anonymousMB and residentMB are the highest amounts of memory before the server was ready.
	// Resident memory includes pages of the search index's files, which the kernel can drop;
	// anonymous memory does not.
	anonymousMB, residentMB int
}

// serve starts a server and waits until it is ready. env has additional settings, see
// product.command.
func (p *product) serve(env ...string) *server {
	p.b.Helper()

	start := time.Now()
	s := &server{b: p.b, cmd: p.command([]string{"serve"}, env...)}

	s.url = spawn(p.b, s.cmd)
	for !s.isReady() {
		s.anonymousMB = max(s.anonymousMB, s.memoryMB("RssAnon"))

		require.Less(p.b, time.Since(start), 20*time.Minute, "the server is not ready")
		time.Sleep(20 * time.Millisecond)
	}

	s.readyAfter = time.Since(start)
	s.anonymousMB = max(s.anonymousMB, s.memoryMB("RssAnon"))
	s.residentMB = s.memoryMB("VmHWM") // the maximum so far

	return s
}

// isReady reports whether GET /readyz succeeds.
func (s *server) isReady() bool {
	status, _, err := fasthttp.Get(nil, s.url+"/readyz")
	return err == nil && status == fasthttp.StatusOK
}

// stop ends the server as a restart does.
func (s *server) stop() {
	s.b.Helper()
	require.NoError(s.b, s.cmd.Process.Signal(syscall.SIGTERM))

	_ = s.cmd.Wait()
}

// memoryMB returns a field of /proc/PID/status in MB.
func (s *server) memoryMB(field string) int {
	s.b.Helper()

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(s.b, err)

	return int(s.parseNumber(status, field+`:\s+(\d+) kB`) / 1024)
}

// cpu returns the processor time that the server has used.
func (s *server) cpu() time.Duration {
	s.b.Helper()

	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	require.NoError(s.b, err)
	const tick = 10 * time.Millisecond // on all common architectures

	// Field 2 of proc(5) is the name of the program in parentheses, which may contain spaces. The
	// text from the closing parenthesis on is split at its spaces: its index 0 is the parenthesis,
	// and index i is field i+2.
	const utimeField, stimeField = 14, 15
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, _ := strconv.Atoi(fields[utimeField-2])
	system, _ := strconv.Atoi(fields[stimeField-2])

	return time.Duration(user+system) * tick
}

// heapMB returns the size of the heap in MB, including garbage.
func (s *server) heapMB() float64 {
	s.b.Helper()

	_, metrics, err := fasthttp.Get(nil, s.url+"/metrics")
	require.NoError(s.b, err)

	return s.parseNumber(metrics, `(?m)^go_memstats_heap_alloc_bytes (\S+)`) / 1e6
}

// parseNumber returns the number in the first group of the pattern.
func (s *server) parseNumber(text []byte, pattern string) float64 {
	s.b.Helper()

	match := regexp.MustCompile(pattern).FindSubmatch(text)
	require.NotNil(s.b, match, pattern)

	n, err := strconv.ParseFloat(string(match[1]), 64)
	require.NoError(s.b, err)

	return n
}

// noToken stands for the access token of a guest: requests with it have no Authorization header.
const noToken = ""

// post sends a POST request and returns the body of the response. The benchmark fails if the status
// of the response is not wantStatus. Every request has a random client address, so that no rate
// limit applies.
func (s *server) post(token, path, body string, wantStatus int) []byte {
	s.b.Helper()

	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	request.SetRequestURI(s.url + path)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType("application/json")
	request.Header.Set("X-Forwarded-For", randomClientAddress())

	if token != noToken {
		request.Header.Set("Authorization", "Bearer "+token)
	}

	request.SetBodyString(body)

	err := fasthttp.Do(request, response)
	if err != nil || response.StatusCode() != wantStatus {
		s.b.Errorf("%s: %d %s %v", path, response.StatusCode(), response.Body(), err)
	}

	return response.Body()
}

// randomClientAddress returns a random address of the private network 10.0.0.0/8.
func randomClientAddress() string {
	return fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254))
}

// registerEmployer creates the account of an employer and returns an access token.
func (s *server) registerEmployer() string {
	s.b.Helper()
	const account = `{"email":"bench@example.org","password":"Bench-mark-1","name":"B","companyName":"B"}`
	body := s.post(noToken, "/api/auth/register-employer", account, http.StatusCreated)
	var created struct {
		Data struct{ AccessToken string } `json:"data"`
	}
	require.NoError(s.b, json.Unmarshal(body, &created))

	return created.Data.AccessToken
}

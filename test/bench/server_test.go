package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	// ready is the time from the start until GET /readyz succeeded.
	ready time.Duration
	// anonymous and resident are the highest sizes until then in MB. Resident pages
	// include those of the files of the search index, which the kernel can drop;
	// anonymous ones do not.
	anonymous, resident int
}

// serve starts a server and waits until it is ready. env extends and overrides the settings.
func (p *product) serve(env ...string) *server {
	p.b.Helper()
	start := time.Now()
	s := &server{b: p.b, cmd: p.command([]string{"serve"}, env...)}
	s.url = spawn(p.b, s.cmd)
	for !s.isReady() {
		s.anonymous = max(s.anonymous, s.memory("RssAnon"))
		require.Less(p.b, time.Since(start), 20*time.Minute, "the server is not ready")
		time.Sleep(20 * time.Millisecond)
	}
	s.ready = time.Since(start)
	s.anonymous, s.resident = max(s.anonymous, s.memory("RssAnon")), s.memory("VmHWM")
	return s
}

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

// memory returns a line of /proc/PID/status in MB.
func (s *server) memory(line string) int {
	s.b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(s.b, err)
	return int(s.number(status, line+`:\s+(\d+) kB`) / 1024)
}

// cpu returns the processor time that the server has used.
func (s *server) cpu() time.Duration {
	s.b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	require.NoError(s.b, err)
	const tick = 10 * time.Millisecond
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):])) // from the state, the third, on
	user, _ := strconv.Atoi(fields[12])
	system, _ := strconv.Atoi(fields[13])
	return time.Duration(user+system) * tick
}

// heap returns the size of the heap in MB, including garbage.
func (s *server) heap() float64 {
	s.b.Helper()
	_, metrics, err := fasthttp.Get(nil, s.url+"/metrics")
	require.NoError(s.b, err)
	return s.number(metrics, `(?m)^go_memstats_heap_alloc_bytes (\S+)`) / 1e6
}

func (s *server) number(text []byte, pattern string) float64 {
	s.b.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	require.NotNil(s.b, found, pattern)
	n, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(s.b, err)
	return n
}

// post sends a request from a new address and returns the body of its response.
func (s *server) post(token, path, body string, want int) []byte {
	s.b.Helper()
	r, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	r.SetRequestURI(s.url + path)
	r.Header.SetMethod(fasthttp.MethodPost)
	r.Header.SetContentType("application/json")
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), rand.IntN(256)))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.SetBodyString(body)
	err := fasthttp.Do(r, response)
	if err != nil || response.StatusCode() != want {
		s.b.Errorf("%s: %d %s %v", path, response.StatusCode(), response.Body(), err)
	}
	return response.Body()
}

// employer signs up and returns an access token.
func (s *server) employer() string {
	s.b.Helper()
	var out struct {
		Data struct{ AccessToken string } `json:"data"`
	}
	require.NoError(
		s.b,
		json.Unmarshal(
			s.post("", "/api/auth/register-employer",
				`{"email":"bench@example.org","password":"Bench-mark-1","name":"B","companyName":"B"}`, 201),
			&out,
		),
	)
	return out.Data.AccessToken
}

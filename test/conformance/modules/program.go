package modules

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/bootstrap"
)

// Program is a program that serves in this process, with its data in a folder of the test.
type Program struct {
	// URL is the address of the server.
	URL    string
	folder string
	people atomic.Int64
}

// Start starts a program with the options. It ends with the test.
func Start(t testing.TB, options ...bootstrap.Option) *Program {
	t.Helper()
	p := &Program{folder: t.TempDir()}
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	var log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		err := bootstrap.Run(ctx, []string{"serve", "--config", configIn(t, p.folder)}, stdout, &log, options...)
		_ = stdout.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	address := make(chan string, 1)
	go func() {
		defer close(address)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	select {
	case a := <-address:
		require.NotEmpty(t, a, "the program ended")
		p.URL = "http://" + a
	case <-time.After(time.Minute):
		require.FailNow(t, "the program did not start")
	}
	return p
}

var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// configIn writes a configuration with which a program keeps its data in the folder, and
// returns the name of the file.
func configIn(t testing.TB, folder string) string {
	t.Helper()
	settings, err := json.Marshal(map[string]any{ // which is YAML too
		"http":        map[string]any{"addr": "127.0.0.1:0", "drain": "10ms"},
		"database":    map[string]any{"url": "sqlite:" + filepath.Join(folder, "locum.db")},
		"files":       map[string]any{"url": "file:" + filepath.Join(folder, "files")},
		"search":      map[string]any{"url": "embedded:" + filepath.Join(folder, "search")},
		"mail":        map[string]any{"url": "file:" + filepath.Join(folder, "mail")},
		"auth":        map[string]any{"keys": []string{filepath.Join(folder, "keys")}},
		"data_folder": folder,
	})
	require.NoError(t, err)
	name := filepath.Join(folder, "locum.yaml")
	require.NoError(t, os.WriteFile(name, settings, 0o600))
	return name
}

// User is a person with an account.
type User struct {
	Email, Token string
}

// Jobseeker creates an account.
func (p *Program) Jobseeker(t testing.TB) User {
	return p.register(t, "/api/auth/register", map[string]any{"name": "Niamh Byrne", "userType": "jobseeker"})
}

// Employer creates an account with an organization, which it owns.
func (p *Program) Employer(t testing.TB) User {
	return p.register(t, "/api/auth/register-employer", map[string]any{"name": "Asha Patel", "companyName": "St Brigid's Hospital"})
}

func (p *Program) register(t testing.TB, path string, body map[string]any) User {
	t.Helper()
	u := User{Email: fmt.Sprintf("person%d@example.org", p.people.Add(1))}
	body["email"], body["password"] = u.Email, "Correct-horse-7"
	answer := p.Call(t, http.MethodPost, path, User{}, body)
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	u.Token, _ = answer.Data(t)["accessToken"].(string)
	return u
}

// Answer is the response to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Data returns the data of a success.
func (a Answer) Data(t testing.TB) map[string]any {
	t.Helper()
	var envelope struct {
		Data map[string]any `json:"data"`
	}
	require.NoError(t, json.Unmarshal(a.Body, &envelope), "%s", a.Body)
	return envelope.Data
}

// Call sends a request with the body as JSON, in the name of the user if it has a token.
func (p *Program) Call(t testing.TB, method, path string, by User, body any) Answer {
	t.Helper()
	content, err := json.Marshal(body)
	require.NoError(t, err)
	return p.send(t, method, path, by, content)
}

func (p *Program) send(t testing.TB, method, path string, by User, body []byte) Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	if by.Token != "" {
		r.Header.Set("Authorization", "Bearer "+by.Token)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return Answer{response.StatusCode, response.Header, content}
}

// Mail waits for a message to the user that contains the text.
func (p *Program) Mail(t testing.TB, to User, text string) (message string) {
	t.Helper()
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(p.folder, "mail", "*"))
		require.NoError(t, err)
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err == nil && strings.Contains(string(content), to.Email) && strings.Contains(string(content), text) {
				message = string(content)
				return true
			}
		}
		return false
	}, 30*time.Second, 20*time.Millisecond, "no mail to %s", to.Email)
	return message
}

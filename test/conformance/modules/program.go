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

// Database returns the URL of an empty database.
type Database func(t testing.TB) string

// SQLite is a Database in a file.
func SQLite(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "locum.db") }

// Program is a program that serves in this process, with its files in a folder of the test.
type Program struct {
	// URL is the address of the server.
	URL      string
	folder   string       // contains the files of the program
	accounts atomic.Int64 // counts the registered accounts, for their addresses
}

// Start applies the migrations and starts a program with the options. It returns when the program serves. The program
// ends with the test.
func Start(t testing.TB, database Database, options ...bootstrap.Option) *Program {
	t.Helper()

	program := &Program{folder: t.TempDir()}
	config := configIn(t, program.folder, database(t))
	migrate := []string{"migrate", "up", "--config", config}
	require.NoError(t, bootstrap.Run(t.Context(), migrate, io.Discard, io.Discard, options...))

	// The program runs until the end of the test, and writes what it prints to the pipe.
	ctx, cancel := context.WithCancel(context.Background())
	output, stdout := io.Pipe()
	var log bytes.Buffer

	ended := make(chan error, 1)
	go func() {
		err := bootstrap.Run(ctx, []string{"serve", "--config", config}, stdout, &log, options...)
		_ = stdout.CloseWithError(io.EOF)
		ended <- err
	}()

	t.Cleanup(func() {
		cancel()

		err := <-ended

		if t.Failed() {
			t.Log(log.String())
		}

		require.NoError(t, err)
	})

	// Read the whole output, so that the program never waits. The address is empty if the program ends
	// before it listens.
	address := make(chan string, 1)
	go func() {
		defer close(address)

		for lines := bufio.NewScanner(output); lines.Scan(); {
			if match := listening.FindStringSubmatch(lines.Text()); match != nil {
				address <- match[1]
			}
		}
	}()

	select {
	case listeningAddress := <-address:
		require.NotEmpty(t, listeningAddress, "the program ended")

		program.URL = "http://" + listeningAddress
	case <-time.After(time.Minute):
		require.FailNow(t, "the program did not start")
	}

	return program
}

// listening matches the address in the line that the program prints when it is ready.
var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// configIn writes a configuration with which a program keeps its files in the folder, and
// returns the name of the file.
func configIn(t testing.TB, folder, databaseURL string) string {
	t.Helper()

	// The configuration is YAML, of which JSON is a subset. The system chooses a free port.
	settings, err := json.Marshal(map[string]any{
		"http":        map[string]any{"addr": "127.0.0.1:0", "drain": "10ms"},
		"database":    map[string]any{"url": databaseURL},
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

// User is a user with an account, or an app that acts for a user.
type User struct {
	Email string
	// Token is the access token of a session, and Key the API key of an app.
	Token, Key string
}

// Jobseeker creates an account.
func (p *Program) Jobseeker(t testing.TB) User {
	return p.register(t, "/api/auth/register", map[string]any{"name": "Niamh Byrne", "userType": "jobseeker"})
}

// Employer creates an account with an organization, which it owns.
func (p *Program) Employer(t testing.TB) User {
	return p.register(t, "/api/auth/register-employer",
		map[string]any{"name": "Asha Patel", "companyName": "St Brigid's Hospital"})
}

// register creates an account with a new address.
func (p *Program) register(t testing.TB, path string, body map[string]any) User {
	t.Helper()

	guest := User{}
	user := User{Email: fmt.Sprintf("person%d@example.org", p.accounts.Add(1))}
	body["email"], body["password"] = user.Email, "Correct-horse-7"
	answer := p.Call(t, http.MethodPost, path, guest, body)
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)

	user.Token, _ = answer.Data(t)["accessToken"].(string)

	return user
}

// App creates an app of the owner with an API key, for the developer API.
func (p *Program) App(t testing.TB, owner User) User {
	t.Helper()

	created := p.Call(t, http.MethodPost, "/api/developers/apps", owner, map[string]any{"name": "Ward Finder"})
	appID := created.Data(t)["app"].(map[string]any)["id"].(string)

	keys := "/api/developers/apps/" + appID + "/keys"
	createdKey := p.Call(t, http.MethodPost, keys, owner, map[string]any{"name": "test"})

	return User{Email: owner.Email, Key: createdKey.Data(t)["apiKey"].(string)}
}

// Answer is the response to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Data returns the member data of the JSON body, which successful answers have.
func (a Answer) Data(t testing.TB) map[string]any {
	t.Helper()
	var envelope struct {
		Data map[string]any `json:"data"`
	}
	require.NoError(t, json.Unmarshal(a.Body, &envelope), "%s", a.Body)

	return envelope.Data
}

// Call sends a request with the body as JSON, with the credentials of the user.
func (p *Program) Call(t testing.TB, method, path string, by User, body any) Answer {
	t.Helper()

	content, err := json.Marshal(body)
	require.NoError(t, err)

	return p.send(t, method, path, by, content)
}

// send sends a request with the body as it is, which need not be JSON, with the credentials of the user.
func (p *Program) send(t testing.TB, method, path string, by User, body []byte) Answer {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")

	if by.Token != "" {
		request.Header.Set("Authorization", "Bearer "+by.Token)
	}

	if by.Key != "" {
		request.Header.Set("X-API-Key", by.Key)
	}

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	return Answer{Status: response.StatusCode, Header: response.Header, Body: content}
}

// Mail waits for a message to the user that contains the text, and returns it. The program writes each message to a file.
func (p *Program) Mail(t testing.TB, to User, text string) (message string) {
	t.Helper()
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(p.folder, "mail", "*"))
		require.NoError(t, err)

		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				continue // the next try reads it
			}

			message = string(content)
			if strings.Contains(message, to.Email) && strings.Contains(message, text) {
				return true
			}
		}

		return false
	}, 30*time.Second, 20*time.Millisecond, "no mail to %s contains %q", to.Email, text)

	return message
}

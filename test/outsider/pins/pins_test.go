package pins_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/outsider/pins"
	"github.com/locumhq/locum/bootstrap"
	"github.com/locumhq/locum/test/conformance/modules"
)

// TestModule_Conformance runs the suite for modules of other teams.
func TestModule_Conformance(t *testing.T) {
	t.Parallel()
	modules.Module(t, pins.Module, modules.SQLite)
}

// getPins returns the response with the jobs that the user has pinned, as text.
func getPins(t *testing.T, p *modules.Program, by modules.User) string {
	t.Helper()

	response := p.Call(t, http.MethodGet, "/api/pins", by, nil)
	require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)

	return string(response.Body)
}

// TestPins_MainJob checks the module as users use it: pins with notes that only their owner
// sees, the page and the route that count them, and an e-mail to each owner when the job is
// deleted.
func TestPins_MainJob(t *testing.T) {
	t.Parallel()

	program := modules.Start(t, modules.SQLite, bootstrap.WithModule(pins.Module))
	employer := program.Employer(t)
	user := program.Jobseeker(t)
	otherUser := program.Jobseeker(t)
	post := func(title string) string {
		return program.Call(t, http.MethodPost, "/api/employers/jobs", employer, map[string]any{
			"title":       title,
			"description": "Days and nights.",
		}).Data(t)["id"].(string)
	}

	pin := func(jobID string, by modules.User, input map[string]any) (status int) {
		return program.Call(t, http.MethodPut, "/api/pins/"+jobID, by, input).Status
	}

	unpin := func(jobID string, by modules.User) (status int) {
		return program.Call(t, http.MethodDelete, "/api/pins/"+jobID, by, nil).Status
	}

	// page returns the public page with the popular jobs.
	page := func() string {
		guest := modules.User{}
		return string(program.Call(t, http.MethodGet, "/pins", guest, nil).Body)
	}

	job, otherJob := post("Theatre Nurse"), post("Ward Clerk")
	const unknownJob = "01900000-0000-7000-8000-000000000000"
	noNote := map[string]any{}

	// Pins of two users.
	require.Equal(t, http.StatusOK, pin(job, user, map[string]any{"note": "ask about nights"}))
	require.Equal(t, http.StatusOK, pin(otherJob, user, noNote))
	require.Equal(t, http.StatusOK, pin(job, otherUser, noNote))
	require.Equal(t, http.StatusBadRequest, pin(job, user, map[string]any{"note": 1}), "not a text")
	require.Equal(t, http.StatusNotFound, pin(unknownJob, user, noNote))
	require.Contains(t, getPins(t, program, user), "ask about nights")
	require.NotContains(t, getPins(t, program, otherUser), "ask about nights", "only the owner sees a pin")

	// The developer API and the page count the pins.
	popular := program.Call(t, http.MethodGet, "/v1/pins/popular", program.App(t, otherUser), nil)
	require.Contains(t, string(popular.Body), `"pins":2`)
	require.Regexp(t, "Theatre Nurse</a> \\(2\\)", page())

	require.Equal(t, http.StatusOK, unpin(otherJob, user))
	require.Equal(t, http.StatusNotFound, unpin(otherJob, user), "removed already")

	// The employer deletes the job.
	deleted := program.Call(t, http.MethodDelete, "/api/employers/jobs/"+job, employer, nil)
	require.Equal(t, http.StatusOK, deleted.Status)
	program.Mail(t, user, "Theatre Nurse")
	program.Mail(t, otherUser, "Theatre Nurse")
	require.Contains(t, getPins(t, program, user), `"pins":[]`)
	require.NotContains(t, page(), "Theatre Nurse")
}

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

// pinned returns the body of the jobs that the user has pinned.
func pinned(t *testing.T, p *modules.Program, by modules.User) string {
	t.Helper()
	answer := p.Call(t, http.MethodGet, "/api/pins", by, nil)
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	return string(answer.Body)
}

// TestPins_MainJob checks the module as users use it: pins with notes that only their owner
// sees, the page and the route that count them, and an e-mail to each owner when the job is
// deleted.
func TestPins_MainJob(t *testing.T) {
	t.Parallel()
	p := modules.Start(t, modules.SQLite, bootstrap.WithModule(pins.Module))
	employer := p.Employer(t)
	one := p.Jobseeker(t)
	other := p.Jobseeker(t)
	post := func(title string) string {
		return p.Call(t, http.MethodPost, "/api/employers/jobs", employer, map[string]any{
			"title":       title,
			"description": "Days and nights.",
		}).Data(t)["id"].(string)
	}
	job, second := post("Theatre Nurse"), post("Ward Clerk")

	require.Equal(t, http.StatusOK,
		p.Call(t, http.MethodPut, "/api/pins/"+job, one, map[string]any{"note": "ask about nights"}).Status)
	require.Equal(t, http.StatusOK, p.Call(t, http.MethodPut, "/api/pins/"+second, one, map[string]any{}).Status)
	require.Equal(t, http.StatusOK, p.Call(t, http.MethodPut, "/api/pins/"+job, other, map[string]any{}).Status)
	require.Equal(t, http.StatusBadRequest,
		p.Call(t, http.MethodPut, "/api/pins/"+job, one, map[string]any{"note": 1}).Status)
	require.Equal(t, http.StatusNotFound,
		p.Call(t, http.MethodPut, "/api/pins/01900000-0000-7000-8000-000000000000", one, map[string]any{}).Status)
	require.Contains(t, pinned(t, p, one), "ask about nights")
	require.NotContains(t, pinned(t, p, other), "ask about nights", "a pin is its owner's")
	popular := p.Call(t, http.MethodGet, "/v1/pins/popular", p.App(t, other), nil)
	require.Contains(t, string(popular.Body), `"pins":2`)
	require.Regexp(t, "Theatre Nurse</a> \\(2\\)", string(p.Call(t, http.MethodGet, "/pins", modules.User{}, nil).Body))

	require.Equal(t, http.StatusOK, p.Call(t, http.MethodDelete, "/api/pins/"+second, one, nil).Status)
	require.Equal(t, http.StatusNotFound, p.Call(t, http.MethodDelete, "/api/pins/"+second, one, nil).Status)

	require.Equal(t, http.StatusOK, p.Call(t, http.MethodDelete, "/api/employers/jobs/"+job, employer, nil).Status)
	p.Mail(t, one, "Theatre Nurse")
	p.Mail(t, other, "Theatre Nurse")
	require.Contains(t, pinned(t, p, one), `"pins":[]`)
	require.NotContains(t, string(p.Call(t, http.MethodGet, "/pins", modules.User{}, nil).Body), "Theatre Nurse")
}

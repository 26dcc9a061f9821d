package e2e

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPortal_OrganizationKeyBesideToken_Accepted checks the routes for listings that accept an
// API key beside the token of a user: a key of the same organization is accepted, any other is
// refused, and the key alone does not suffice.
func TestPortal_OrganizationKeyBesideToken_Accepted(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		job := boss.listing(nil)
		member := server.addMember(t, boss, nil)

		with := func(key string) *client { return boss.fromNewAddress().withKey(key) }
		for _, key := range []string{boss.program().apiKey, member.program().apiKey, ""} {
			with(key).patch("/api/listings/"+job, object{"meta": object{"a": 1}}).ok(200)
			with(key).put("/api/listings/batch", []object{{"uuid": job, "meta": object{"a": 2}}}).ok(200)
			with(key).post("/api/listings/"+job+"/archive", nil).ok(200)
			boss.fromNewAddress().delete("/api/employers/jobs/" + job).ok(200)
			with(key).post("/api/listings/"+job+"/restore", nil).ok(200)
		}

		for _, key := range []string{server.employer(t).program().apiKey, server.seeker(t).program().apiKey, "nonsense"} {
			with(key).patch("/api/listings/"+job, object{"meta": object{"a": 1}}).fails(401, "Unauthorized")
			with(key).put("/api/listings/batch", []object{{"uuid": job, "meta": object{"a": 2}}}).fails(401, "Unauthorized")
			with(key).post("/api/listings/"+job+"/archive", nil).fails(401, "Unauthorized")
			with(key).post("/api/listings/"+job+"/restore", nil).fails(401, "Unauthorized")
		}

		alone := server.guest(t).withKey(boss.program().apiKey)
		alone.patch("/api/listings/"+job, object{"meta": object{"a": 1}}).fails(401, "Unauthorized")
	})
}

// TestJobPage checks the public page of a job: its text and its structured data (schema.org
// JobPosting) for search engines contain an employer's input as text only.
func TestJobPage(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)

		// It would end the script element of the structured data.
		const wicked = `</script><script>alert(1)</script><img src=x onerror=alert(1)>`
		job := boss.listing(
			object{
				"title":               "Nurse " + wicked,
				"description":         "First\n\n" + wicked,
				"location":            "Leeds",
				"salary":              object{"min": 36000, "currency": "GBP"},
				"requirements":        []string{wicked},
				"applicationDeadline": "2099-03-01",
			},
		)
		guest := server.guest(t)
		page := guest.try("GET", "/jobs/"+job, nil)
		require.Equal(t, 200, page.status)
		require.Contains(t, page.header.Get("Content-Type"), "text/html")
		require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")

		text := string(page.raw)
		require.NotContains(t, text, "<img")
		require.NotContains(t, text, "<script>alert")

		for _, want := range []string{
			"Nurse &lt;/script&gt;", "St Brigid&#39;s Hospital", "Leeds", "£36,000 a year",
			"1 March 2099", "<p>First</p>",
		} {
			require.Contains(t, text, want)
		}

		data := regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`).FindStringSubmatch(text)
		require.Len(t, data, 2)
		var posting object
		require.NoError(t, json.Unmarshal([]byte(data[1]), &posting), data[1])
		require.Equal(t, "JobPosting", posting["@type"])
		require.Equal(t, "Nurse "+wicked, posting["title"])
		require.NotRegexp(t, "<(img|script|/script)", posting["description"])

		for _, missing := range []string{"nonsense", boss.id, boss.listing(object{"status": "draft"})} {
			none := guest.try("GET", "/jobs/"+missing, nil)
			require.Equal(t, 404, none.status)
			require.Contains(t, string(none.raw), "Job not found")
		}
	})
}

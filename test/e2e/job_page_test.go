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
		admin := server.employer(t)
		member := server.addMember(t, admin, nil)
		job := admin.listing(nil)
		path := "/api/listings/" + job

		// withTokenAnd returns a client with the admin's token and the key.
		withTokenAnd := func(key string) *client { return admin.fromNewAddress().withKey(key) }

		// A key of each of two members, and none.
		for _, key := range []string{admin.program().apiKey, member.program().apiKey, ""} {
			withTokenAnd(key).patch(path, object{"meta": object{"a": 1}}).ok(200)
			withTokenAnd(key).put("/api/listings/batch", []object{{"uuid": job, "meta": object{"a": 2}}}).ok(200)
			withTokenAnd(key).post(path+"/archive", nil).ok(200)
			admin.fromNewAddress().delete("/api/employers/jobs/" + job).ok(200)
			withTokenAnd(key).post(path+"/restore", nil).ok(200)
		}

		// Keys of other users, and no key at all.
		for _, key := range []string{server.employer(t).program().apiKey, server.seeker(t).program().apiKey, "nonsense"} {
			withTokenAnd(key).patch(path, object{"meta": object{"a": 1}}).fails(401, "Unauthorized")
			withTokenAnd(key).put("/api/listings/batch", []object{{"uuid": job, "meta": object{"a": 2}}}).fails(401, "Unauthorized")
			withTokenAnd(key).post(path+"/archive", nil).fails(401, "Unauthorized")
			withTokenAnd(key).post(path+"/restore", nil).fails(401, "Unauthorized")
		}

		keyAlone := server.guest(t).withKey(admin.program().apiKey)
		keyAlone.patch(path, object{"meta": object{"a": 1}}).fails(401, "Unauthorized")
	})
}

// maliciousText as markup would end the script element of the structured data of a page, and begin another one.
const maliciousText = `</script><script>alert(1)</script><img src=x onerror=alert(1)>`

// TestJobPage checks the public page of a job: its text and its structured data (schema.org
// JobPosting) for search engines contain an employer's input as text only.
func TestJobPage(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		job := employer.listing(object{
			"title":               "Nurse " + maliciousText,
			"description":         "First\n\n" + maliciousText,
			"location":            "Leeds",
			"salary":              object{"min": 36000, "currency": "GBP"},
			"requirements":        []string{maliciousText},
			"applicationDeadline": "2099-03-01",
		})

		guest := server.guest(t)
		page := guest.try("GET", "/jobs/"+job, nil)
		require.Equal(t, 200, page.status)

		html := string(page.raw)

		t.Run("page contains the employer's text, and no elements made of it", func(t *testing.T) {
			require.Contains(t, page.header.Get("Content-Type"), "text/html")
			require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
			requireContainsAll(t, html,
				"Nurse &lt;/script&gt;", "St Brigid&#39;s Hospital", "Leeds", "£36,000 a year",
				"1 March 2099", "<p>First</p>")
			require.NotContains(t, html, "<img")
			require.NotContains(t, html, "<script>alert")
		})

		t.Run("structured data is JSON, whose description is HTML with the text escaped", func(t *testing.T) {
			match := regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`).FindStringSubmatch(html)
			require.Len(t, match, 2)

			structuredData := match[1]
			var posting object
			require.NoError(t, json.Unmarshal([]byte(structuredData), &posting), structuredData)
			require.Equal(t, "JobPosting", posting["@type"])
			require.Equal(t, "Nurse "+maliciousText, posting["title"])
			require.NotRegexp(t, "<(img|script|/script)", posting["description"])
		})

		t.Run("job that is not public or does not exist", func(t *testing.T) {
			for name, missing := range map[string]string{
				"no id":        "nonsense",
				"id of a user": employer.id,
				"draft":        employer.listing(object{"status": "draft"}),
			} {
				notFound := guest.try("GET", "/jobs/"+missing, nil)
				require.Equal(t, 404, notFound.status, name)
				require.Contains(t, string(notFound.raw), "Job not found", name)
			}
		})
	})
}

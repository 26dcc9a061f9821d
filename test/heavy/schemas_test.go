package heavy

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestSchemas_Site validates what the site publishes for search engines, feed readers and job
// aggregators. For each kind of document, a broken one must be refused.
func TestSchemas_Site(t *testing.T) {
	node := kit.Tool(t, "node")
	server := demoSite(t)
	tools := newNPMPackage(t, server, "../schemas")
	get := func(path string) string {
		response, err := http.Get(server.url + path)
		require.NoError(t, err)

		defer func() { _ = response.Body.Close() }()

		require.Equal(t, http.StatusOK, response.StatusCode, path)

		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)

		return string(body)
	}

	index := get("/sitemap.xml")
	part := regexp.MustCompile(`<loc>` + server.url + `(/sitemaps/[^<]+)</loc>`).FindStringSubmatch(index)
	require.NotNil(t, part)

	// A document in which valid is replaced by broken must be refused.
	for name, kind := range map[string]struct{ schema, document, valid, broken string }{
		"sitemap index": {schema: "siteindex.xsd", document: index, valid: "<loc>http", broken: "<loc/><loc>http"},
		"sitemap": {
			schema:   "node_modules/sitemap/schema/sitemap.xsd",
			document: get(part[1]),
			valid:    "<lastmod>2",
			broken:   "<lastmod>yesterday 2",
		},
		"Atom feed": {
			schema:   "atom.rng",
			document: get("/feeds/jobs.atom?q=nurse"),
			valid:    "<author>",
			broken:   "<author><name/>",
		},
		"job feed": {
			schema:   "jobs.xsd",
			document: get("/feeds/jobs.xml"),
			valid:    "<url>",
			broken:   "<url>ftp",
		},
	} {
		t.Run(name, func(t *testing.T) {
			validate := func(document string) (string, error) {
				const file = "document.xml"
				require.NoError(t, os.WriteFile(filepath.Join(tools.dir, file), []byte(document), 0o600))

				cmd := exec.CommandContext(t.Context(), node, "validate.mjs", kind.schema, file)
				cmd.Dir = tools.dir
				out, err := cmd.CombinedOutput()

				return string(out), err
			}

			out, err := validate(kind.document)
			require.NoError(t, err, out)
			require.Contains(t, kind.document, kind.valid)

			out, err = validate(strings.Replace(kind.document, kind.valid, kind.broken, 1))
			require.Error(t, err)
			require.Regexp(t, "document.xml:[0-9]+:.*error", out)
		})
	}

	t.Run("structured data", func(t *testing.T) {
		validatePostings(t, &npmPackage{
			t:      t,
			server: server,
			dir:    tools.dir,
		}, get)
	})
}

// validatePostings checks the structured data of jobs with the TypeScript compiler, against the
// types of schema.org and the properties that Google requires.
func validatePostings(t *testing.T, tools *npmPackage, get func(path string) string) {
	t.Helper()

	jobs := regexp.MustCompile(`/jobs/[0-9a-f-]{36}/[a-z0-9-]+`).FindAllString(get("/sitemaps/jobs-first.xml"), 50)
	require.Len(t, jobs, 50)

	program := []string{`import type { GooglePosting, SchemaPosting } from "./posting.js";`}

	posting := ""
	for _, job := range jobs {
		data := regexp.MustCompile(`<script type="application/ld\+json">(.*)</script>`).FindStringSubmatch(get(job))
		require.NotNil(t, data, job)

		posting = data[1]
		program = append(program, "("+posting+") satisfies SchemaPosting;", "("+posting+") satisfies GooglePosting;")
	}

	program = append(
		program,
		"// @ts-expect-error: schema.org has no such property",
		strings.Replace("("+posting+") satisfies SchemaPosting;", `"title"`, `"jobName"`, 1),
		"// @ts-expect-error: Google requires a time",
		strings.Replace("("+posting+") satisfies GooglePosting;", `"datePosted":"2`, `"datePosted":"yesterday, 2`, 1),
	)
	require.NoError(t, os.WriteFile(filepath.Join(tools.dir, "postings.ts"), []byte(strings.Join(program, "\n")),
		0o600))
	tools.run(
		"node_modules/.bin/tsc",
		"--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck",
		"postings.ts",
	)
}

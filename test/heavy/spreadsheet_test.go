package heavy

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestExport_Spreadsheet_ShowsTextAndRunsNothing checks that LibreOffice finds no formula in an
// export whose titles are formulas in several notations (CSV injection), and shows all other
// texts unchanged. The exported file is the newest job first.
func TestExport_Spreadsheet_ShowsTextAndRunsNothing(t *testing.T) {
	skipUnlessHeavy(t)

	office := kit.LibreOffice(t)
	t.Setenv("LOCUM_HTTP_TRUSTED_PROXIES", "127.0.0.1/32")

	server := &alertServer{testServer: newTestServer(t)}
	server.up()

	t.Cleanup(func() {
		_ = server.cmd.Process.Kill()
		_ = server.cmd.Wait()
	})

	server.token = server.call("POST", "/api/auth/register-employer", map[string]any{
		"email":       "boss@example.org",
		"password":    "Corr3ct-horse",
		"name":        "Boss",
		"companyName": "Zoë’s, \"Ward\"",
	})["accessToken"].(string)
	titles := []string{
		"=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "=HYPERLINK(\"http://127.0.0.1/\",\"x\")", "＝1+1", "=1+1", "|calc", "%0A=1",
		"Nurse, \"theatre\"", "Pflegekraft – Übergänge", "看護師", "Nurse; band 5", "'quoted", "12345678901234567890", "007", "1e5", "true", "2026-11-20",
	}

	var jobs []map[string]any
	for _, title := range titles {
		jobs = append(
			jobs,
			map[string]any{
				"title":       title,
				"description": "Days.",
				"department":  title,
				"location":    "Leeds",
				"salary":      map[string]any{"min": 31000.5, "max": 40000},
			},
		)
	}

	server.call("POST", "/api/employers/jobs/batch", map[string]any{"jobs": jobs})

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/api/employers/jobs/export",
		nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+server.token)

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	written, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	require.NoError(t, err)
	require.Len(t, written, len(titles)+1)

	path := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(path, raw, 0o600))

	sheet, err := office.Convert(path, "fods")
	require.NoError(t, err)

	rows := readCells(t, sheet)
	require.Len(t, rows, len(written))
	require.Equal(t, written[0], rows[0])

	for i, row := range written[1:] {
		// Texts are compared exactly; numbers may be formatted.
		for _, column := range []int{0, 3, 4} {
			require.Equal(t, row[column], rows[i+1][column])
		}

		title := titles[len(titles)-1-i]

		// A formula gets a quote before it. Spreadsheets show numbers, dates and truth values in
		// their own format.
		require.Contains(t, []string{title, "'" + title}, row[1])

		if !strings.ContainsAny(title[:1], "0123456789t") {
			require.Equal(t, row[1], rows[i+1][1])
		}

		require.Equal(t, "31000.5", rows[i+1][7])
	}
}

// readCells returns the cells of a flat OpenDocument spreadsheet as texts, and requires that
// none of them has a formula.
func readCells(t *testing.T, path string) (rows [][]string) {
	t.Helper()

	f, err := os.Open(path)
	require.NoError(t, err)

	defer func() { _ = f.Close() }()

	text := ""
	inCell := false
	repeated := 1

	var row []string
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return rows
		}

		require.NoError(t, err)

		switch e := token.(type) {
		case xml.StartElement:
			for _, a := range e.Attr {
				require.NotEqual(t, "formula", a.Name.Local, "%v", e)
			}

			switch e.Name.Local {
			case "table-row":
				row = nil
			case "table-cell":
				text = ""
				inCell = true

				repeated = 1
				for _, a := range e.Attr {
					if a.Name.Local == "number-columns-repeated" && len(a.Value) < 3 {
						repeated = int(a.Value[0] - '0') // a few equal cells in a row are written once
					}
				}
			case "s":
				text += " "
			}
		case xml.CharData:
			if inCell {
				text += strings.Trim(string(e), "\n")
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "table-cell":
				for range repeated {
					row = append(row, strings.TrimSpace(text))
				}

				inCell = false
			case "table-row":
				if len(row) > 1 {
					rows = append(rows, row)
				}
			}
		}
	}
}

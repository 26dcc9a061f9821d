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
// texts unchanged. The export begins with the newest job, which has the last title.
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
		// Formulas and texts that could become one.
		"=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "=HYPERLINK(\"http://127.0.0.1/\",\"x\")", "＝1+1", "=1+1",
		"|calc", "%0A=1",
		// Texts with separators, quotes and characters of other scripts.
		"Nurse, \"theatre\"", "Pflegekraft – Übergänge", "看護師", "Nurse; band 5", "'quoted",
		// Texts that look like numbers, a truth value and a date.
		"12345678901234567890", "007", "1e5", "true", "2026-11-20",
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

	// Download the export and convert it, so that LibreOffice imports it as a user does.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/api/employers/jobs/export",
		nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+server.token)

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	exported, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	require.NoError(t, err)
	require.Len(t, exported, 1+len(titles), "a header and a row for each job")

	path := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(path, raw, 0o600))

	sheet, err := office.Convert(path, "fods")
	require.NoError(t, err)

	shown := readCells(t, sheet)
	require.Len(t, shown, len(exported))
	require.Equal(t, exported[0], shown[0], "the header")

	const idColumn, titleColumn, companyColumn, locationColumn, salaryMinColumn = 0, 1, 3, 4, 7

	for i := range titles {
		exportedRow, shownRow := exported[1+i], shown[1+i]
		for _, column := range []int{idColumn, companyColumn, locationColumn} {
			require.Equal(t, exportedRow[column], shownRow[column])
		}

		// A formula is exported with a quote before it.
		title := titles[len(titles)-1-i]
		require.Contains(t, []string{title, "'" + title}, exportedRow[titleColumn])

		// Spreadsheets show numbers, dates and truth values in their own format.
		isNumberDateOrTruthValue := strings.ContainsAny(title[:1], "0123456789t")
		if !isNumberDateOrTruthValue {
			require.Equal(t, exportedRow[titleColumn], shownRow[titleColumn])
		}

		require.Equal(t, "31000.5", shownRow[salaryMinColumn])
	}
}

// readCells returns the cells of a flat OpenDocument spreadsheet (an XML file) as texts, and
// requires that none of them has a formula.
func readCells(t *testing.T, path string) (rows [][]string) {
	t.Helper()

	file, err := os.Open(path)
	require.NoError(t, err)

	defer func() { _ = file.Close() }()

	// The row and the cell that the decoder is in.
	var row []string
	var text string
	isInCell := false
	repetitions := 1 // a few equal cells side by side are written once

	decoder := xml.NewDecoder(file)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return rows
		}

		require.NoError(t, err)

		switch token := token.(type) {
		case xml.StartElement:
			for _, attribute := range token.Attr {
				require.NotEqual(t, "formula", attribute.Name.Local, "%v", token)
			}

			switch token.Name.Local {
			case "table-row":
				row = nil
			case "table-cell":
				text = ""
				isInCell = true
				repetitions = repetitionsOf(token)
			case "s": // a space
				text += " "
			}
		case xml.CharData:
			if isInCell {
				text += strings.Trim(string(token), "\n")
			}
		case xml.EndElement:
			switch token.Name.Local {
			case "table-cell":
				for range repetitions {
					row = append(row, strings.TrimSpace(text))
				}

				isInCell = false
			case "table-row":
				if len(row) > 1 { // else an empty row, which is a single cell
					rows = append(rows, row)
				}
			}
		}
	}
}

// repetitionsOf returns how many cells the element stands for. The empty cells after the last column, of which there are
// a hundred or more, count as one.
func repetitionsOf(cell xml.StartElement) int {
	for _, attribute := range cell.Attr {
		if attribute.Name.Local == "number-columns-repeated" && len(attribute.Value) < 3 {
			return int(attribute.Value[0] - '0') // an export has no more than nine equal cells side by side
		}
	}

	return 1
}

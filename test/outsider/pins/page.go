package pins

import (
	"bytes"
	"html/template"
	"net/http"

	"github.com/locumhq/locum/adapters/web"
)

// page lists the jobs that most jobseekers have pinned in the last week.
type page struct{ Service }

var pageTemplate = template.Must(template.New("pins").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Most pinned jobs</title></head>
<body><h1>Most pinned jobs</h1><ol>{{range .}}<li><a href="/jobs/{{.ListingID}}">{{.Title}}</a> ({{.Pins}})</li>{{end}}</ol></body></html>
`))

// ServeHTTP implements http.Handler.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}

	jobs, err := p.Popular(r.Context())

	var body bytes.Buffer
	if err == nil {
		err = pageTemplate.Execute(&body, jobs)
	}

	if err != nil {
		web.ReportFault(r.Context(), err)
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return
	}

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")

	_, _ = w.Write(body.Bytes())
}

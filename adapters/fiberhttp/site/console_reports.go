package site

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

var (
	interviewsPage = pages.Parse(files, "html/console-interviews.html", "html/console-parts.html")
	analyticsPage  = pages.Parse(files, "html/console-analytics.html", "html/console-parts.html")
	exportsPage    = pages.Parse(files, "html/console-exports.html", "html/console-parts.html")
	exportPage     = pages.Parse(files, "html/console-export.html", "html/console-parts.html")
)

// interviewsView is the list of an organization's interviews.
type interviewsView struct {
	Status string
	States []countLink
	Rows   []interviewRow
	Next   string
}

// interviewRow is a line of the list of interviews.
type interviewRow struct {
	hiring.View
	State badge
}

// interviews shows the interviews of one status, or of all. The next interview is the first.
func (s *Site) interviews(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v := interviewsView{Status: c.Query("status")}
	r := page.Request{Number: max(1, c.QueryInt("page", 1)), Size: consolePageSize, Cursor: c.Query("after"), WithoutTotal: true}

	interviews, err := s.services.Hiring.InterviewsByDate(ctx, viewer.Actor(), hiring.InterviewStatus(v.Status), r)
	if err != nil {
		return err
	}

	for _, i := range interviews.Items {
		row := interviewRow{i, badge{Text: interviewText(i.Interview)}}
		if i.Interview.Status == hiring.Cancelled {
			row.State.Look = "bad"
		}

		v.Rows = append(v.Rows, row)
	}

	switch {
	case interviews.NextCursor != "":
		v.Next = withQuery("/employer/interviews", "status", v.Status, "after", interviews.NextCursor)
	case r.Cursor == "" && r.Number*r.Size < interviews.Total:
		v.Next = withQuery("/employer/interviews", "status", v.Status, "page", strconv.Itoa(r.Number+1))
	}

	// The links show no counts.
	v.States = []countLink{{Value: "", Label: "All", Path: "/employer/interviews", Current: v.Status == ""}}
	for _, status := range hiring.InterviewStatuses {
		v.States = append(
			v.States,
			countLink{
				Value:   string(status),
				Label:   interviewTexts[status],
				Path:    withQuery("/employer/interviews", "status", string(status)),
				Current: v.Status == string(status),
			},
		)
	}

	return s.renderer.Render(c, fiber.StatusOK, interviewsPage, viewer, v)
}

// The sizes of a chart, in SVG units.
const (
	chartWidth  = 600
	chartHeight = 180 // of the tallest bar with its number
	chartTop    = 24  // room for the numbers above the bars
	chartBottom = 24  // room for the labels below the bars
)

// chart is a bar chart, and a table with the same numbers.
type chart struct {
	Title, Column string
	Width, Height int
	Bars          []bar
	Total         int
}

// bar is a bar of a chart.
type bar struct {
	Label               string
	N                   int
	X, Y, Width, Height int
}

// Middle is the horizontal centre of the bar.
func (b bar) Middle() int { return b.X + b.Width/2 }

// Above is the position of the number above the bar.
func (b bar) Above() int { return b.Y - 6 }

// Below is the position of the label below the bar.
func (b bar) Below() int { return chartHeight + chartBottom - 7 }

// newChart returns a chart with a bar for each count. column is the heading of the labels in
// the table.
func newChart(title, column string, counts []countLink) chart {
	c := chart{Title: title, Column: column, Width: chartWidth, Height: chartHeight + chartBottom}

	maxCount := 1
	for _, k := range counts {
		maxCount = max(maxCount, k.N)
		c.Total += k.N
	}

	const gap = 8 // between two bars

	slot := chartWidth / max(len(counts), 1) // the width of a bar and its gap
	for i, k := range counts {
		b := bar{Label: k.Label, N: k.N, X: i*slot + gap/2, Width: slot - gap, Height: k.N * (chartHeight - chartTop) / maxCount}
		if k.N > 0 {
			b.Height = max(b.Height, 2) // visible even beside much larger counts
		}

		b.Y = chartHeight - b.Height
		c.Bars = append(c.Bars, b)
	}

	return c
}

// chartWeeks is the number of weeks of the chart of received applications.
const chartWeeks = 12

// analytics shows the numbers of the organization as charts.
func (s *Site) analytics(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor := viewer.Actor()

	jobs, err := s.jobCounts(ctx, actor, noStatus)
	if err != nil {
		return err
	}

	applications, err := s.applicationCounts(ctx, actor, allJobs, noStatus)
	if err != nil {
		return err
	}

	weeks, err := s.weeklyApplications(ctx, actor, s.now())
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, analyticsPage, viewer, []chart{
		newChart(fmt.Sprintf("Applications received in the last %d weeks", chartWeeks), "Week that begins on", weeks),
		newChart("Applications by status", "Status", applications[1:]), // without the first count, which is that of all
		newChart("Jobs by state", "State", jobs[1:]),
	})
}

// weeklyApplications counts the applications of the current week and of the weeks before it.
// Weeks begin on Monday, in UTC.
func (s *Site) weeklyApplications(ctx context.Context, actor auth.Actor, now time.Time) ([]countLink, error) {
	const daysPerWeek = 7

	now = now.UTC()

	// The days of time.Weekday begin with Sunday, which is 0.
	daysSinceMonday := int(now.Weekday()+daysPerWeek-time.Monday) % daysPerWeek
	monday := now.AddDate(0, 0, -daysSinceMonday)

	weeks := make([]countLink, chartWeeks)
	for i := range weeks {
		weeksAgo := chartWeeks - 1 - i
		from := monday.AddDate(0, 0, -daysPerWeek*weeksAgo)

		stats, err := s.services.Hiring.Stats(ctx, actor,
			hiring.StatsInput{StartDate: from.Format(time.DateOnly), EndDate: from.AddDate(0, 0, daysPerWeek-1).Format(time.DateOnly)})
		if err != nil {
			return nil, err
		}

		weeks[i] = countLink{Label: from.Format("2 Jan"), N: stats.Total()}
	}

	return weeks, nil
}

// exportsView is the form for a new export and the list of recent exports.
type exportsView struct {
	Form    pages.Form
	Exports []exportRow
	Kinds   []pages.Choice
}

// exportRow is a line of the list of exports.
type exportRow struct {
	hiring.Export
	State badge
	Kind  string
}

// kindTexts maps the tables that can be exported to their names.
var kindTexts = map[string]string{"jobs": "Jobs", "applications": "Applications"}

// maxExports is the number of recent exports in the list.
const maxExports = 20

// exportBadge returns the state in words.
func exportBadge(state hiring.ExportState) badge {
	switch state {
	case hiring.ExportDone:
		return badge{"Completed", "good"}
	case hiring.ExportFailed:
		return badge{"Failed", "bad"}
	case hiring.ExportRunning:
		return badge{"Running", ""}
	}

	return badge{"Waiting", ""}
}

func (s *Site) exports(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showExports(ctx, c, viewer, pages.Form{})
}

// showExports shows the exports of the viewer and the form for another one.
func (s *Site) showExports(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	actor, v := viewer.Actor(), exportsView{Form: form}

	exports, err := s.services.Hiring.MyExports(ctx, actor, maxExports)
	if err != nil {
		return err
	}

	for _, e := range exports {
		v.Exports = append(v.Exports, exportRow{Export: e, State: exportBadge(e.State), Kind: cmp.Or(kindTexts[e.Kind], e.Kind)})
	}

	if actor.May(auth.ApplicationsView) {
		v.Kinds = append(v.Kinds, pages.Choice{Value: "applications", Text: kindTexts["applications"]})
	}

	v.Kinds = append(v.Kinds, pages.Choice{Value: "jobs", Text: kindTexts["jobs"]})

	return s.renderer.Render(c, form.Problem.Status(), exportsPage, viewer, v)
}

// startExport starts an export and shows its page. The fields in errors begin with "filters.",
// those of the form do not.
func (s *Site) startExport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	in := hiring.ExportInput{Kind: form.Value("kind")}
	for name, to := range map[string]**string{"startDate": &in.Filters.StartDate, "endDate": &in.Filters.EndDate} {
		if value := form.Value(name); value != "" {
			*to = &value
		}
	}

	e, err := s.services.Hiring.StartExport(ctx, viewer.Actor(), in)
	if err == nil {
		return c.Redirect("/employer/exports/"+e.ID, fiber.StatusSeeOther)
	}

	if form.Problem, err = formProblem(err, noFormName); err != nil {
		return err
	}

	for i, f := range form.Problem.Fields {
		form.Problem.Fields[i].Name = strings.TrimPrefix(f.Name, "filters.")
	}

	return s.showExports(ctx, c, viewer, form)
}

// exportView is the progress of an export and, once it is completed, a link to its file.
type exportView struct {
	hiring.ExportView
	State  badge
	Kind   string
	Failed bool
}

// Total is the number of rows for the progress bar, at least 1.
func (v exportView) Total() int { return max(v.RowsTotal, 1) }

// export shows one export, which may still be running.
func (s *Site) export(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	e, err := s.services.Hiring.MyExport(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	v := exportView{
		ExportView: e,
		State:      exportBadge(e.State),
		Kind:       cmp.Or(kindTexts[e.Kind], e.Kind),
		Failed:     e.State == hiring.ExportFailed,
	}

	return s.renderer.Render(c, fiber.StatusOK, exportPage, viewer, v)
}

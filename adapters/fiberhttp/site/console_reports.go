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
	Status string      // of the listed interviews, empty for all
	States []countLink // to the lists of each status, without counts
	Rows   []interviewRow
	Next   string // the path of the next page, empty on the last one
}

// interviewRow is a line of the list of interviews: an application that has an interview.
type interviewRow struct {
	hiring.View
	State badge
}

// interviews handles GET /employer/interviews. It shows the interviews with the status in the query, or all
// interviews. The list begins with the next interview.
func (s *Site) interviews(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v := interviewsView{Status: c.Query("status")}
	request := page.Request{
		Number:       max(1, c.QueryInt("page", 1)),
		Size:         consolePageSize,
		Cursor:       c.Query("after"),
		WithoutTotal: true,
	}

	interviews, err := s.services.Hiring.InterviewsByDate(ctx, viewer.Actor(), hiring.InterviewStatus(v.Status), request)
	if err != nil {
		return err
	}

	for _, application := range interviews.Items {
		row := interviewRow{View: application, State: badge{Text: interviewText(application.Interview)}}
		if application.Interview.Status == hiring.Cancelled {
			row.State.Look = "bad"
		}

		v.Rows = append(v.Rows, row)
	}

	hasMoreByNumber := request.Cursor == "" && request.Number*request.Size < interviews.Total
	switch {
	case interviews.NextCursor != "":
		v.Next = withQuery("/employer/interviews", "status", v.Status, "after", interviews.NextCursor)
	case hasMoreByNumber: // a page without a cursor
		v.Next = withQuery("/employer/interviews", "status", v.Status, "page", strconv.Itoa(request.Number+1))
	}

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
	chartHeight = 180 // of the area for the bars and the numbers above them
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

// bar is a bar of a chart. N is the count that it shows. X and Y are its top left corner; in SVG, Y grows downwards.
type bar struct {
	Label               string
	N                   int
	X, Y, Width, Height int
}

// Middle returns the X position of the centre of the bar.
func (b bar) Middle() int { return b.X + b.Width/2 }

// Above returns the Y position of the number above the bar, which is the baseline of the text.
func (b bar) Above() int {
	const distance = 6
	return b.Y - distance
}

// Below returns the Y position of the label below the bar, which is the baseline of the text.
func (b bar) Below() int {
	const descent = 7 // of letters below the baseline
	return chartHeight + chartBottom - descent
}

// newChart returns a chart with a bar for each count. The largest count has the tallest bar. column is the heading of the
// labels in the table.
func newChart(title, column string, counts []countLink) chart {
	c := chart{Title: title, Column: column, Width: chartWidth, Height: chartHeight + chartBottom}

	maxCount := 1 // at least, because the heights are divided by it
	for _, count := range counts {
		maxCount = max(maxCount, count.N)
		c.Total += count.N
	}

	const (
		gap       = 8                      // between two bars
		maxHeight = chartHeight - chartTop // of a bar
		minHeight = 2                      // visible even beside much larger counts
	)

	barAndGap := chartWidth / max(len(counts), 1) // the width of both
	for i, count := range counts {
		b := bar{Label: count.Label, N: count.N, X: i*barAndGap + gap/2, Width: barAndGap - gap, Height: count.N * maxHeight / maxCount}
		if count.N > 0 {
			b.Height = max(b.Height, minHeight)
		}

		b.Y = chartHeight - b.Height
		c.Bars = append(c.Bars, b)
	}

	return c
}

// chartWeeks is the number of weeks of the chart of received applications.
const chartWeeks = 12

// analytics handles GET /employer/analytics. It shows the numbers of the organization as charts.
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

	// The first count is of all applications or of all jobs, for which there is no bar.
	return s.renderer.Render(c, fiber.StatusOK, analyticsPage, viewer, []chart{
		newChart(fmt.Sprintf("Applications received in the last %d weeks", chartWeeks), "Week that begins on", weeks),
		newChart("Applications by status", "Status", applications[1:]),
		newChart("Jobs by state", "State", jobs[1:]),
	})
}

// weeklyApplications counts the applications of each of the last chartWeeks weeks, the current one included. Weeks begin on
// Monday, in UTC. The oldest week is the first.
func (s *Site) weeklyApplications(ctx context.Context, actor auth.Actor, now time.Time) ([]countLink, error) {
	const daysPerWeek = 7

	now = now.UTC()

	// The days of time.Weekday begin with Sunday, which is 0.
	daysSinceMonday := int(now.Weekday()+daysPerWeek-time.Monday) % daysPerWeek
	monday := now.AddDate(0, 0, -daysSinceMonday)

	weeks := make([]countLink, chartWeeks)
	for i := range weeks {
		weeksAgo := chartWeeks - 1 - i
		firstDay := monday.AddDate(0, 0, -daysPerWeek*weeksAgo)
		lastDay := firstDay.AddDate(0, 0, daysPerWeek-1)

		stats, err := s.services.Hiring.Stats(ctx, actor,
			hiring.StatsInput{StartDate: firstDay.Format(time.DateOnly), EndDate: lastDay.Format(time.DateOnly)})
		if err != nil {
			return nil, err
		}

		weeks[i] = countLink{Label: firstDay.Format("2 Jan"), N: stats.Total()}
	}

	return weeks, nil
}

// exportsView is the form for a new export, which a background task writes to a CSV file, and the list of recent exports.
type exportsView struct {
	Form    pages.Form
	Exports []exportRow
	Kinds   []pages.Choice
}

// exportRow is a line of the list of exports. Kind is the name of the exported table.
type exportRow struct {
	hiring.Export
	State badge
	Kind  string
}

// kindTexts maps the kinds of exports, which are the tables that can be exported, to their names.
var kindTexts = map[string]string{"jobs": "Jobs", "applications": "Applications"}

// maxExports is the number of recent exports in the list.
const maxExports = 20

// exportBadge returns the state in words, with its colour.
func exportBadge(state hiring.ExportState) badge {
	switch state {
	case hiring.ExportDone:
		return badge{Text: "Completed", Look: "good"}
	case hiring.ExportFailed:
		return badge{Text: "Failed", Look: "bad"}
	case hiring.ExportRunning:
		return badge{Text: "Running"}
	}

	return badge{Text: "Waiting"}
}

// exports handles GET /employer/exports.
func (s *Site) exports(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showExports(ctx, c, viewer, pages.Form{})
}

// showExports shows the recent exports of the viewer and the form for another export. Viewers who may not see
// applications cannot export them.
func (s *Site) showExports(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	actor := viewer.Actor()
	v := exportsView{Form: form}

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

// startExport handles POST /employer/exports. It starts an export and leads to its page.
func (s *Site) startExport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	in := hiring.ExportInput{Kind: form.Value("kind")}
	if date := form.Value("startDate"); date != "" {
		in.Filters.StartDate = &date
	}

	if date := form.Value("endDate"); date != "" {
		in.Filters.EndDate = &date
	}

	started, err := s.services.Hiring.StartExport(ctx, viewer.Actor(), in)
	if err == nil {
		return c.Redirect("/employer/exports/"+started.ID, fiber.StatusSeeOther)
	}

	if form.Problem, err = formProblem(err, noFormName); err != nil {
		return err
	}

	// The module names the dates filters.startDate and filters.endDate. The fields of the form have no prefix.
	for i, field := range form.Problem.Fields {
		form.Problem.Fields[i].Name = strings.TrimPrefix(field.Name, "filters.")
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

// Total returns the number of rows for the progress bar, whose maximum must be at least 1.
func (v exportView) Total() int { return max(v.RowsTotal, 1) }

// export handles GET /employer/exports/:id. It shows one export, which may still be running.
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

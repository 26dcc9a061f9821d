package site

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

var (
	ownJobsPage = pages.Parse(files, "html/console-jobs.html", "html/console-parts.html")
	ownJobPage  = pages.Parse(files, "html/console-job.html", "html/console-parts.html")
)

// rowsShown is the number of rows of a page of the console.
const rowsShown = 25

// renewedFor is the number of days for which jobs are renewed together.
const renewedFor = 30

// ownJobsView is the list of an organization's jobs.
type ownJobsView struct {
	Status    string
	States    []count
	Jobs      []ownJobRow
	Next      string
	MayCreate bool
	MayUpdate bool
	Problem   *pages.Problem
	Selected  map[string]bool
}

type ownJobRow struct {
	listings.Listing
	State badge
}

func (s *Site) ownJobs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return s.showOwnJobs(ctx, c, who, ownJobsView{})
}

func (s *Site) showOwnJobs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, v ownJobsView) error {
	by := who.Actor()
	v.Status, v.MayCreate, v.MayUpdate = c.Query("status"), by.May(auth.JobsCreate), by.May(auth.JobsUpdate)
	found, err := s.services.Listings.List(ctx, by, listings.Status(v.Status), page.After(c.Query("after"), rowsShown))
	if err != nil {
		return err
	}
	now := time.Now()
	for _, l := range found.Items {
		v.Jobs = append(v.Jobs, ownJobRow{l, stateOf(l, now)})
	}
	if found.NextCursor != "" {
		v.Next = withQuery("/employer/jobs", "status", v.Status, "after", found.NextCursor)
	}
	if v.States, err = s.jobCounts(ctx, by, v.Status); err != nil {
		return err
	}
	return s.renderer.Render(c, v.Problem.Status(), ownJobsPage, who, v)
}

// changeJobs changes the selected jobs. Jobs that cannot be changed do not prevent the others.
func (s *Site) changeJobs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	ids := form.Values["id"]
	selected := map[string]bool{}
	for _, id := range ids {
		selected[id] = true
	}
	done, failed, err := "", 0, s.renderer.TakeLimit(ctx, c, fiber.MethodPut+" /api/employers/jobs/batch")
	if err == nil {
		done, failed, err = s.changeSelected(ctx, who.Actor(), form.Value("action"), ids)
	}
	problem, err := problemOf(err, "")
	switch {
	case err != nil:
		return err
	case problem == nil && failed > 0:
		problem = invalid("Some of the jobs were not changed: they have been deleted", "")
	case problem == nil:
		return redirect(c, "/employer/jobs", done, "status", c.Query("status"))
	}
	return s.showOwnJobs(ctx, c, who, ownJobsView{Problem: problem, Selected: selected})
}

// changeSelected executes an action for jobs and returns the notice for it, and the number
// of jobs for which it failed.
func (s *Site) changeSelected(ctx context.Context, by auth.Actor, action string, ids []string) (done string, failed int, err error) {
	if len(ids) == 0 || len(ids) > listings.MaxBatch {
		return "", 0, fault.New(fault.Invalid, "no_jobs_selected", "Select at least one job, and at most 100")
	}
	var change func(id string) error
	switch action {
	case "close":
		done = "jobs-closed"
		change = func(id string) error {
			_, err := s.services.Listings.Update(ctx, by, id, listings.UpdateInput{Status: new(string(listings.Closed))})
			return err
		}
	case "archive":
		done, change = "jobs-archived", func(id string) error { return s.services.Listings.Archive(ctx, by, id) }
	case "renew":
		done = "jobs-renewed"
		change = func(id string) error {
			_, err := s.services.Listings.Renew(ctx, by, id, renewedFor)
			return err
		}
	default:
		return "", 0, fault.New(fault.Invalid, "no_action_selected", "Select what to do with the jobs")
	}
	for _, id := range ids {
		switch err := change(id); {
		case fault.KindOf(err) == fault.NotFound:
			failed++
		case err != nil:
			return "", 0, err
		}
	}
	return done, failed, nil
}

// ownJobView is a job of the organization.
type ownJobView struct {
	listings.Listing
	State        badge
	Facts        []fact
	Path         string // of the public page, empty if the job is not public
	Numbers      *hiring.JobAnalytics
	Applications []count
	MayCreate    bool
	MayUpdate    bool
	Problem      *pages.Problem
}

// Periods returns the times for which a job can be renewed.
func (ownJobView) Periods() []pages.Choice {
	return []pages.Choice{{Value: "14", Text: "2 weeks"}, {Value: "30", Text: "30 days"}, {Value: "60", Text: "60 days"}, {Value: "90", Text: "90 days"}}
}

func (s *Site) ownJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return s.showOwnJob(ctx, c, who, nil)
}

func (s *Site) showOwnJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, problem *pages.Problem) error {
	by, now := who.Actor(), time.Now()
	l, err := s.services.Listings.Get(ctx, by, c.Params("id"))
	if err != nil {
		return err
	}
	v := ownJobView{Listing: l, State: stateOf(l, now), Facts: factsOf(l), MayCreate: by.May(auth.JobsCreate), MayUpdate: by.May(auth.JobsUpdate), Problem: problem}
	if l.Public(now) {
		v.Path = jobPath(l)
	}
	if by.May(auth.ApplicationsView) {
		numbers, err := s.services.Hiring.JobAnalytics(ctx, by, l.ID)
		if err != nil {
			return err
		}
		v.Numbers = &numbers
		for _, status := range hiring.Statuses {
			v.Applications = append(v.Applications, count{string(status), stageTexts[status], withQuery("/employer/applications", "job", l.ID, "status", string(status)), numbers.Applications[status], false})
		}
	}
	return s.renderer.Render(c, problem.Status(), ownJobPage, who, v)
}

// changeJob changes the state of a job, or copies it.
func (s *Site) changeJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	by, form, id := who.Actor(), pages.FormOf(c), c.Params("id")
	done := ""
	var err error
	switch form.Value("action") {
	case "duplicate":
		var l listings.Listing
		l, err = s.services.Listings.Duplicate(ctx, by, id)
		id, done = l.ID, "job-duplicated"
	case "renew":
		done = "job-renewed"
		_, err = s.services.Listings.Renew(ctx, by, id, numberOf(form.Value("durationDays")))
	case "archive":
		done, err = "job-archived", s.services.Listings.Archive(ctx, by, id)
	case "restore":
		done, err = "job-restored", s.restoreJob(ctx, c, by, id)
	case "publish":
		done, err = "job-published", s.setJobStatus(ctx, c, by, id, listings.Active)
	case "pause":
		done, err = "job-saved", s.setJobStatus(ctx, c, by, id, listings.Inactive)
	case "close":
		done, err = "job-closed", s.setJobStatus(ctx, c, by, id, listings.Closed)
	default:
		err = fault.New(fault.Invalid, "no_action_selected", "Select what to do with the job")
	}
	problem, err := problemOf(err, "")
	switch {
	case err != nil:
		return err
	case problem != nil:
		return s.showOwnJob(ctx, c, who, problem)
	}
	return redirect(c, "/employer/jobs/"+id, done)
}

// setJobStatus changes the status of a job. It has the limit of the portal's operation.
func (s *Site) setJobStatus(ctx context.Context, c *fiber.Ctx, by auth.Actor, id string, status listings.Status) error {
	if err := s.renderer.TakeLimit(ctx, c, fiber.MethodPut+" /api/employers/jobs/:id"); err != nil {
		return err
	}
	_, err := s.services.Listings.Update(ctx, by, id, listings.UpdateInput{Status: new(string(status))})
	return err
}

// restoreJob publishes a job again that was archived or deleted.
func (s *Site) restoreJob(ctx context.Context, c *fiber.Ctx, by auth.Actor, id string) error {
	err := s.services.Listings.Restore(ctx, by, id)
	if fault.KindOf(err) == fault.NotFound { // archived only
		return s.setJobStatus(ctx, c, by, id, listings.Active)
	}
	return err
}

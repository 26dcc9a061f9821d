package site

import (
	"context"
	"errors"

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

// consolePageSize is the number of rows of each list of the console.
const consolePageSize = 25

// batchRenewalDays is for how long "Renew for 30 days" renews the selected jobs.
const batchRenewalDays = 30

// ownJobsView is the list of an organization's jobs.
type ownJobsView struct {
	Status    string
	States    []countLink
	Jobs      []ownJobRow
	Next      string
	MayCreate bool
	MayUpdate bool
	Problem   *pages.Problem
	// Selected are the ids of the selected jobs.
	Selected map[string]bool
}

// ownJobRow is a job in the list.
type ownJobRow struct {
	listings.Listing
	State jobState
}

func (s *Site) ownJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showOwnJobs(ctx, c, viewer, ownJobsView{})
}

// showOwnJobs shows the jobs of the organization in one state, or in all.
func (s *Site) showOwnJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v ownJobsView) error {
	actor := viewer.Actor()
	v.Status = c.Query("status")
	v.MayCreate = actor.May(auth.JobsCreate)
	v.MayUpdate = actor.May(auth.JobsUpdate)
	r := page.After(c.Query("after"), consolePageSize)

	jobs, err := s.services.Listings.ListByState(ctx, actor, listings.State(v.Status), r)
	if err != nil {
		return err
	}

	states, err := s.jobStatesOf(ctx, actor, jobs.Items...)
	if err != nil {
		return err
	}

	for _, l := range jobs.Items {
		v.Jobs = append(v.Jobs, ownJobRow{l, states[l.ID]})
	}

	if jobs.NextCursor != "" {
		v.Next = withQuery("/employer/jobs", "status", v.Status, "after", jobs.NextCursor)
	}

	if v.States, err = s.jobCounts(ctx, actor, v.Status); err != nil {
		return err
	}

	return s.renderer.Render(c, v.Problem.Status(), ownJobsPage, viewer, v)
}

// changeJobs closes, archives or renews the selected jobs. It skips jobs that do not exist any
// more, does not renew jobs that the moderators have taken down, and tells the user if it has skipped some.
func (s *Site) changeJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	ids := form.Values["id"]

	selected := map[string]bool{}
	for _, id := range ids {
		selected[id] = true
	}

	notice, skipped := "", 0
	err := s.doLimited(ctx, c, changeJobsOperation, func() (err error) {
		notice, skipped, err = s.changeSelected(ctx, viewer.Actor(), form.Value("action"), ids)
		return err
	})

	problem, err := formProblem(err, noFormName)
	switch {
	case err != nil:
		return err
	case problem == nil && skipped > 0:
		const text = "Some of the jobs were not changed: they do not exist any more, or the moderators have taken them down"
		problem = newFormProblem(text, noFormName)
	case problem == nil:
		return redirect(c, "/employer/jobs", notice, "status", c.Query("status"))
	}

	return s.showOwnJobs(ctx, c, viewer, ownJobsView{Problem: problem, Selected: selected})
}

// changeSelected applies the action to the jobs. It returns the key of the notice for the user and the
// number of jobs that it skipped.
func (s *Site) changeSelected(ctx context.Context, actor auth.Actor, action string, ids []string) (notice string, skipped int, err error) {
	if len(ids) == 0 || len(ids) > listings.MaxBatch {
		return "", 0, fault.New(fault.Invalid, "no_jobs_selected", "Select at least one job, and at most 100")
	}

	var change func(id string) error
	switch action {
	case "close":
		notice = "jobs-closed"
		change = func(id string) error {
			_, err := s.services.Listings.Update(ctx, actor, id, listings.UpdateInput{Status: new(string(listings.Closed))})
			return err
		}
	case "archive":
		notice = "jobs-archived"
		change = func(id string) error { return s.services.Listings.Archive(ctx, actor, id) }
	case "renew":
		notice = "jobs-renewed"
		change = func(id string) error {
			if err := s.requireNotTakenDown(ctx, actor, id); err != nil {
				return err
			}

			_, err := s.services.Listings.Renew(ctx, actor, id, batchRenewalDays)

			return err
		}
	default:
		return "", 0, fault.New(fault.Invalid, "no_action_selected", "Select what to do with the jobs")
	}

	for _, id := range ids {
		switch err := change(id); {
		case fault.KindOf(err) == fault.NotFound, errors.Is(err, errTakenDown):
			skipped++
		case err != nil:
			return "", 0, err
		}
	}

	return notice, skipped, nil
}

// ownJobView is the page of a job in the console.
type ownJobView struct {
	listings.Listing
	State        jobState
	Facts        []fact
	Path         string // of the public page, empty if the job is not public
	Numbers      *hiring.JobAnalytics
	Applications []countLink
	// HasFutureDeadline is set if a renewal is counted from the closing date, and not from now.
	HasFutureDeadline bool
	MayCreate         bool
	MayUpdate         bool
	Problem           *pages.Problem
}

// Periods returns the durations for which a job can be renewed, in days.
func (ownJobView) Periods() []pages.Choice {
	return []pages.Choice{
		{Value: "14", Text: "2 weeks"},
		{Value: "30", Text: "30 days"},
		{Value: "60", Text: "60 days"},
		{Value: "90", Text: "90 days"},
	}
}

func (s *Site) ownJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showOwnJob(ctx, c, viewer, nil)
}

// showOwnJob shows one job; its numbers only to those who may see applications.
func (s *Site) showOwnJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, problem *pages.Problem) error {
	actor, now := viewer.Actor(), s.now()

	listing, err := s.services.Listings.Get(ctx, actor, c.Params("id"))
	if err != nil {
		return err
	}

	states, err := s.jobStatesOf(ctx, actor, listing)
	if err != nil {
		return err
	}

	v := ownJobView{
		Listing:           listing,
		State:             states[listing.ID],
		Facts:             jobFacts(listing),
		HasFutureDeadline: listing.Deadline != nil && listing.Deadline.After(now),
		MayCreate:         actor.May(auth.JobsCreate),
		MayUpdate:         actor.May(auth.JobsUpdate),
		Problem:           problem,
	}
	if listing.Public(now) {
		v.Path = jobPath(listing)
	}

	if actor.May(auth.ApplicationsView) {
		numbers, err := s.services.Hiring.JobAnalytics(ctx, actor, listing.ID)
		if err != nil {
			return err
		}

		v.Numbers = &numbers
		for _, status := range hiring.Statuses {
			v.Applications = append(
				v.Applications,
				countLink{
					Value: string(status),
					Label: stageTexts[status],
					Path:  withQuery("/employer/applications", "job", listing.ID, "status", string(status)),
					N:     numbers.Applications[status],
				},
			)
		}
	}

	return s.renderer.Render(c, problem.Status(), ownJobPage, viewer, v)
}

// changeJob handles the buttons of the page of a job: each changes its state or copies it.
func (s *Site) changeJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	target, notice, err := s.applyJobAction(ctx, c, viewer.Actor())

	problem, err := formProblem(err, noFormName)
	switch {
	case err != nil:
		return err
	case problem != nil:
		return s.showOwnJob(ctx, c, viewer, problem)
	}

	return redirect(c, "/employer/jobs/"+target, notice)
}

// applyJobAction applies the action of the form to the job in the path of the request. It returns
// the id of the job whose page is shown next, and the key of the notice for the user.
func (s *Site) applyJobAction(ctx context.Context, c *fiber.Ctx, actor auth.Actor) (target, notice string, err error) {
	form, id := pages.FormOf(c), c.Params("id")

	action := form.Value("action")
	switch action { // these actions publish or copy a job
	case "duplicate", "renew", "restore", "publish", "pause":
		if err := s.requireNotTakenDown(ctx, actor, id); err != nil {
			return "", "", err
		}
	}

	switch action {
	case "duplicate":
		l, err := s.duplicateJob(ctx, c, actor, id)
		return l.ID, "job-duplicated", err
	case "renew":
		_, err := s.services.Listings.Renew(ctx, actor, id, parseInt(form.Value("durationDays")))
		return id, "job-renewed", err
	case "archive":
		return id, "job-archived", s.services.Listings.Archive(ctx, actor, id)
	case "restore":
		return id, "job-restored", s.restoreJob(ctx, c, actor, id)
	case "publish":
		l, err := s.setJobStatus(ctx, c, actor, id, listings.Active)
		return id, publishedNotice(l), err
	case "pause":
		_, err := s.setJobStatus(ctx, c, actor, id, listings.Inactive)
		return id, "job-paused", err
	case "close":
		_, err := s.setJobStatus(ctx, c, actor, id, listings.Closed)
		return id, "job-closed", err
	}

	return "", "", fault.New(fault.Invalid, "no_action_selected", "Select what to do with the job")
}

// duplicateJob makes a draft with the content of a job. It counts towards the rate limit of the API operation that
// creates a job.
func (s *Site) duplicateJob(ctx context.Context, c *fiber.Ctx, actor auth.Actor, id string) (listings.Listing, error) {
	if err := s.renderer.TakeLimit(ctx, c, createJobOperation); err != nil {
		return listings.Listing{}, err
	}

	return s.services.Listings.DuplicateAsDraft(ctx, actor, id)
}

// errDeadlinePassed is the problem of a job that cannot be published before it is renewed.
var errDeadlinePassed = fault.New(fault.Invalid, "deadline_passed",
	"The closing date has passed: renew the job, or edit it and choose a later date")

// setJobStatus changes the status of a job. A job whose closing date has passed cannot be
// published. It counts towards the rate limit of the API operation that updates a job.
func (s *Site) setJobStatus(
	ctx context.Context,
	c *fiber.Ctx,
	actor auth.Actor,
	id string,
	status listings.Status,
) (listings.Listing, error) {
	if err := s.renderer.TakeLimit(ctx, c, changeJobOperation); err != nil {
		return listings.Listing{}, err
	}

	in := listings.UpdateInput{Status: new(string(status))}
	in.RequireFutureDeadline = status == listings.Active

	l, err := s.services.Listings.Update(ctx, actor, id, in)
	if fault.KindOf(err) == fault.Invalid && in.RequireFutureDeadline {
		return l, errDeadlinePassed
	}

	return l, err
}

// restoreJob publishes a job that was deleted or archived.
func (s *Site) restoreJob(ctx context.Context, c *fiber.Ctx, actor auth.Actor, id string) error {
	err := s.services.Listings.Restore(ctx, actor, id)
	if fault.KindOf(err) == fault.NotFound { // the job is archived, not deleted
		_, err = s.setJobStatus(ctx, c, actor, id, listings.Active)
	}

	return err
}

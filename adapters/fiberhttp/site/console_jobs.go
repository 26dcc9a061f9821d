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

// ownJobsView is the list of an organization's jobs, with a form that changes the selected ones.
type ownJobsView struct {
	Status    string      // the state of the listed jobs, empty for all
	States    []countLink // to the lists of each state
	Jobs      []ownJobRow
	Next      string // the path of the next page, empty on the last one
	MayCreate bool
	MayUpdate bool
	Problem   *pages.Problem  // why the form was not, or not fully, applied
	Selected  map[string]bool // the ids that were selected in a form with a problem
}

// ownJobRow is a job in the list.
type ownJobRow struct {
	listings.Listing
	State jobState
}

// ownJobs handles GET /employer/jobs.
func (s *Site) ownJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showOwnJobs(ctx, c, viewer, ownJobsView{})
}

// showOwnJobs shows the jobs of the organization. If the query parameter status is set, it shows only the jobs in
// this state. v has the problem of the form and the selection, if there are any. showOwnJobs sets its other fields.
func (s *Site) showOwnJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v ownJobsView) error {
	actor := viewer.Actor()
	v.Status = c.Query("status")
	v.MayCreate = actor.May(auth.JobsCreate)
	v.MayUpdate = actor.May(auth.JobsUpdate)

	jobs, err := s.services.Listings.ListByState(ctx, actor, listings.State(v.Status), page.After(c.Query("after"), consolePageSize))
	if err != nil {
		return err
	}

	states, err := s.jobStatesOf(ctx, actor, jobs.Items...)
	if err != nil {
		return err
	}

	for _, job := range jobs.Items {
		v.Jobs = append(v.Jobs, ownJobRow{Listing: job, State: states[job.ID]})
	}

	if jobs.NextCursor != "" {
		v.Next = withQuery("/employer/jobs", "status", v.Status, "after", jobs.NextCursor)
	}

	if v.States, err = s.jobCounts(ctx, actor, v.Status); err != nil {
		return err
	}

	return s.renderer.Render(c, v.Problem.Status(), ownJobsPage, viewer, v)
}

// changeJobs handles POST /employer/jobs: it closes, archives or renews the selected jobs. If it has skipped some of them,
// it shows the list again with a message.
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
	if err != nil {
		return err
	}

	if problem == nil && skipped == 0 {
		return redirect(c, "/employer/jobs", notice, "status", c.Query("status"))
	}

	if problem == nil {
		const text = "Some of the jobs were not changed: they do not exist any more, or the moderators have taken them down"
		problem = newFormProblem(text, noFormName)
	}

	return s.showOwnJobs(ctx, c, viewer, ownJobsView{Problem: problem, Selected: selected})
}

// changeSelected applies the action to the jobs. It skips jobs that do not exist any more, and does not renew jobs that
// the moderators have taken down. It returns the key in EmployerNotices of the message for the user, and the number of
// skipped jobs. After any other error, the jobs before the failed one stay changed.
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
	Path         string               // of the public page, empty if the job is not public
	Numbers      *hiring.JobAnalytics // nil for a viewer who may not see applications
	Applications []countLink          // by status, for the same viewers
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

// ownJob handles GET /employer/jobs/:id.
func (s *Site) ownJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	var noProblem *pages.Problem
	return s.showOwnJob(ctx, c, viewer, noProblem)
}

// showOwnJob shows one job, with the problem of its form if that is not nil. Only viewers who may see applications see the
// numbers of views and applications.
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
	if listing.IsPublic(now) {
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

// changeJob handles POST /employer/jobs/:id. Each button of the page of a job changes its state or copies it.
func (s *Site) changeJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	nextID, notice, err := s.applyJobAction(ctx, c, viewer.Actor())

	problem, err := formProblem(err, noFormName)
	switch {
	case err != nil:
		return err
	case problem != nil:
		return s.showOwnJob(ctx, c, viewer, problem)
	}

	return redirect(c, "/employer/jobs/"+nextID, notice)
}

// applyJobAction applies the action of the form to the job in the path of the request. It returns the id of the job
// whose page is shown next: the id of the copy if the job was copied. It also returns the key in EmployerNotices of
// the message for the user.
func (s *Site) applyJobAction(ctx context.Context, c *fiber.Ctx, actor auth.Actor) (nextID, notice string, err error) {
	form := pages.FormOf(c)
	id := c.Params("id")

	action := form.Value("action")
	switch action { // a job that moderators have taken down can only be closed or archived
	case "duplicate", "renew", "restore", "publish", "pause":
		if err := s.requireNotTakenDown(ctx, actor, id); err != nil {
			return "", "", err
		}
	}

	switch action {
	case "duplicate":
		duplicate, err := s.duplicateJob(ctx, c, actor, id)
		return duplicate.ID, "job-duplicated", err
	case "renew":
		_, err := s.services.Listings.Renew(ctx, actor, id, parseInt(form.Value("durationDays")))
		return id, "job-renewed", err
	case "archive":
		return id, "job-archived", s.services.Listings.Archive(ctx, actor, id)
	case "restore":
		return id, "job-restored", s.restoreJob(ctx, c, actor, id)
	case "publish":
		published, err := s.setJobStatus(ctx, c, actor, id, listings.Active)
		return id, publishedNotice(published), err
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

	isPublished := status == listings.Active
	in := listings.UpdateInput{Status: new(string(status))}
	in.RequireFutureDeadline = isPublished

	job, err := s.services.Listings.Update(ctx, actor, id, in)
	if isPublished && fault.KindOf(err) == fault.Invalid { // about the deadline, for which this page has no field
		return job, errDeadlinePassed
	}

	return job, err
}

// restoreJob publishes a job that was deleted or archived. It tries to undo a deletion first: Listings.Restore finds only
// deleted jobs.
func (s *Site) restoreJob(ctx context.Context, c *fiber.Ctx, actor auth.Actor, id string) error {
	err := s.services.Listings.Restore(ctx, actor, id)

	isNotDeleted := fault.KindOf(err) == fault.NotFound
	if isNotDeleted { // then it is archived
		_, err = s.setJobStatus(ctx, c, actor, id, listings.Active)
	}

	return err
}

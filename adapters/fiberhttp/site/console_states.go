package site

import (
	"cmp"
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/listings"
)

// jobStates are the states of jobs in the order of their links. A state is the status that the employer has set, with
// two exceptions. A job whose closing date has passed is expired. A job that is not shown to the public is hidden. A
// job is hidden by a decision of a moderator, or held until a moderator has decided about the job or its
// organization.
var jobStates = []listings.State{
	listings.State(listings.Active),
	listings.State(listings.Draft),
	listings.State(listings.Inactive),
	listings.StateExpired,
	listings.State(listings.Closed),
	listings.State(listings.Archived),
	listings.StateHidden,
}

// jobStateTexts maps the states of jobs to their texts.
var jobStateTexts = map[listings.State]string{
	listings.State(listings.Active):   "Published",
	listings.State(listings.Draft):    "Draft",
	listings.State(listings.Inactive): "Paused",
	listings.StateExpired:             "Expired",
	listings.State(listings.Closed):   "Closed",
	listings.State(listings.Archived): "Archived",
	listings.StateHidden:              "Taken down or held",
}

// jobCounts counts the organization's jobs by state. It returns a link to the list of all jobs, and after it a link to
// the list of each state. Expired and hidden jobs are rare: they have a link only if there are any. The link for the
// state current, which is empty for all, is marked as the current one.
func (s *Site) jobCounts(ctx context.Context, actor auth.Actor, current string) ([]countLink, error) {
	counts, err := s.services.Listings.CountByState(ctx, actor)
	if err != nil {
		return nil, err
	}

	links := []countLink{{Value: "", Label: "All", Path: "/employer/jobs", Current: current == ""}}
	for _, state := range jobStates {
		links[0].N += counts[state] // the link to all jobs

		isRare := state == listings.StateExpired || state == listings.StateHidden
		isCurrent := current == string(state)

		if isRare && counts[state] == 0 && !isCurrent {
			continue
		}

		links = append(
			links,
			countLink{
				Value:   string(state),
				Label:   jobStateTexts[state],
				Path:    withQuery("/employer/jobs", "status", string(state)),
				N:       counts[state],
				Current: isCurrent,
			},
		)
	}

	return links, nil
}

// jobState is the state of a job as its organization sees it.
type jobState struct {
	badge
	// Hidden is nil for a job that is not hidden.
	Hidden *listings.HiddenInfo
}

// IsTakenDown reports whether a moderator or an operator has taken the job down.
func (s jobState) IsTakenDown() bool {
	return s.Hidden != nil && s.Hidden.Reason == listings.HiddenByDecision
}

// hiddenTexts maps the reasons why jobs are hidden to the texts of badges.
var hiddenTexts = map[listings.HiddenReason]string{
	listings.HiddenByDecision:  "Taken down",
	listings.HiddenForReview:   "Held for review",
	listings.HiddenWithCompany: "Not public",
}

// jobStatesOf returns the states of the actor's jobs, at most 100, by their ids.
func (s *Site) jobStatesOf(ctx context.Context, actor auth.Actor, jobs ...listings.Listing) (map[string]jobState, error) {
	hidden, err := s.services.Listings.ListHiddenInfo(ctx, actor, jobs...)
	if err != nil {
		return nil, err
	}

	now := s.now()

	states := map[string]jobState{}
	for _, job := range jobs {
		if info, isHidden := hidden[job.ID]; isHidden {
			states[job.ID] = jobState{badge: badge{Text: hiddenTexts[info.Reason], Look: "bad"}, Hidden: &info}
			continue
		}

		state := job.State(now)

		b := badge{Text: cmp.Or(jobStateTexts[state], string(state))}
		switch state {
		case listings.State(listings.Active):
			b.Look = "good"
		case listings.StateExpired:
			b.Look = "bad"
		}

		states[job.ID] = jobState{badge: b}
	}

	return states, nil
}

// publishedNotice returns the key in EmployerNotices of the message after a job was published. A job that is held is hidden
// until a moderator has decided about it, or about its organization.
func publishedNotice(published listings.Listing) string {
	if published.HiddenAt != nil {
		return "job-waiting"
	}

	return "job-published"
}

var errTakenDown = fault.New(fault.Conflict, "job_taken_down", "This is not possible while the job is taken down by the moderators")

// requireNotTakenDown returns errTakenDown if a moderator has taken the job down. It is called before changes that
// publish the job or copy it: the job would stay hidden, and a copy would bring it back.
func (s *Site) requireNotTakenDown(ctx context.Context, actor auth.Actor, id string) error {
	job, err := s.services.Listings.Get(ctx, actor, id)
	if err != nil {
		return err
	}

	states, err := s.jobStatesOf(ctx, actor, job)
	if err != nil {
		return err
	}

	if states[job.ID].IsTakenDown() {
		return errTakenDown
	}

	return nil
}

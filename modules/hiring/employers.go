package hiring

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// Received lists the applications to the organization's listings, newest first.
func (s *Service) Received(ctx context.Context, by auth.Actor, r page.Request) (page.Result[View], error) {
	return s.FindReceived(ctx, by, StatsInput{}, r)
}

// FindReceived lists the applications to the organization's listings that the input selects,
// newest first.
func (s *Service) FindReceived(ctx context.Context, by auth.Actor, in StatsInput, r page.Request) (page.Result[View], error) {
	if err := cmp.Or(by.Require(auth.ApplicationsView), r.CheckID()); err != nil {
		return page.Result[View]{}, err
	}

	f, err := applicationFilter(in.byName(), "")
	if err != nil {
		return page.Result[View]{}, err
	}

	found, err := s.Applications.List(ctx, Visibility{OrganizationID: by.OrganizationID}, f, r)
	if err != nil {
		return page.Result[View]{}, err
	}

	views, err := s.receivedViews(ctx, by.OrganizationID, found.Items)

	return page.WithItems(found, views), err
}

// ReceivedApplication returns an application to a listing of the organization.
func (s *Service) ReceivedApplication(ctx context.Context, by auth.Actor, id string) (Detail, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return Detail{}, err
	}

	application, err := s.getReceived(ctx, by, id)
	if err != nil {
		return Detail{}, err
	}

	views, err := s.receivedViews(ctx, by.OrganizationID, []Application{application})
	if err != nil {
		return Detail{}, err
	}

	detail, err := s.loadDetail(ctx, views[0])
	if err != nil || application.WithdrawnAt != nil {
		return detail, err
	}

	detail.Introduction, err = s.Preferences.Introduction(ctx, application.ApplicantID)

	return detail, err
}

// Decision sets the status of one application.
type Decision struct {
	ID     string `json:"id"`
	Status string `json:"status" sample:"review"`
	// Err is set if a decision of a batch could not be decoded.
	Err error `json:"-"`
}

// Refusal is a refused decision of a batch.
type Refusal struct {
	At       int // the index in the batch
	Decision Decision
	Error    string
}

const (
	// MaxBatch is the maximum number of decisions of a batch.
	MaxBatch = 100
	// maxEchoed is the number of characters of refused input that a response repeats. It
	// keeps the response small.
	maxEchoed = 200
)

// truncate returns the first maxEchoed characters of the text.
func truncate(s string) string {
	characters := []rune(s)
	return string(characters[:min(len(characters), maxEchoed)])
}

// Decide sets the status of one application.
func (s *Service) Decide(ctx context.Context, by auth.Actor, d Decision) error {
	if err := by.Require(auth.ApplicationsUpdate); err != nil {
		return err
	}

	if !slices.Contains(Statuses, Status(d.Status)) {
		return ErrInvalidStatus
	}

	_, failed, err := s.decide(ctx, by, []Decision{d})
	if err != nil {
		return err
	}

	if refusal, isRefused := failed[0]; isRefused { // the index of the only decision is 0
		return refusal
	}

	return nil
}

// Dismiss sets an application to withdrawn on behalf of the employer, who may set another
// status later. It does nothing if the applicant has withdrawn the application.
func (s *Service) Dismiss(ctx context.Context, by auth.Actor, id string) error {
	err := s.Decide(ctx, by, Decision{ID: id, Status: string(Withdrawn)})

	// Withdrawn is a valid status, so that the applicant must have withdrawn the application.
	if errors.Is(err, ErrInvalidStatus) {
		return nil
	}

	return err
}

// DecideBatch applies decisions in their order. A refused decision does not prevent the
// others. If an id occurs more than once, the last decision wins, and updated contains all
// decisions about the application.
func (s *Service) DecideBatch(
	ctx context.Context,
	by auth.Actor,
	decisions []Decision,
) (updated []Decision, refused []Refusal, err error) {
	if err := by.Require(auth.ApplicationsUpdate); err != nil {
		return nil, nil, err
	}

	if len(decisions) > MaxBatch {
		return nil, nil, ErrBatchTooLarge
	}

	updated, failed, err := s.decide(ctx, by, decisions)
	if err != nil {
		return nil, nil, err
	}

	for i, d := range decisions {
		reason, isRefused := failed[i]
		if !isRefused {
			continue
		}

		echoed := Decision{ID: truncate(d.ID), Status: truncate(d.Status)}
		refused = append(refused, Refusal{At: i, Decision: echoed, Error: refusalMessage(reason)})
	}

	return updated, refused, nil
}

// refusalMessage returns the message of a refused decision. If a field of the decision is invalid, the
// message consists of the name of the (first) field and what is wrong with it.
func refusalMessage(f *fault.Error) string {
	if f.Code == fault.ErrInvalid.Code && len(f.Fields) > 0 {
		return f.Fields[0].Name + " " + f.Fields[0].Message
	}

	return f.Message
}

// decide applies decisions in one transaction. It returns the applied decisions, and the
// faults of the refused ones by their index in decisions. The number of SQL statements does not
// depend on the number of decisions.
func (s *Service) decide(
	ctx context.Context,
	by auth.Actor,
	decisions []Decision,
) (updated []Decision, failed map[int]*fault.Error, err error) {
	// Applications are stored under the canonical form of their id. A malformed id has an empty
	// canonical form. No application has it, so that it is left out of the query.
	canonicalID := func(d Decision) string { canonical, _ := id.Canonical(d.ID); return canonical }
	isMalformed := func(id string) bool { return id == "" }
	ids := slices.DeleteFunc(list.Distinct(decisions, canonicalID), isMalformed)

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		// A transaction that conflicts with another one is executed again.
		updated = nil
		failed = map[int]*fault.Error{}

		// Read the applications. In a transaction, listReceived also locks them.
		applications, err := s.listReceived(ctx, by.OrganizationID, ids)
		if err != nil {
			return err
		}

		byID := make(map[string]*Application, len(applications))
		for i := range applications {
			byID[applications[i].ID] = &applications[i]
		}

		// Apply the decisions to them.
		now := s.Clock.Now()
		var changes []Change
		var events []event.Event

		changedIDs := map[string]bool{}
		for i, d := range decisions {
			if d.Err != nil {
				failed[i] = fault.Of(d.Err)
				continue
			}

			application := byID[canonicalID(d)]
			if application == nil { // unknown, of another organization, or a malformed id
				failed[i] = ErrNotFound
				continue
			}

			previous := application.Status

			isChanged, err := application.Decide(Status(d.Status), now)
			if err != nil {
				failed[i] = fault.Of(err)
				continue
			}

			updated = append(updated, Decision{ID: application.ID, Status: d.Status})
			if isChanged {
				change := s.newChange(application, ByEmployer, by, previous)
				changes = append(changes, change)
				events = append(events, change.event(application))
				changedIDs[application.ID] = true
			}
		}

		if len(changes) == 0 {
			return nil
		}

		// Store the changed applications only.
		applications = slices.DeleteFunc(applications, func(a Application) bool { return !changedIDs[a.ID] })
		if err := s.Applications.UpdateStatuses(ctx, by.OrganizationID, applications, changes); err != nil {
			return err
		}

		return s.Events.Record(ctx, events...)
	})

	return updated, failed, err
}

// Counts are numbers of applications by status.
type Counts map[Status]int

// Total returns the sum over all statuses.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}

	return total
}

// StatsInput selects the applications that Stats counts and FindReceived lists. An empty field
// selects all. StartDate and EndDate are dates or date-times; an EndDate that is a date
// includes the whole day.
type StatsInput struct {
	Status    string `query:"status"`
	StartDate string `query:"startDate"`
	EndDate   string `query:"endDate"`
	JobID     string `query:"jobId"`
}

// byName returns the fields that are not empty, by name.
func (in StatsInput) byName() map[string]string {
	filters := map[string]string{"status": in.Status, "startDate": in.StartDate, "endDate": in.EndDate, "jobId": in.JobID}
	maps.DeleteFunc(filters, func(_, value string) bool { return value == "" })
	return filters
}

// Stats counts the applications to the organization's listings that the input selects.
func (s *Service) Stats(ctx context.Context, by auth.Actor, in StatsInput) (Counts, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return nil, err
	}

	f, err := applicationFilter(in.byName(), "")
	if err != nil {
		return nil, err
	}

	return s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID}, f)
}

// ApplicantStats returns the number of the user's applications that are not withdrawn, and how many
// of them the user sees as pending.
func (s *Service) ApplicantStats(ctx context.Context, userID string) (total, pending int, err error) {
	// The empty filter excludes withdrawn applications of an applicant.
	counts, err := s.Applications.CountByStatus(ctx, Visibility{ApplicantID: userID}, ApplicationFilter{})
	return Counts(counts).Total(), counts[Pending], err
}

// JobAnalytics are statistics about a listing.
type JobAnalytics struct {
	JobID        string
	Title        string
	Views        int
	Applications Counts
}

// ConversionRate returns the number of applications per 100 views, rounded to two
// decimals, and 0 without views.
func (a JobAnalytics) ConversionRate() float64 {
	if a.Views == 0 {
		return 0
	}

	percentage := float64(a.Applications.Total()) / float64(a.Views) * 100

	return math.Round(percentage*100) / 100
}

// JobAnalytics returns statistics about a listing of the organization, or the NotFound
// fault of Listings.
func (s *Service) JobAnalytics(ctx context.Context, by auth.Actor, jobID string) (JobAnalytics, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return JobAnalytics{}, err
	}

	// Check that the listing belongs to the organization, and read its numbers.
	title, views, err := s.Listings.Viewed(ctx, by.OrganizationID, jobID)
	if err != nil {
		return JobAnalytics{}, err
	}

	jobID, err = canonical(jobID, ErrListingNotFound)
	if err != nil {
		return JobAnalytics{}, err
	}

	counts, err := s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID},
		ApplicationFilter{ListingIDs: []string{jobID}})

	return JobAnalytics{JobID: jobID, Title: title, Views: views, Applications: counts}, err
}

// Analytics are the numbers of an organization's listings and applications.
type Analytics struct {
	Jobs         map[string]int // by status
	Applications Counts
}

// Analytics counts the organization's listings and applications.
func (s *Service) Analytics(ctx context.Context, by auth.Actor) (Analytics, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return Analytics{}, err
	}

	jobs, err := s.Listings.CountByStatus(ctx, by.OrganizationID)
	if err != nil {
		return Analytics{}, err
	}

	applications, err := s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID}, ApplicationFilter{})

	return Analytics{Jobs: jobs, Applications: applications}, err
}

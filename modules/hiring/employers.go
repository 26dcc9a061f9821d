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

// ReceivedApplications lists the applications to the organization's listings, newest first.
func (s *Service) ReceivedApplications(ctx context.Context, by auth.Actor, r page.Request) (page.Result[View], error) {
	return s.FindReceived(ctx, by, StatsInput{}, r)
}

// FindReceived lists the applications to the organization's listings that the input selects,
// newest first.
func (s *Service) FindReceived(ctx context.Context, by auth.Actor, in StatsInput, r page.Request) (page.Result[View], error) {
	if err := cmp.Or(by.Require(auth.ApplicationsView), r.CheckID()); err != nil {
		return page.Result[View]{}, err
	}

	filter, err := applicationFilter(in.byName(), "")
	if err != nil {
		return page.Result[View]{}, err
	}

	found, err := s.Applications.List(ctx, Visibility{OrganizationID: by.OrganizationID}, filter, r)
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

// Decision is an employer's decision on an application: its new status.
type Decision struct {
	ID     string `json:"id"` // of the application
	Status string `json:"status" sample:"review"`
	// Err is set by a caller that could not decode this decision of a batch. The decision is then
	// refused.
	Err error `json:"-"`
}

// Refusal is a decision of a batch that was not applied, and the reason.
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
func truncate(text string) string {
	characters := []rune(text)
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

	if reason, isRefused := failed[0]; isRefused { // the index of the only decision is 0
		return reason
	}

	return nil
}

// Dismiss sets an application to withdrawn on behalf of the employer, who may set another
// status later. It does nothing if the applicant has withdrawn the application.
func (s *Service) Dismiss(ctx context.Context, by auth.Actor, id string) error {
	err := s.Decide(ctx, by, Decision{ID: id, Status: string(Withdrawn)})

	// Withdrawn is a valid status, so this error means that the applicant has withdrawn the application.
	if errors.Is(err, ErrInvalidStatus) {
		return nil
	}

	return err
}

// DecideBatch applies decisions in their order. A refused decision does not prevent the others. If
// several decisions are about the same application, the last one takes effect. updated contains all
// applied decisions, including the earlier ones about that application.
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
	// Omit malformed ids from the query, because no application has one.
	isMalformed := func(applicationID string) bool { return applicationID == "" }
	ids := slices.DeleteFunc(list.Distinct(decisions, Decision.canonicalID), isMalformed)

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		// Read the applications. In a transaction, listReceived also locks them.
		applications, err := s.listReceived(ctx, by.OrganizationID, ids)
		if err != nil {
			return err
		}

		// Apply the decisions, from the beginning if a conflict has repeated the transaction.
		var changes []Change
		updated, failed, changes = s.applyDecisions(by, applications, decisions)

		if len(changes) == 0 {
			return nil
		}

		// Store the changed applications only.
		changed := map[string]bool{}
		for _, c := range changes {
			changed[c.ApplicationID] = true
		}

		applications = slices.DeleteFunc(applications, func(a Application) bool { return !changed[a.ID] })
		if err := s.Applications.UpdateStatuses(ctx, by.OrganizationID, applications, changes); err != nil {
			return err
		}

		return s.Events.Record(ctx, changeEvents(applications, changes)...)
	})

	return updated, failed, err
}

// canonicalID returns the id of the application in its stored form, or "" for a malformed id.
func (d Decision) canonicalID() string {
	canonicalID, _ := id.Canonical(d.ID)
	return canonicalID
}

// applyDecisions applies the decisions to the applications, which it changes in place. It returns
// the applied decisions, the faults of the refused ones by their index, and the changes of statuses
// in the order of the decisions. A decision for the current status is applied without a change.
func (s *Service) applyDecisions(
	by auth.Actor,
	applications []Application,
	decisions []Decision,
) (updated []Decision, failed map[int]*fault.Error, changes []Change) {
	failed = map[int]*fault.Error{}
	now := s.Clock.Now()

	byID := make(map[string]*Application, len(applications))
	for i := range applications {
		byID[applications[i].ID] = &applications[i]
	}

	for i, d := range decisions {
		if d.Err != nil {
			failed[i] = fault.Of(d.Err)
			continue
		}

		application := byID[d.canonicalID()]
		if application == nil { // it is unknown or of another organization, or its id is malformed
			failed[i] = ErrNotFound
			continue
		}

		previous := application.Status

		hasChanged, err := application.Decide(Status(d.Status), now)
		if err != nil {
			failed[i] = fault.Of(err)
			continue
		}

		updated = append(updated, Decision{ID: application.ID, Status: d.Status})
		if hasChanged {
			changes = append(changes, s.newChange(application, ByEmployer, by, previous))
		}
	}

	return updated, failed, changes
}

// changeEvents returns an event about each change of the applications.
func changeEvents(applications []Application, changes []Change) []event.Event {
	byID := list.ToMap(applications, func(a Application) (string, *Application) { return a.ID, &a })

	return list.Map(changes, func(c Change) event.Event { return c.event(byID[c.ApplicationID]) })
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

	filter, err := applicationFilter(in.byName(), "")
	if err != nil {
		return nil, err
	}

	return s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID}, filter)
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

	// GetTitleAndViews fails for a listing of another organization.
	title, views, err := s.Listings.GetTitleAndViews(ctx, by.OrganizationID, jobID)
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

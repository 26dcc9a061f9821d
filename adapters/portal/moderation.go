package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// reportRoutes returns the route with which visitors report a listing.
func reportRoutes(s *listings.Service) []web.Route {
	return []web.Route{
		{
			Method:  http.MethodPost,
			Path:    "/api/listings/:id/report",
			Auth:    web.Optional,
			Limit:   web.PerQuarterHour(10),
			Status:  201,
			Errors:  []int{404},
			Tag:     "Public job listings",
			Summary: "Report a public listing to the moderators, also without an account",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ReportInput) (web.Done, error) {
					return web.Message("Report sent"), s.ReportJob(ctx, c.Actor, in.ID, in.ReportInput)
				}),
		},
	}
}

// ReportInput is a report of a listing.
type ReportInput struct {
	IDPath
	listings.ReportInput
}

// moderation is the tag under which the documentation lists the routes of moderators.
const moderation = "Moderation"

// moderationRoutes returns the routes with which moderators decide about jobs. The API calls a listing
// a job. The case of a job collects what moderators have to know about it: reports, suspicions, and
// earlier decisions. A case is open until a moderator decides to keep the job, so that it is public again,
// or to take it down. Either decision can be reversed later.
func moderationRoutes(s *listings.Service) []web.Route {
	// decide returns the operation for one of the two decisions. do is the method of the service for the decision.
	type decideFunc func(ctx context.Context, by auth.Actor, listingID string, in listings.DecisionInput) (listings.Listing, error)
	decide := func(do decideFunc, message string) web.Operation {
		return answerWith(func(ctx context.Context, actor auth.Actor, in DecisionInput) (listings.Listing, error) {
			return do(ctx, actor, in.ID, in.DecisionInput)
		}, viewModeratedJob, message)
	}

	return routesFor(web.Moderator, moderation, []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/admin/cases",
			Summary: "List the jobs that were reported, are suspicious or are held, the ones that wait longest first",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ListCasesInput) (web.Reply[casesView], error) {
					f := listings.CaseFilter{State: listings.CaseState(in.State), OrganizationID: in.OrganizationID}
					r, err := s.Queue(ctx, c.Actor, f, in.Request())
					return web.OK(casesView{Cases: web.Each(r.Items, viewCase), Paged: paged(r, in.Paging)}, ""), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/admin/jobs/:id",
			Errors:  []int{404},
			Summary: "Get a job in any state with its reports and what is suspicious about it",
			Op:      getByID(s.GetCase, viewCaseDetail),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/admin/jobs/:id/take-down",
			Errors:  []int{404},
			Summary: "Take a job down, whatever its employer does, and notify the employer and the applicants",
			Op:      decide(s.TakeDown, "Job taken down"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/admin/jobs/:id/restore",
			Errors:  []int{404},
			Summary: "Restore a job that was taken down or held, or end the case of a public job without a change",
			Op:      decide(s.Keep, "Job restored"),
		},
	})
}

// ListCasesInput selects cases. An empty State selects cases of all states.
type ListCasesInput struct {
	PageInput
	State          string `query:"state" validate:"oneof='' open kept taken-down"`
	OrganizationID string `query:"organizationId" validate:"max=36"`
}

// DecisionInput is a decision about a job.
type DecisionInput struct {
	IDPath
	listings.DecisionInput
}

// moderatedJob is a job as moderators see it.
type moderatedJob struct {
	ID             string          `json:"id"`
	Title          string          `json:"title"`
	Company        string          `json:"company"`
	OrganizationID string          `json:"organizationId"`
	Description    string          `json:"description"`
	Location       string          `json:"location"`
	Salary         *salaryView     `json:"salary"`
	Status         listings.Status `json:"status"`
	// Hidden is true for a job that a moderator has taken down, or that is held.
	Hidden bool `json:"hidden"`
	// Public is true if the job is visible without an account: it is active, not expired, and not hidden.
	Public    bool      `json:"public"`
	CreatedAt time.Time `json:"createdAt"`
}

func viewModeratedJob(listing listings.Listing) moderatedJob {
	return moderatedJob{
		ID:             listing.ID,
		Title:          listing.Title,
		Company:        listing.Company,
		OrganizationID: listing.OrganizationID,
		Description:    listing.Description,
		Location:       listing.Location,
		Salary:         (*salaryView)(listing.Salary.InMajorUnits()),
		Status:         listing.Status,
		Hidden:         listing.HiddenAt != nil,
		Public:         listing.Open,
		CreatedAt:      listing.CreatedAt,
	}
}

// caseView is the case of a job in the list of cases.
type caseView struct {
	Job   moderatedJob       `json:"job"`
	State listings.CaseState `json:"state" sample:"open"`
	// Reports is the number of reports since the last decision.
	Reports int `json:"reports"`
	// Held is true for a job that is hidden because its organization is held or suspended, and
	// not because a moderator has taken the job down.
	Held bool `json:"held"`
	// Score is how suspicious the job is, from 0 to 100, for Reasons.
	Score    int       `json:"score"`
	Reasons  []string  `json:"reasons"`
	OpenedAt time.Time `json:"openedAt"`
	// DecidedAt is null before the first decision.
	DecidedAt *time.Time `json:"decidedAt"`
	// Note is the message to the employer of the last decision.
	Note string `json:"note"`
}

func viewCase(c listings.ModeratedCase) caseView {
	return caseView{
		Job:       viewModeratedJob(c.Listing),
		State:     c.State,
		Reports:   c.Reports,
		Held:      c.Held,
		Score:     c.Score,
		Reasons:   append([]string{}, c.Reasons...),
		OpenedAt:  c.OpenedAt,
		DecidedAt: c.DecidedAt,
		Note:      c.Note,
	}
}

type casesView struct {
	Cases []caseView `json:"cases"`
	Paged
}

// reportView is a report about a job.
type reportView struct {
	ID     string                `json:"id"`
	Reason listings.ReportReason `json:"reason" sample:"fees"`
	Text   string                `json:"text" sample:"They ask for a registration fee."`
	// Email is empty if the reporter has given none.
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"createdAt"`
}

// caseDetailView is the case of one job with its reports.
type caseDetailView struct {
	caseView
	// ReportList are the newest 100 reports.
	ReportList []reportView `json:"reportList"`
}

func viewCaseDetail(c listings.CaseDetail) caseDetailView {
	return caseDetailView{viewCase(c.ModeratedCase), web.Each(c.ReportList, func(r listings.JobReport) reportView {
		return reportView{ID: r.ID, Reason: r.Reason, Text: r.Text, Email: r.Email, CreatedAt: r.CreatedAt}
	})}
}

// organizationModerationRoutes returns the routes with which moderators decide about organizations and
// accounts. The standing of an organization is whether it is verified, held or suspended. The jobs of a held
// organization are hidden until a moderator releases the organization.
func organizationModerationRoutes(s *identity.Service) []web.Route {
	return routesFor(web.Moderator, moderation, []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/admin/organizations/:id",
			Errors:  []int{404},
			Summary: "Get an organization with its standing and its members",
			Op:      getByID(s.OrganizationFor, viewModeratedOrganization),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/admin/organizations/:id/standing",
			Errors:  []int{404},
			Summary: "Verify, release, suspend or restore an organization, and notify its admins",
			Op: answerWith(
				func(ctx context.Context, actor auth.Actor, in OrganizationActionInput) (identity.ModeratedOrganization, error) {
					organization, err := s.Moderate(ctx, actor, in.ID, in.OrganizationActionInput)
					if err != nil {
						return identity.ModeratedOrganization{}, err
					}

					// The response also has the members, which Moderate does not return.
					return s.OrganizationFor(ctx, actor, organization.ID)
				}, viewModeratedOrganization, "Organization changed"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/admin/accounts/:id/standing",
			Errors:  []int{404, 409},
			Summary: "Suspend an account, which ends its sessions and access by programs, or restore it, and notify its owner",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in AccountActionInput) (web.Done, error) {
					return web.Message("Account changed"), s.ModerateAccount(ctx, c.Actor, in.ID, in.AccountActionInput)
				}),
		},
	})
}

// OrganizationActionInput is an action on an organization.
type OrganizationActionInput struct {
	IDPath
	identity.OrganizationActionInput
}

// AccountActionInput is an action on an account.
type AccountActionInput struct {
	IDPath
	identity.AccountActionInput
}

// moderatedMember is a member of an organization as moderators see it.
type moderatedMember struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Email     string           `json:"email"`
	Role      identity.OrgRole `json:"role"`
	Suspended bool             `json:"suspended"`
}

// moderatedOrganization is an organization as moderators see it.
type moderatedOrganization struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Website     string `json:"website"`
	Description string `json:"description"`
	// VerifiedAt is null for an organization that is not verified.
	VerifiedAt *time.Time `json:"verifiedAt"`
	// VerifiedBy is moderator or domain, empty for an organization that is not verified.
	VerifiedBy string `json:"verifiedBy" sample:"domain"`
	// HeldAt is the time since which the organization is held: its jobs wait until a moderator decides about it.
	HeldAt *time.Time `json:"heldAt"`
	// SuspendedAt is the time since which the organization is suspended, which hides all its jobs. It is
	// null for an organization that is not suspended.
	SuspendedAt *time.Time `json:"suspendedAt"`
	CreatedAt   time.Time  `json:"createdAt"`
	// Members are at most 100.
	Members []moderatedMember `json:"members"`
}

// viewModeratedOrganization returns the organization as moderators see it. Zero times become null.
func viewModeratedOrganization(o identity.ModeratedOrganization) moderatedOrganization {
	verifiedBy := "" // without a verification, o.VerifiedBy can say that it was removed
	if o.IsVerified() {
		verifiedBy = o.VerifiedBy
	}

	return moderatedOrganization{
		ID:          o.ID,
		Name:        o.Name,
		Website:     o.Website,
		Description: o.Description,
		VerifiedAt:  optional(o.VerifiedAt),
		VerifiedBy:  verifiedBy,
		HeldAt:      optional(o.HeldAt),
		SuspendedAt: optional(o.SuspendedAt),
		CreatedAt:   o.CreatedAt,
		Members: web.Each(o.Members, func(m identity.ModeratedMember) moderatedMember {
			return moderatedMember{ID: m.UserID, Name: m.Name, Email: m.Email, Role: m.Role, Suspended: m.IsSuspended}
		}),
	}
}

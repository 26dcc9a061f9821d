package portal

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// auditRoutes returns the route of an organization's audit log: who has changed what, and when.
func auditRoutes(s *identity.Service) []web.Route {
	return []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/audit",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.Manage,
			Tag:        "Team",
			Summary:    "List the organization's audit log of the last year, newest first",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in AuditInput) (web.Reply[auditView], error) {
					from, to, _ := in.parseRange() // Problems has checked the two times
					filter := audit.Filter{Action: audit.Action(in.Action), Actor: in.Actor, From: from, To: to}
					r, err := s.OrganizationAudit(ctx, c.Actor, filter, in.Request())

					return web.OK(auditView{Entries: web.Each(r.Items, viewAuditEntry), Paged: paged(r, in.Paging)}, ""), err
				}),
		},
	}
}

// AuditInput selects entries of the audit log.
type AuditInput struct {
	PageInput
	Action string `query:"action" sample:"api_key.created"`
	Actor  string `query:"actor" validate:"max=64"`
	From   string `query:"from" sample:"2026-11-01"`
	To     string `query:"to" sample:"2026-11-30"`
}

// Problems returns the errors of all invalid filters.
func (in AuditInput) Problems() []fault.Field {
	_, _, problems := in.parseRange()
	if in.Action != "" && !slices.Contains(audit.Actions(), audit.Action(in.Action)) {
		problems = append(
			problems,
			fault.Field{Name: "action", Message: "must be one of: " + strings.Join(valueNames(audit.Actions()), ", ")},
		)
	}

	return problems
}

// parseRange returns the times of the parameters from and to, and the problems of invalid ones. The time of an empty
// parameter is the zero time. If the parameter to is a day, the range includes that day.
func (in AuditInput) parseRange() (from, to time.Time, problems []fault.Field) {
	parse := func(name, text string) time.Time {
		atEndOfDay := name == "to" // for a day without a time

		at, err := listings.ParseMoment(text, atEndOfDay)
		if err != nil && text != "" {
			problems = append(problems, fault.Field{Name: name, Message: err.Error()})
		}

		return at
	}

	from, to = parse("from", in.From), parse("to", in.To)

	return from, to, problems
}

// auditActor is the user who has made a change.
type auditActor struct {
	// ID is the id of a user, or "operator" for the operator of the service. It is empty if the actor is unknown.
	ID string `json:"id"`
	// Name and Email are empty for an actor who is not in the team.
	Name  string `json:"name"`
	Email string `json:"email"`
}

// auditEntryView is a change in the audit log.
type auditEntryView struct {
	ID     string       `json:"id"`
	At     time.Time    `json:"at"`
	Action audit.Action `json:"action" sample:"api_key.created"`
	Actor  auditActor   `json:"actor"`
	// Network is the /24 (IPv4) or /64 (IPv6) of the client's address.
	Network string `json:"network" sample:"198.51.100.0/24"`
	// Object is the id of the affected resource.
	Object string `json:"object"`
	// Detail qualifies the action, for example the new role or plan.
	Detail string `json:"detail"`
}

func viewAuditEntry(e identity.AuditEntry) auditEntryView {
	return auditEntryView{
		ID:      e.ID,
		At:      e.At,
		Action:  e.Action,
		Actor:   auditActor{ID: e.Actor, Name: e.ActorName, Email: e.ActorEmail},
		Network: e.Network,
		Object:  e.Object,
		Detail:  e.Detail,
	}
}

type auditView struct {
	Entries []auditEntryView `json:"entries"`
	Paged
}

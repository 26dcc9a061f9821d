package identity

import (
	"cmp"
	"context"
	"slices"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// organizationOf returns the id of the organization that the user works for, or "".
func (s *Service) organizationOf(ctx context.Context, userID string) (string, error) {
	m, err := s.Members.GetByUser(ctx, userID)
	if err != nil || m == nil {
		return "", err
	}

	return m.OrganizationID, nil
}

// auditUser records an action of a user in the audit log, for the organization that the user works
// for. Unlike audit.By, it does not need a signed-in caller. It also records the events of the
// action.
func (s *Service) auditUser(ctx context.Context, userID string, action audit.Action, object string, events ...event.Event) error {
	organizationID, err := s.organizationOf(ctx, userID)
	if err != nil {
		return err
	}

	err = s.Audit.Record(ctx, audit.Entry{Action: action, Actor: userID, OrganizationID: organizationID, Object: object})
	if err != nil || len(events) == 0 {
		return err
	}

	return s.Events.Record(ctx, events...)
}

// signInFailed records a failed sign-in in the audit log and returns ErrBadCredentials. For an
// account that does not exist, the userID is empty. signInFailed then runs the same SQL statements,
// so that the response time does not reveal whether the account exists.
func (s *Service) signInFailed(ctx context.Context, userID string) error {
	idToFind := cmp.Or(userID, s.NewID()) // a new id is the id of no user

	organizationID, err := s.organizationOf(ctx, idToFind)
	if err != nil {
		return err
	}

	entry := audit.Entry{Action: audit.SignInFailed, OrganizationID: organizationID, Object: userID}
	if err := s.Audit.Record(ctx, entry); err != nil {
		return err
	}

	return ErrBadCredentials
}

// AuditEntry is an entry of the audit log with the name and address of its actor.
type AuditEntry struct {
	audit.Entry
	// ActorName and ActorEmail are empty for an actor who is not in the team.
	ActorName, ActorEmail string
}

// OrganizationAudit lists the audit log of the caller's organization, the newest
// entry first. Only admins can call it.
func (s *Service) OrganizationAudit(
	ctx context.Context,
	actor auth.Actor,
	f audit.Filter,
	r page.Request,
) (page.Result[AuditEntry], error) {
	if err := cmp.Or(actor.Require(auth.Manage), r.CheckID()); err != nil {
		return page.Result[AuditEntry]{}, err
	}

	if f.Action != "" && !slices.Contains(audit.Actions(), f.Action) {
		return page.Result[AuditEntry]{}, nil // no entry has it, and Postgres refuses some texts
	}

	f.OrganizationID = actor.OrganizationID

	entries, err := s.AuditLog.List(ctx, f, r)
	if err != nil {
		return page.Result[AuditEntry]{}, err
	}

	// Read the names of the actors who are in the team. Actors that are not users, such as an
	// operator, have no id.
	actorIDs := list.Distinct(entries.Items, func(e audit.Entry) string { return e.Actor })
	actorIDs = slices.DeleteFunc(actorIDs, func(actorID string) bool { return !id.Valid(actorID) })

	membersByID := map[string]Member{}
	if len(actorIDs) > 0 {
		team, err := s.Members.List(ctx, actor.OrganizationID, MemberFilter{UserIDs: actorIDs}, page.After("", len(actorIDs)))
		if err != nil {
			return page.Result[AuditEntry]{}, err
		}

		membersByID = list.ToMap(team.Items, func(m Member) (string, Member) { return m.UserID, m })
	}

	return page.WithItems(entries, list.Map(entries.Items, func(e audit.Entry) AuditEntry {
		m := membersByID[e.Actor]
		return AuditEntry{Entry: e, ActorName: m.Name, ActorEmail: m.Email}
	})), nil
}

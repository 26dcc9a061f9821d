package identity

import (
	"context"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// organizationOf returns the organization that the user works for, empty for
// none.
func (s *Service) organizationOf(ctx context.Context, userID string) (string, error) {
	m, err := s.Members.GetByUser(ctx, userID)
	if err != nil || m == nil {
		return "", err
	}
	return m.OrganizationID, nil
}

// auditUser records an action of a user outside a signed-in request, for the
// organization that the user works for.
func (s *Service) auditUser(ctx context.Context, userID string, action audit.Action, object string) error {
	organizationID, err := s.organizationOf(ctx, userID)
	if err != nil {
		return err
	}
	return s.Audit.Record(ctx, audit.Entry{Action: action, Actor: userID, OrganizationID: organizationID, Object: object})
}

// signInFailed records a wrong password and returns ErrBadCredentials. userID is
// empty for an account that does not exist, which takes the same statements.
func (s *Service) signInFailed(ctx context.Context, userID string) error {
	lookup := userID
	if lookup == "" {
		lookup = s.NewID()
	}
	organizationID, err := s.organizationOf(ctx, lookup)
	if err != nil {
		return err
	}
	if err := s.Audit.Record(ctx, audit.Entry{Action: audit.SignInFailed, OrganizationID: organizationID, Object: userID}); err != nil {
		return err
	}
	return ErrBadCredentials
}

// AuditEntry is an entry with the actor as the team knows them.
type AuditEntry struct {
	audit.Entry
	// ActorName and ActorEmail are empty for an actor who is not in the team.
	ActorName, ActorEmail string
}

// OrganizationAudit lists the audit log of the caller's organization, the newest
// entry first. Admins only.
func (s *Service) OrganizationAudit(ctx context.Context, a auth.Actor, f audit.Filter, r page.Request) (page.Result[AuditEntry], error) {
	var out page.Result[AuditEntry]
	if err := a.Require(auth.Manage); err != nil {
		return out, err
	}
	if err := r.CheckID(); err != nil {
		return out, err
	}
	f.OrganizationID = a.OrganizationID
	found, err := s.AuditLog.List(ctx, f, r)
	if err != nil {
		return out, err
	}
	members := map[string]Member{}
	for _, e := range found.Items {
		members[e.Actor] = Member{}
	}
	if actors := ids(members); len(actors) > 0 {
		team, err := s.Members.List(ctx, a.OrganizationID, MemberFilter{UserIDs: actors}, page.After("", len(actors)))
		if err != nil {
			return out, err
		}
		for _, m := range team.Items {
			members[m.UserID] = m
		}
	}
	out = page.Result[AuditEntry]{Total: found.Total, TotalIsEstimate: found.TotalIsEstimate, NextCursor: found.NextCursor, Items: make([]AuditEntry, len(found.Items))}
	for i, e := range found.Items {
		m := members[e.Actor]
		out.Items[i] = AuditEntry{Entry: e, ActorName: m.Name, ActorEmail: m.Email}
	}
	return out, nil
}

// ids returns the keys that are ids.
func ids(members map[string]Member) []string {
	var out []string
	for key := range members {
		if id.Valid(key) {
			out = append(out, key)
		}
	}
	return out
}

package identity

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
)

// closedName replaces the name of an organization that was the name of a deleted
// user.
const closedName = "Closed organization"

// DeleteAccount deletes the caller's account: the personal data of this module at
// once, that of other modules by the event. An organization without another admin is
// closed. The caller must be confirmed.
func (s *Service) DeleteAccount(ctx context.Context, a auth.Actor) error {
	if err := a.RequireSeeker(); err != nil {
		return err
	}
	return s.deleteAccount(ctx, a, false)
}

// deleteAccount deletes the account, or only its membership.
func (s *Service) deleteAccount(ctx context.Context, a auth.Actor, membershipOnly bool) error {
	if err := a.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.caller(ctx, a.UserID)
		if err != nil {
			return err
		}
		now := s.Clock.Now()
		if !membershipOnly {
			if err := s.Audit.Record(ctx, audit.By(a, audit.AccountDeleted, u.ID)); err != nil {
				return err
			}
		}
		if err := s.resign(ctx, u, now); err != nil {
			return err
		}
		if membershipOnly {
			return s.Sessions.EndByUsers(ctx, []string{u.ID}, "", now)
		}
		// The account comes first: a concurrent sign-in or mail token is committed
		// before this update, or does not find the account.
		u.Erase(now)
		if err := s.Users.Update(ctx, &u); err != nil {
			return err
		}
		if err := s.PersonalData.DeleteByUser(ctx, u.ID); err != nil {
			return err
		}
		return s.recordTwice(ctx, kindErase, u.ID, event.AccountDeleted{UserID: u.ID, Kind: string(u.Kind), DeletedAt: now}, now)
	})
}

// recordTwice records the event now, and adds a task of the kind that records it again
// when the requests that began before have ended.
func (s *Service) recordTwice(ctx context.Context, kind, key string, e event.Event, now time.Time) error {
	again := task.New(kind, task.Events, kind+"/"+key, e)
	again.RunAt = now.Add(stragglersTake)
	if err := s.Tasks.Add(ctx, again); err != nil {
		return err
	}
	return s.Events.Record(ctx, e)
}

// DeleteEmployerAccount deletes the account of an employer. Of a jobseeker who has
// joined an organization it deletes the membership and ends the sessions.
func (s *Service) DeleteEmployerAccount(ctx context.Context, a auth.Actor) error {
	if err := a.RequireEmployer(); err != nil {
		return err
	}
	return s.deleteAccount(ctx, a, a.Seeker)
}

// resign ends the user's membership. The organization is closed if it has no
// other admin.
func (s *Service) resign(ctx context.Context, u User, now time.Time) error {
	m, err := s.leave(ctx, u.ID)
	if !errors.Is(err, ErrLastAdmin) {
		return err
	}
	// Separate from the other members, who keep their accounts.
	if err := s.Members.Delete(ctx, m.OrganizationID, []string{u.ID}); err != nil {
		return err
	}
	return s.dissolve(ctx, m.OrganizationID, u, now)
}

// leave deletes the user's active membership, which it returns, or nil without one. It
// fails with ErrLastAdmin if the organization has no other admin.
func (s *Service) leave(ctx context.Context, userID string) (*Membership, error) {
	m, err := s.Members.GetByUser(ctx, userID)
	if err != nil || m == nil {
		return nil, err
	}
	if _, err := s.Organizations.GetForUpdate(ctx, m.OrganizationID); err != nil {
		return nil, err
	}
	// Read again: it may have changed before the lock was acquired.
	if m, err = s.Members.GetByUser(ctx, userID); err != nil || m == nil {
		return nil, err
	}
	if err := s.requireOtherAdmin(ctx, *m); err != nil {
		return m, err
	}
	if err := s.Members.Delete(ctx, m.OrganizationID, []string{userID}); err != nil {
		return m, err
	}
	return m, s.Audit.Record(ctx, audit.Entry{Action: audit.MemberRemoved, Actor: userID, OrganizationID: m.OrganizationID, Object: userID})
}

// dissolve closes an organization whose last admin leaves: without an admin, no members
// can be added. Applicants still see the name of the organization, unless that is the
// name of the admin.
func (s *Service) dissolve(ctx context.Context, organizationID string, last User, now time.Time) error {
	for more := true; more; {
		team, err := s.Members.List(ctx, organizationID, MemberFilter{}, page.After("", dismissBatch))
		if err != nil {
			return err
		}
		if err := s.dismiss(ctx, organizationID, team.Items, now); err != nil {
			return err
		}
		more = team.NextCursor != ""
	}
	o, err := s.organization(ctx, organizationID)
	if err != nil {
		return err
	}
	if o.Name == last.Name {
		name := closedName
		if err := s.rewrite(ctx, &o, OrganizationInput{Name: &name}, true, now); err != nil {
			return err
		}
	}
	if err := s.Audit.Record(ctx, audit.Entry{Action: audit.OrganizationClosed, Actor: last.ID, OrganizationID: organizationID, Object: organizationID}); err != nil {
		return err
	}
	return s.Events.Record(ctx, event.OrganizationClosed{OrganizationID: organizationID, ClosedAt: now})
}

// dismissBatch is the number of members that are dismissed together.
const dismissBatch = 500

// dismiss deletes memberships and invitations, with the mail tokens of the
// invitations. The sessions of active members end, and accounts that were created for
// the organization alone become jobseekers'.
func (s *Service) dismiss(ctx context.Context, organizationID string, members []Member, now time.Time) error {
	if len(members) == 0 {
		return nil
	}
	userID := func(m Member) string { return m.UserID }
	if err := s.Members.Delete(ctx, organizationID, list.Map(members, userID)); err != nil {
		return err
	}
	active := list.Map(slices.DeleteFunc(members, func(m Member) bool { return m.Status != MemberActive }), userID)
	if len(active) == 0 {
		return nil
	}
	users, err := s.Users.GetByIDs(ctx, active)
	if err != nil {
		return err
	}
	slices.SortFunc(users, func(a, b User) int { return strings.Compare(a.ID, b.ID) }) // one order of locks
	for _, u := range users {
		if u.Kind != KindEmployer || u.Registered {
			continue
		}
		u.Kind, u.UpdatedAt = KindJobseeker, now
		if err := s.Users.Update(ctx, &u); err != nil {
			return err
		}
	}
	return s.Sessions.EndByUsers(ctx, active, "", now)
}

const (
	kindErase = "identity.erase-stragglers"
	// stragglersTake is longer than any request lasts that began before the account
	// was deleted.
	stragglersTake = time.Minute
)

// Handlers returns the handlers of the module's tasks.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		task.Handle(kindErase, task.Events, s.eraseStragglers),
		task.Handle(kindRename, task.Events, s.renameStragglers),
	}
}

// eraseStragglers deletes the personal data again, for rows that concurrent requests
// have stored after the account was deleted, such as an invitation to its address.
func (s *Service) eraseStragglers(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.PersonalData.DeleteByUser(ctx, e.UserID); err != nil {
			return err
		}
		return s.Events.Record(ctx, e)
	})
}

// renameStragglers records the event of a new name again, for rows that concurrent
// requests have stored with the old one.
func (s *Service) renameStragglers(ctx context.Context, e event.OrganizationRenamed) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Events.Record(ctx, e) })
}

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
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
)

// closedName replaces the name of a closed organization if it is the name of its last admin.
const closedName = "Closed organization"

// DeleteAccount deletes the caller's account. It deletes the personal data of this module at
// once; other modules delete theirs when they handle the event. An organization without another
// admin is closed. The caller must be confirmed.
func (s *Service) DeleteAccount(ctx context.Context, a auth.Actor) error {
	if err := a.RequireSeeker(); err != nil {
		return err
	}

	return s.deleteAccount(ctx, a)
}

// leaveOrganization ends the caller's membership and sessions. The account stays.
func (s *Service) leaveOrganization(ctx context.Context, a auth.Actor) error {
	if err := a.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.getCaller(ctx, a.UserID)
		if err != nil {
			return err
		}

		now := s.Clock.Now()
		if err := s.endMembership(ctx, user, now); err != nil {
			return err
		}

		return s.Sessions.EndByUsers(ctx, []string{user.ID}, noSession, now)
	})
}

// deleteAccount ends the caller's membership and deletes the account.
func (s *Service) deleteAccount(ctx context.Context, a auth.Actor) error {
	if err := a.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.getCaller(ctx, a.UserID)
		if err != nil {
			return err
		}

		// Record the deletion while the membership still relates it to the organization.
		if err := s.Audit.Record(ctx, audit.By(a, audit.AccountDeleted, user.ID)); err != nil {
			return err
		}

		now := s.Clock.Now()
		if err := s.endMembership(ctx, user, now); err != nil {
			return err
		}

		// Update the account before the other data is deleted: a concurrent transaction that
		// creates a session or mail token is either committed before, or does not find the account.
		user.Erase(now)

		if err := s.Users.Update(ctx, &user); err != nil {
			return err
		}

		if err := s.PersonalData.DeleteByUser(ctx, user.ID); err != nil {
			return err
		}

		deleted := event.AccountDeleted{UserID: user.ID, Kind: string(user.Kind), DeletedAt: now}

		return s.recordTwice(ctx, kindErase, user.ID, deleted, now)
	})
}

// recordTwice records the event now, and adds a task of the kind that records it again after
// maxRequestDuration. The second event is for rows that depend on the earlier state and that
// requests in progress may still store.
func (s *Service) recordTwice(ctx context.Context, kind, key string, e event.Event, now time.Time) error {
	again := task.New(kind, task.Events, kind+"/"+key, e)

	again.RunAt = now.Add(maxRequestDuration)
	if err := s.Tasks.Add(ctx, again); err != nil {
		return err
	}

	return s.Events.Record(ctx, e)
}

// DeleteEmployerAccount deletes the account of an employer. For a jobseeker who has joined an
// organization, it deletes only the membership and ends the sessions.
func (s *Service) DeleteEmployerAccount(ctx context.Context, a auth.Actor) error {
	if err := a.RequireEmployer(); err != nil {
		return err
	}

	if a.Seeker {
		return s.leaveOrganization(ctx, a)
	}

	return s.deleteAccount(ctx, a)
}

// endMembership ends the user's membership. The organization is closed if it has no other
// admin.
func (s *Service) endMembership(ctx context.Context, u User, now time.Time) error {
	m, err := s.removeMembership(ctx, u.ID)
	if !errors.Is(err, ErrLastAdmin) {
		return err
	}

	// closeOrganization changes the accounts of members. This account is deleted, so its
	// membership must be deleted before.
	if err := s.Members.Delete(ctx, m.OrganizationID, []string{u.ID}); err != nil {
		return err
	}

	return s.closeOrganization(ctx, m.OrganizationID, u, now)
}

// removeMembership deletes the user's active membership and returns it, or nil if there is
// none. If the organization has no other admin, it returns the membership with ErrLastAdmin.
func (s *Service) removeMembership(ctx context.Context, userID string) (*Membership, error) {
	m, err := s.Members.GetByUser(ctx, userID)
	if err != nil || m == nil {
		return nil, err
	}

	if _, err := s.Organizations.GetForUpdate(ctx, m.OrganizationID); err != nil {
		return nil, err
	}

	// Read the membership again: it may have changed before the organization was locked.
	m, err = s.Members.GetByUser(ctx, userID)
	if err != nil || m == nil {
		return nil, err
	}

	if err := s.requireOtherAdmin(ctx, *m); err != nil {
		return m, err
	}

	if err := s.Members.Delete(ctx, m.OrganizationID, []string{userID}); err != nil {
		return m, err
	}

	return m, s.Audit.Record(ctx, audit.Entry{
		Action:         audit.MemberRemoved,
		Actor:          userID,
		OrganizationID: m.OrganizationID,
		Object:         userID,
	})
}

// closeOrganization closes an organization whose last admin leaves, because no user could add
// members any more. Applicants still see its name, unless it is the name of the admin.
func (s *Service) closeOrganization(ctx context.Context, organizationID string, lastAdmin User, now time.Time) error {
	for hasNext := true; hasNext; {
		team, err := s.Members.List(ctx, organizationID, MemberFilter{}, page.After("", removalBatch))
		if err != nil {
			return err
		}

		if err := s.removeMembers(ctx, organizationID, team.Items, now); err != nil {
			return err
		}

		hasNext = team.NextCursor != ""
	}

	o, err := s.getOrganization(ctx, organizationID)
	if err != nil {
		return err
	}

	if o.Name == lastAdmin.Name {
		name := closedName

		const isCounted = true // the closing of an organization is not limited
		if err := s.updateOrganization(ctx, &o, OrganizationInput{Name: &name}, isCounted, now); err != nil {
			return err
		}
	}

	entry := audit.Entry{
		Action:         audit.OrganizationClosed,
		Actor:          lastAdmin.ID,
		OrganizationID: organizationID,
		Object:         organizationID,
	}
	if err := s.Audit.Record(ctx, entry); err != nil {
		return err
	}

	return s.Events.Record(ctx, event.OrganizationClosed{OrganizationID: organizationID, ClosedAt: now})
}

// removalBatch is the number of members that are removed in one batch.
const removalBatch = 500

// removeMembers deletes memberships, and invitations with their mail tokens. It ends the
// sessions of active members. Accounts that were created by accepting an invitation become
// accounts of jobseekers.
func (s *Service) removeMembers(ctx context.Context, organizationID string, members []Member, now time.Time) error {
	if len(members) == 0 {
		return nil
	}

	var userIDs, activeIDs []string
	for _, m := range members {
		userIDs = append(userIDs, m.UserID)
		if m.Status == MemberActive {
			activeIDs = append(activeIDs, m.UserID)
		}
	}

	if err := s.Members.Delete(ctx, organizationID, userIDs); err != nil {
		return err
	}

	if len(activeIDs) == 0 {
		return nil
	}

	users, err := s.Users.GetByIDs(ctx, activeIDs)
	if err != nil {
		return err
	}

	// Locking users in the same order prevents deadlocks.
	slices.SortFunc(users, func(a, b User) int { return strings.Compare(a.ID, b.ID) })

	for _, u := range users {
		// An account that was registered as one of an employer stays one.
		wasCreatedByInvitation := u.Kind == KindEmployer && !u.Registered
		if !wasCreatedByInvitation {
			continue
		}

		u.Kind, u.UpdatedAt = KindJobseeker, now
		if err := s.Users.Update(ctx, &u); err != nil {
			return err
		}
	}

	return s.Sessions.EndByUsers(ctx, activeIDs, noSession, now)
}

const (
	// kindErase is the kind of the task that repeats the deletion of an account; see recordTwice.
	kindErase = "identity.erase-stragglers"
	// maxRequestDuration is longer than any request takes.
	maxRequestDuration = time.Minute
)

// Handlers returns the handlers of the module's tasks.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		task.Handle(kindErase, task.Events, s.eraseLateWrites),
		task.Handle(kindRename, task.Events, s.repeatRename),
	}
}

// eraseLateWrites deletes the personal data again, for rows that concurrent requests
// have stored after the account was deleted, such as an invitation to its address.
func (s *Service) eraseLateWrites(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.PersonalData.DeleteByUser(ctx, e.UserID); err != nil {
			return err
		}

		return s.Events.Record(ctx, e)
	})
}

// repeatRename records the event again, for rows that concurrent requests have stored with the
// old name.
func (s *Service) repeatRename(ctx context.Context, e event.OrganizationRenamed) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Events.Record(ctx, e) })
}

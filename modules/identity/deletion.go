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

// closedName replaces the name of a closed organization if the organization has the same name as
// its last admin.
const closedName = "Closed organization"

// DeleteAccount deletes the account of a jobseeker. It deletes the personal data of this module at
// once. Other modules delete their data when they handle the event AccountDeleted. An organization
// without another admin is closed. The caller must be confirmed: they must have entered their
// password a short time ago.
func (s *Service) DeleteAccount(ctx context.Context, actor auth.Actor) error {
	if err := actor.RequireSeeker(); err != nil {
		return err
	}

	return s.deleteAccount(ctx, actor)
}

// DeleteEmployerAccount deletes the account of an employer, as DeleteAccount does. For a jobseeker
// who has joined an organization, it deletes only the membership and ends the sessions.
func (s *Service) DeleteEmployerAccount(ctx context.Context, actor auth.Actor) error {
	if err := actor.RequireEmployer(); err != nil {
		return err
	}

	if actor.Seeker {
		return s.leaveOrganization(ctx, actor)
	}

	return s.deleteAccount(ctx, actor)
}

// leaveOrganization ends the caller's membership and sessions. The account stays.
func (s *Service) leaveOrganization(ctx context.Context, actor auth.Actor) error {
	return s.changeConfirmed(ctx, actor, func(ctx context.Context, user User, now time.Time) error {
		if err := s.endMembership(ctx, user, now); err != nil {
			return err
		}

		return s.Sessions.EndByUsers(ctx, []string{user.ID}, noSession, now)
	})
}

// deleteAccount ends the caller's membership and deletes the account.
func (s *Service) deleteAccount(ctx context.Context, actor auth.Actor) error {
	return s.changeConfirmed(ctx, actor, func(ctx context.Context, user User, now time.Time) error {
		// Record the deletion while the membership still relates it to the organization.
		if err := s.Audit.Record(ctx, audit.By(actor, audit.AccountDeleted, user.ID)); err != nil {
			return err
		}

		if err := s.endMembership(ctx, user, now); err != nil {
			return err
		}

		// Update the account before the other data is deleted. A concurrent transaction that
		// creates a session or mail token is then either committed before this deletion, or does
		// not find the account.
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

// changeConfirmed calls change with the caller's account, in a transaction. It refuses a caller who
// has not entered their password within the last minutes.
func (s *Service) changeConfirmed(
	ctx context.Context,
	actor auth.Actor,
	change func(ctx context.Context, user User, now time.Time) error,
) error {
	if err := actor.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.getCaller(ctx, actor.UserID)
		if err != nil {
			return err
		}

		return change(ctx, user, s.Clock.Now())
	})
}

// recordTwice records the event now, and adds a task of the kind that records it again after
// maxRequestDuration. The key identifies the event within its kind. The second event is for requests
// that began before this transaction: they may still store rows from the earlier state, for example
// a copy of an old name. The handlers of the event change or delete such rows.
func (s *Service) recordTwice(ctx context.Context, kind, key string, e event.Event, now time.Time) error {
	repetition := task.New(kind, task.Events, kind+"/"+key, e)

	repetition.RunAt = now.Add(maxRequestDuration)
	if err := s.Tasks.Add(ctx, repetition); err != nil {
		return err
	}

	return s.Events.Record(ctx, e)
}

// endMembership ends the user's membership, if there is one. The organization is closed if it has no
// other admin.
func (s *Service) endMembership(ctx context.Context, user User, now time.Time) error {
	membership, err := s.removeMembership(ctx, user.ID)
	if !errors.Is(err, ErrLastAdmin) {
		return err
	}

	// Delete this membership before the organization is closed. closeOrganization updates the
	// accounts of all remaining members, but deleteAccount updates this account itself.
	if err := s.Members.Delete(ctx, membership.OrganizationID, []string{user.ID}); err != nil {
		return err
	}

	return s.closeOrganization(ctx, membership.OrganizationID, user, now)
}

// removeMembership deletes the user's active membership and returns it. It returns nil if there is
// none. If the organization has no other admin, it deletes nothing, and returns the membership with
// ErrLastAdmin.
func (s *Service) removeMembership(ctx context.Context, userID string) (*Membership, error) {
	membership, err := s.Members.GetByUser(ctx, userID)
	if err != nil || membership == nil {
		return nil, err
	}

	if _, err := s.Organizations.GetForUpdate(ctx, membership.OrganizationID); err != nil {
		return nil, err
	}

	// Read the membership again: it may have changed before the organization was locked.
	membership, err = s.Members.GetByUser(ctx, userID)
	if err != nil || membership == nil {
		return nil, err
	}

	if err := s.requireOtherAdmin(ctx, *membership); err != nil {
		return membership, err
	}

	if err := s.Members.Delete(ctx, membership.OrganizationID, []string{userID}); err != nil {
		return membership, err
	}

	return membership, s.Audit.Record(ctx, audit.Entry{
		Action:         audit.MemberRemoved,
		Actor:          userID,
		OrganizationID: membership.OrganizationID,
		Object:         userID,
	})
}

// closeOrganization closes an organization whose last admin leaves, because no user could add
// members any more. Applicants still see its name, unless it is the name of the admin.
func (s *Service) closeOrganization(ctx context.Context, organizationID string, lastAdmin User, now time.Time) error {
	// Remove the first members until none are left.
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

	organization, err := s.getOrganization(ctx, organizationID)
	if err != nil {
		return err
	}

	isPersonalName := organization.Name == lastAdmin.Name
	if isPersonalName {
		name := closedName

		const isCounted = true // the limit of renamings does not apply
		if err := s.updateOrganization(ctx, &organization, OrganizationInput{Name: &name}, isCounted, now); err != nil {
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

// removeMembers removes members and invited users from the organization. It deletes memberships, and
// invitations with their mail tokens. It ends the sessions of active members. Accounts that were
// created by accepting an invitation become accounts of jobseekers.
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
		// A user who registered as an employer remains an employer.
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
	// kindErase is the kind of the task that repeats the deletion of personal data; see recordTwice.
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

package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

// closedName is what an organization is called that bore the name of a person
// who is gone.
const closedName = "Closed organization"

// DeleteAccount erases the caller's account: at once what this module knows of
// the person, and by the event whatever others do. An organization that is left
// without an admin is closed with it. The caller must be confirmed.
func (s *Service) DeleteAccount(ctx context.Context, a auth.Actor) error {
	if err := a.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.Users.Find(ctx, a.UserID)
		if errors.Is(err, ErrUserNotFound) {
			return fault.ErrUnauthorized // by another request, just now
		} else if err != nil {
			return err
		}
		now := s.Clock.Now()
		if err := s.Audit.Record(ctx, audit.By(a, audit.AccountDeleted, u.ID)); err != nil {
			return err
		}
		if err := s.resign(ctx, u, now); err != nil {
			return err
		}
		// First the account, so that whoever is signing in, or having a mail
		// written, at this moment is done before what follows or finds nobody.
		u.Erase(now)
		if err := s.Users.Save(ctx, &u); err != nil {
			return err
		}
		if err := s.forget(ctx, u.ID); err != nil {
			return err
		}
		gone := event.AccountDeleted{UserID: u.ID, Kind: string(u.Kind), DeletedAt: now}
		again := task.New(kindErase, task.Events, kindErase+"/"+u.ID, gone)
		again.RunAt = now.Add(stragglersTake)
		if err := s.Tasks.Add(ctx, again); err != nil {
			return err
		}
		return s.Events.Record(ctx, gone)
	})
}

// forget removes what is kept beside the account itself.
func (s *Service) forget(ctx context.Context, userID string) error {
	if err := s.EmailUndos.DeleteSince(ctx, userID, time.Time{}); err != nil {
		return err
	}
	for _, remove := range []func(context.Context, string) error{
		s.Organizations.RemoveMemberships, s.Sessions.Remove, s.MailTokens.Remove, s.EmailChanges.Remove, s.EmployerSettings.Remove, s.SecondFactors.Delete,
	} {
		if err := remove(ctx, userID); err != nil {
			return err
		}
	}
	return nil
}

// DeleteEmployerAccount ends what the caller is on the employers' side: the
// whole account, or, of a jobseeker who had joined an organization, the
// membership. Either way the caller is signed out.
func (s *Service) DeleteEmployerAccount(ctx context.Context, a auth.Actor) error {
	if !a.Seeker {
		return s.DeleteAccount(ctx, a)
	}
	if err := a.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.Users.Find(ctx, a.UserID)
		if errors.Is(err, ErrUserNotFound) {
			return fault.ErrUnauthorized
		} else if err != nil {
			return err
		}
		now := s.Clock.Now()
		if err := s.resign(ctx, u, now); err != nil {
			return err
		}
		return s.Sessions.EndAll(ctx, a.UserID, "", now)
	})
}

// resign ends the user's membership. The organization is closed if it has no
// other admin.
func (s *Service) resign(ctx context.Context, u User, now time.Time) error {
	m, err := s.Organizations.MembershipOf(ctx, u.ID)
	if err != nil || m == nil {
		return err
	}
	if err := s.Organizations.Lock(ctx, m.OrganizationID); err != nil {
		return err
	}
	// Again, as it is now that nobody else can change it.
	if m, err = s.Organizations.MembershipOf(ctx, u.ID); err != nil || m == nil {
		return err
	}
	if m.guards() {
		switch err := s.anotherAdmin(ctx, *m); {
		case errors.Is(err, ErrLastAdmin):
			// Not with the others, who keep their accounts.
			if err := s.Organizations.RemoveMember(ctx, m.OrganizationID, u.ID); err != nil {
				return err
			}
			return s.dissolve(ctx, m.OrganizationID, u, now)
		case err != nil:
			return err
		}
	}
	return s.removeMember(ctx, m.OrganizationID, u.ID)
}

// removeMember ends the membership of a user who leaves.
func (s *Service) removeMember(ctx context.Context, organizationID, userID string) error {
	if err := s.Organizations.RemoveMember(ctx, organizationID, userID); err != nil {
		return err
	}
	return s.Audit.Record(ctx, audit.Entry{Action: audit.MemberRemoved, Actor: userID, OrganizationID: organizationID, Object: userID})
}

// dissolve closes an organization whose last admin leaves: nobody could let
// anybody in any more. It keeps its name for those who applied to it, unless
// that is the name of the person.
func (s *Service) dissolve(ctx context.Context, organizationID string, last User, now time.Time) error {
	if err := s.Organizations.Dissolve(ctx, organizationID, now); err != nil {
		return err
	}
	o, err := s.Organizations.Find(ctx, organizationID)
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

const (
	kindErase = "identity.erase-stragglers"
	// stragglersTake is longer than any request that began before the account
	// ended can last.
	stragglersTake = time.Minute
)

// Handlers do the work that the module gives itself.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		task.Handle(kindErase, task.Events, s.eraseStragglers),
		task.Handle(kindRename, task.Events, s.renameStragglers),
	}
}

// eraseStragglers does it all once more, for what requests were still writing
// when the account ended, such as an invitation to its address.
func (s *Service) eraseStragglers(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.forget(ctx, e.UserID); err != nil {
			return err
		}
		return s.Events.Record(ctx, e)
	})
}

// renameStragglers tells once more of a new name, for what was being written
// under the old one.
func (s *Service) renameStragglers(ctx context.Context, e event.OrganizationRenamed) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Events.Record(ctx, e) })
}

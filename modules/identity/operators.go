package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
)

// Operators run the service. They call the methods of this file on the command line, where they
// identify an account by its e-mail address.

// AccountStatus is an account as operators see it.
type AccountStatus struct {
	User
	// Membership is nil for a user without an organization.
	Membership   *Membership
	Organization Organization // zero without a Membership
	SecondFactor SecondFactorStatus
	// Sessions is the number of live sessions.
	Sessions int
}

// AccountByEmail returns the account with the address for an operator. It fails with
// ErrUserNotFound if there is no such account, or only an invited user.
func (s *Service) AccountByEmail(ctx context.Context, email string) (AccountStatus, error) {
	user, err := s.getActiveByEmail(ctx, email)
	if err != nil {
		return AccountStatus{}, err
	}

	// The page has one session, because only the total is needed.
	sessions, err := s.Sessions.List(ctx, user.ID, s.Clock.Now(), page.Request{Number: 1, Size: 1})
	if err != nil {
		return AccountStatus{}, err
	}

	secondFactor, err := s.MySecondFactor(ctx, auth.Actor{UserID: user.ID})
	if err != nil {
		return AccountStatus{}, err
	}

	membership, err := s.Members.GetByUser(ctx, user.ID)
	if err != nil {
		return AccountStatus{}, err
	}

	account := AccountStatus{User: user, Membership: membership, SecondFactor: secondFactor, Sessions: sessions.Total}
	if membership != nil {
		account.Organization, err = s.getOrganization(ctx, membership.OrganizationID)
	}

	return account, err
}

// getActiveByEmail returns the active account with the address, or fails with ErrUserNotFound.
func (s *Service) getActiveByEmail(ctx context.Context, email string) (User, error) {
	u, err := s.findByEmail(ctx, email)
	if err != nil {
		return User{}, err
	}

	if u.Status != UserActive {
		return User{}, ErrUserNotFound
	}

	return u, nil
}

// LockAccount ends the account's sessions and makes the account unusable: its
// password, API keys and OAuth tokens are refused until UnlockAccount.
func (s *Service) LockAccount(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.AccountLocked, func(ctx context.Context, u *User, now time.Time) error {
		u.Lock(now)
		if err := s.Users.Update(ctx, u); err != nil {
			return err
		}

		return s.Sessions.EndByUsers(ctx, []string{u.ID}, noSession, now)
	})
}

// UnlockAccount makes a locked account usable again. The sessions that LockAccount has ended stay
// ended.
func (s *Service) UnlockAccount(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.AccountUnlocked, func(ctx context.Context, u *User, now time.Time) error {
		u.Unlock(now)
		return s.Users.Update(ctx, u)
	})
}

// GrantModerator makes the user of the account a moderator.
func (s *Service) GrantModerator(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.ModeratorGranted, func(ctx context.Context, u *User, now time.Time) error {
		u.GrantModerator(now)
		return s.Users.Update(ctx, u)
	})
}

// RevokeModerator ends the user's role as a moderator.
func (s *Service) RevokeModerator(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.ModeratorRevoked, func(ctx context.Context, u *User, now time.Time) error {
		u.RevokeModerator(now)
		return s.Users.Update(ctx, u)
	})
}

// SignOutAccount ends the account's sessions.
func (s *Service) SignOutAccount(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.SessionsEnded, func(ctx context.Context, u *User, now time.Time) error {
		return s.Sessions.EndByUsers(ctx, []string{u.ID}, noSession, now)
	})
}

// changeAsOperator calls change with the account that has the address, and records the action of an
// operator in the audit log, in one transaction.
func (s *Service) changeAsOperator(
	ctx context.Context,
	email string,
	action audit.Action,
	change func(ctx context.Context, user *User, now time.Time) error,
) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.getActiveByEmail(ctx, email)
		if err != nil {
			return err
		}

		if err := change(ctx, &user, s.Clock.Now()); err != nil {
			return err
		}

		organizationID, err := s.organizationOf(ctx, user.ID)
		if err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.Entry{
			Action:         action,
			Actor:          audit.Operator,
			OrganizationID: organizationID,
			Object:         user.ID,
		})
	})
}

package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
)

// AccountStatus is an account as operators see it.
type AccountStatus struct {
	User
	// Membership is nil for a user without an organization.
	Membership   *Membership
	Organization Organization
	SecondFactor SecondFactorStatus
	// Sessions is the number of live sessions.
	Sessions int
}

// AccountByEmail returns the account with the address for an operator. It fails with
// ErrUserNotFound if there is no such account, or only an invited user.
func (s *Service) AccountByEmail(ctx context.Context, email string) (out AccountStatus, err error) {
	if out.User, err = s.accountByEmail(ctx, email); err != nil {
		return out, err
	}

	sessions, err := s.Sessions.List(ctx, out.ID, s.Clock.Now(), page.Request{Number: 1, Size: 1})
	if err != nil {
		return out, err
	}

	out.Sessions = sessions.Total
	if out.SecondFactor, err = s.MySecondFactor(ctx, auth.Actor{UserID: out.ID}); err != nil {
		return out, err
	}

	out.Membership, err = s.Members.GetByUser(ctx, out.ID)
	if err != nil || out.Membership == nil {
		return out, err
	}

	out.Organization, err = s.getOrganization(ctx, out.Membership.OrganizationID)

	return out, err
}

// accountByEmail returns the active account with the address, or fails with ErrUserNotFound.
func (s *Service) accountByEmail(ctx context.Context, email string) (User, error) {
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

		return s.Sessions.EndByUsers(ctx, []string{u.ID}, "", now)
	})
}

// UnlockAccount undoes LockAccount. The ended sessions stay ended.
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

// RevokeModerator undoes GrantModerator.
func (s *Service) RevokeModerator(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.ModeratorRevoked, func(ctx context.Context, u *User, now time.Time) error {
		u.RevokeModerator(now)
		return s.Users.Update(ctx, u)
	})
}

// SignOutAccount ends the account's sessions.
func (s *Service) SignOutAccount(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.SessionsEnded, func(ctx context.Context, u *User, now time.Time) error {
		return s.Sessions.EndByUsers(ctx, []string{u.ID}, "", now)
	})
}

// changeAsOperator calls fn with the account with the address, and records the action of an
// operator in the audit log, in one transaction.
func (s *Service) changeAsOperator(
	ctx context.Context,
	email string,
	action audit.Action,
	fn func(ctx context.Context, u *User, now time.Time) error,
) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.accountByEmail(ctx, email)
		if err != nil {
			return err
		}

		if err := fn(ctx, &u, s.Clock.Now()); err != nil {
			return err
		}

		e := audit.Entry{Action: action, Actor: audit.Operator, Object: u.ID}
		if e.OrganizationID, err = s.organizationOf(ctx, u.ID); err != nil {
			return err
		}

		return s.Audit.Record(ctx, e)
	})
}

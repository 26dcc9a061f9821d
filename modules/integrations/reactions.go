package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
)

// OnAccountDeleted deletes the applications of the account with everything that
// belongs to them, its consents and authorizations, and webhook messages about its
// job applications.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if _, err := s.Consents.Delete(ctx, e.UserID, ConsentFilter{}); err != nil {
			return err
		}
		apps, err := s.Apps.List(ctx, AppFilter{OwnerID: e.UserID}, page.After("", 2*maxApps))
		if err != nil {
			return err
		}
		for _, a := range apps.Items {
			if err := s.deleteApp(ctx, e.UserID, a.ID); err != nil {
				return err
			}
		}
		return s.Deliveries.DeleteByApplicant(ctx, e.UserID)
	})
}

// OnPasswordChanged revokes credentials that were created concurrently with a
// password change that signs out programs. It has no effect where accounts are
// stored in the same database: Accounts.HoldSession orders the two there.
func (s *Service) OnPasswordChanged(ctx context.Context, e event.PasswordChanged) error {
	if !e.SignedOutPrograms {
		return nil
	}
	return s.revokeConcurrent(ctx, signOut{e.UserID, e.ChangedAt})
}

// OnProgramsSignedOut is OnPasswordChanged for programs that were signed out without
// a new password.
func (s *Service) OnProgramsSignedOut(ctx context.Context, e event.ProgramsSignedOut) error {
	return s.revokeConcurrent(ctx, signOut{e.UserID, e.SignedOutAt})
}

// signOut is the payload of the tasks that revoke credentials again.
type signOut struct {
	UserID string    `json:"userId"`
	At     time.Time `json:"at"`
}

const (
	revokeKind = "integrations.revoke"
	// revokeAgain is longer than the transaction of a request lasts.
	revokeAgain = 2 * time.Minute
	// signOutLasts is longer than the transaction that signs out: credentials that are
	// created before its commit are revoked, too.
	signOutLasts = 10 * time.Second
)

// revokeConcurrent revokes credentials now, and once more when the transactions that
// are creating some have ended.
func (s *Service) revokeConcurrent(ctx context.Context, o signOut) error {
	if !s.SeparateIdentity {
		return nil
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.revoke(ctx, o); err != nil {
			return err
		}
		again := task.New(revokeKind, task.Events, "revoke:"+o.UserID+":"+o.At.Format(time.RFC3339Nano), o)
		again.RunAt = s.Clock.Now().Add(revokeAgain)
		return s.Tasks.Add(ctx, again)
	})
}

func (s *Service) revoke(ctx context.Context, o signOut) error {
	return s.programs().revoke(ctx, o.UserID, o.At.Add(signOutLasts), s.Clock.Now())
}

func (s *Service) programs() Programs {
	return Programs{Tx: s.Tx, Apps: s.Apps, Keys: s.Keys, Webhooks: s.Webhooks, Consents: s.Consents}
}

// OnSubscriptionChanged puts an application on the plan that is paid for, after a
// subscription has ended or a payment was completed without the request that began
// it.
func (s *Service) OnSubscriptionChanged(ctx context.Context, e event.SubscriptionChanged) error {
	if e.OwnerKind != "application" {
		return nil
	}
	expired := false
	switch e.Change {
	case event.SubscriptionStarted, event.SubscriptionUpgraded, event.SubscriptionDowngraded, event.SubscriptionCancelled, event.SubscriptionResumed:
	case event.SubscriptionEnded, event.SubscriptionLapsed:
		expired = true
	default: // a plan that an operator has set remains
		return nil
	}
	return fault.IfNotFound(s.followForOwner(ctx, e.OwnerID, expired), nil) // deleted since
}

// followForOwner calls follow on behalf of the application's owner.
func (s *Service) followForOwner(ctx context.Context, appID string, expired bool) error {
	a, err := s.findApp(ctx, appID)
	if err != nil {
		return err
	}
	owner := auth.Actor{UserID: a.OwnerID}
	if owner.OrganizationID, err = s.Accounts.OrganizationID(ctx, a.OwnerID); err != nil {
		return err
	}
	_, err = s.follow(ctx, owner, a.ID, expired)
	return err
}

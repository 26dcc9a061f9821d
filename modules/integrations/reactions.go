package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

// OnAccountDeleted deletes the applications of the account with all of their data, the
// consents and authorizations of the account, and webhook messages about the account's job
// applications.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if _, err := s.Consents.Delete(ctx, e.UserID, ConsentFilter{}); err != nil {
			return err
		}

		apps, err := s.Apps.List(ctx, AppFilter{OwnerID: e.UserID}, allApps)
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

// OnPasswordChanged revokes credentials that were created concurrently with a password change that
// signs out programs. The change has revoked all credentials that it found. If accounts are stored in
// another database, a request may create a credential at the same time, which the change does not find.
//
// If accounts are stored in the same database (SeparateIdentity is false), OnPasswordChanged has no
// effect: such a request locks the session (Accounts.HoldSession), and fails after the change.
func (s *Service) OnPasswordChanged(ctx context.Context, e event.PasswordChanged) error {
	if !e.SignedOutPrograms {
		return nil
	}

	return s.revokeConcurrent(ctx, signOut{UserID: e.UserID, At: e.ChangedAt})
}

// OnProgramsSignedOut does the same as OnPasswordChanged, for programs that were signed out
// without a change of the password.
func (s *Service) OnProgramsSignedOut(ctx context.Context, e event.ProgramsSignedOut) error {
	return s.revokeConcurrent(ctx, signOut{UserID: e.UserID, At: e.SignedOutAt})
}

// signOut is a sign-out of the programs of a user. It is the payload of the tasks that revoke
// credentials a second time.
type signOut struct {
	UserID string    `json:"userId"`
	At     time.Time `json:"at"`
}

const (
	revokeKind = "integrations.revoke"
	// revokeAgainAfter is the delay of the second revocation. It is longer than the
	// transaction of any request.
	revokeAgainAfter = 2 * time.Minute
	// signOutDuration is added to the time of the sign-out, because credentials that were created
	// before its transaction was committed have to be revoked too. It is longer than the transaction.
	signOutDuration = 10 * time.Second
)

// revokeConcurrent revokes credentials now, and again after revokeAgainAfter, when all
// transactions that were creating credentials have ended.
func (s *Service) revokeConcurrent(ctx context.Context, o signOut) error {
	if !s.SeparateIdentity {
		return nil
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.revoke(ctx, o); err != nil {
			return err
		}

		again := task.New(revokeKind, task.Events, "revoke:"+o.UserID+":"+o.At.Format(time.RFC3339Nano), o)
		again.RunAt = s.Clock.Now().Add(revokeAgainAfter)

		return s.Tasks.Add(ctx, again)
	})
}

// revoke revokes the credentials that were created before the sign-out was committed.
func (s *Service) revoke(ctx context.Context, o signOut) error {
	return s.programs().revoke(ctx, o.UserID, o.At.Add(signOutDuration), s.Clock.Now())
}

// programs returns the Programs of the service's ports.
func (s *Service) programs() Programs {
	return Programs{Tx: s.Tx, Apps: s.Apps, Keys: s.Keys, Webhooks: s.Webhooks, Consents: s.Consents}
}

// OnSubscriptionChanged puts an application on the plan that is paid for. The plan may have
// changed without a request of the owner: a subscription has ended, or a payment was
// completed later.
func (s *Service) OnSubscriptionChanged(ctx context.Context, e event.SubscriptionChanged) error {
	if e.OwnerKind != "application" {
		return nil
	}

	var cause planChangeCause

	switch e.Change {
	case event.SubscriptionStarted,
		event.SubscriptionUpgraded,
		event.SubscriptionDowngraded,
		event.SubscriptionCancelled, // by the owner; the plan continues until SubscriptionEnded
		event.SubscriptionResumed:
		cause = planChosen
	case event.SubscriptionEnded, event.SubscriptionLapsed:
		cause = planExpired
	default: // other changes must not replace a plan that an operator has set
		return nil
	}

	// The application may have been deleted since.
	return fault.IfNotFound(s.applyPaidPlanForOwner(ctx, e.OwnerID, cause), nil)
}

// applyPaidPlanForOwner calls applyPaidPlan on behalf of the application's owner.
func (s *Service) applyPaidPlanForOwner(ctx context.Context, appID string, cause planChangeCause) error {
	a, err := s.findApp(ctx, appID)
	if err != nil {
		return err
	}

	owner := auth.Actor{UserID: a.OwnerID}
	if owner.OrganizationID, err = s.Accounts.OrganizationID(ctx, a.OwnerID); err != nil {
		return err
	}

	_, err = s.applyPaidPlan(ctx, owner, a.ID, cause)

	return err
}

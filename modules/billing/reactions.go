package billing

import (
	"context"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/mail"
)

// MailSubscriptionChanged notifies the payer of a change of the subscription.
func (s *Service) MailSubscriptionChanged(ctx context.Context, eventID string, e event.SubscriptionChanged) error {
	o := Owner{Kind: OwnerKind(e.OwnerKind), ID: e.OwnerID}

	payers, err := s.People.Payers(ctx, []Owner{o})
	if err != nil {
		return err
	}

	payer := payers[o]
	if payer.Email == "" { // the account was deleted
		return nil
	}

	subject, text := s.mailText(e)

	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID:       "subscription-" + eventID,
		To:       mail.Address{Name: payer.Name, Email: payer.Email},
		Greeting: payer.Name,
		Home:     s.PublicURL,
		Subject:  subject,
		Body:     []mail.Block{{Text: text}},
	})
}

// mailText returns the subject and text of the e-mail about the change.
func (s *Service) mailText(e event.SubscriptionChanged) (subject, text string) {
	plan, _ := s.plan(e.Plan) // an unknown plan has an empty name

	name := plan.Name
	switch e.Change {
	case event.SubscriptionStarted, event.SubscriptionUpgraded:
		return "Your " + name + " plan has begun", fmt.Sprintf(
			"You are on the %s plan. It is paid until %s and renews by itself until you cancel it.",
			name,
			formatDay(e.ExpiresAt),
		)
	case event.SubscriptionDowngraded:
		return "Your " + name + " plan has begun", fmt.Sprintf(
			"You are on the %s plan. What was left of the plan before it pays for it until %s, and then it renews by itself until you cancel it.",
			name,
			formatDay(e.ExpiresAt),
		)
	case event.SubscriptionRenewed:
		return "Your " + name + " plan was renewed", fmt.Sprintf(
			"The payment for the %s plan arrived. It is paid until %s.",
			name,
			formatDay(e.ExpiresAt),
		)
	case event.SubscriptionPaymentFailed:
		return "Your payment did not work", fmt.Sprintf(
			"The payment for the %s plan was declined. It is tried again on %s. You can choose another payment method before that.",
			name,
			formatDay(e.NextAt),
		)
	case event.SubscriptionUnconfirmed:
		return "Please confirm your payment", fmt.Sprintf(
			"Your bank asks you to confirm the payment for the %s plan. Sign in and choose the plan again within 24 hours: your payment is then confirmed with your bank, and nothing is charged twice.",
			name,
		)
	case event.SubscriptionCancelled:
		if OwnerKind(e.OwnerKind) == Application {
			return "Your " + name + " plan is cancelled", fmt.Sprintf(
				"The %s plan is cancelled, and nothing more is charged. Your application is on the %s plan. Until %s you can choose %s again without a payment.",
				name,
				s.freeName(e),
				formatDay(e.ExpiresAt),
				name,
			)
		}

		return "Your " + name + " plan is cancelled", fmt.Sprintf(
			"The %s plan is cancelled. You keep it until %s, and nothing more is charged.",
			name,
			formatDay(e.ExpiresAt),
		)
	case event.SubscriptionResumed:
		return "Your " + name + " plan goes on", fmt.Sprintf(
			"The %s plan is not cancelled any more. It renews on %s.",
			name,
			formatDay(e.ExpiresAt),
		)
	case event.SubscriptionLapsed:
		return "Your plan has ended", fmt.Sprintf(
			"The payment for your plan was declined several times, so the plan has ended. You are on the %s plan.",
			s.freeName(e),
		)
	case event.SubscriptionRefused:
		return "Your payment did not work", fmt.Sprintf(
			"The payment for the %s plan was declined, so nothing has changed and nothing is charged. You can choose the plan again with another payment method.",
			name,
		)
	case event.SubscriptionMethodChanged:
		return "Your payment method has changed", "There is a new payment method on file for your account. If that was not you, please change your password."
	}

	return "Your plan has ended", "Your plan has ended. You are on the " + s.freeName(e) + " plan."
}

// formatDay formats the day of a time that the event may not contain.
func formatDay(t *time.Time) string {
	if t == nil {
		return "an unknown day"
	}

	return formatDate(*t)
}

// freeName returns the name of the default plan of the event's owner.
func (s *Service) freeName(e event.SubscriptionChanged) string {
	plan, _ := s.plan(Owner{Kind: OwnerKind(e.OwnerKind)}.Free())
	return plan.Name
}

// OnAccountDeleted deletes the billing data of the user, here and at the payment provider. It
// retains charges for accounting, but makes them anonymous.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.deleteOwner(ctx, Owner{Kind: User, ID: e.UserID})
}

// OnAppDeleted deletes the billing data of an application as OnAccountDeleted does.
func (s *Service) OnAppDeleted(ctx context.Context, e event.AppDeleted) error {
	return s.deleteOwner(ctx, Owner{Kind: Application, ID: e.AppID})
}

// deleteOwner deletes the owner at the provider, and then here. If the first step fails, the
// event is handled again.
func (s *Service) deleteOwner(ctx context.Context, o Owner) error {
	if err := s.Payments.Forget(ctx, o); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if _, err := s.Subscriptions.Lock(ctx, o); err != nil {
			return err
		}

		return s.erase(ctx, o)
	})
}

// erase deletes the owner's subscription and makes the owner's charges anonymous, by assigning
// them to an owner with a new id.
func (s *Service) erase(ctx context.Context, o Owner) error {
	anonymous := Owner{Kind: DeletedOwner, ID: s.NewID()}

	return s.Subscriptions.Erase(ctx, o, anonymous)
}

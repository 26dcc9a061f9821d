package billing

import (
	"time"

	"github.com/locumhq/locum/core/event"
)

// OwnerKind is the kind of an owner.
type OwnerKind string

// The kinds of owner.
const (
	User OwnerKind = "user"
	// Application is an application of a third party (module integrations).
	Application OwnerKind = "application"
	// DeletedOwner is the kind to which the charges of deleted accounts belong.
	DeletedOwner OwnerKind = "nobody"
)

// Owner is the owner of a subscription and of charges.
type Owner struct {
	Kind OwnerKind
	ID   string
}

// Status is the status of a subscription.
type Status string

// The statuses of a subscription.
const (
	Active Status = "active"
	// PastDue means that the last renewal was declined or awaits a confirmation by the payer.
	// The plan remains, and a declined renewal is repeated.
	PastDue Status = "past_due"
)

// Method is a payment method as the provider describes it. Card numbers never reach this
// service.
type Method struct {
	ID          string // assigned by the provider
	Brand       string
	Last4       string
	ExpiryMonth int
	ExpiryYear  int
}

// Subscription is the plan of an owner.
type Subscription struct {
	Owner  Owner
	Plan   string
	Status Status
	// AutoRenew is true if the plan is renewed at the end of the paid period.
	AutoRenew bool
	// AnchorAt is the time from which the months of the periods are counted. It determines the
	// day of the month on which periods begin. It is zero on a free plan.
	AnchorAt time.Time
	// ExpiresAt is the end of the paid period. It is zero on a free plan.
	ExpiresAt time.Time
	// NextAt is the time at which Renew (the periodic task that ends and renews subscriptions)
	// processes the subscription, or zero.
	NextAt time.Time
	// Failures counts the declined charges since the last successful one.
	Failures int
	// Method is the stored payment method, or zero.
	Method  Method
	Version int64
}

// NewSubscription returns the subscription of an owner who has not chosen a plan.
func NewSubscription(o Owner) Subscription {
	return Subscription{Owner: o, Plan: o.Free(), Status: Active, Version: 1}
}

// At returns the subscription at the given time. If it has expired, the owner is on the free
// plan, even if Renew has not stored that yet.
func (s *Subscription) At(now time.Time) Subscription {
	current := *s
	if current.isExpired(now) {
		current.end()
	}

	return current
}

// isExpired reports whether the paid period has ended and the plan is not renewed.
func (s *Subscription) isExpired(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !s.AutoRenew && !s.ExpiresAt.After(now)
}

// end returns the owner to the free plan.
func (s *Subscription) end() {
	s.Plan = s.Owner.Free()
	s.Status = Active
	s.AutoRenew = false
	s.Failures = 0
	s.AnchorAt = time.Time{}
	s.ExpiresAt = time.Time{}
	s.NextAt = time.Time{}
}

// renewalRetryDelays are the delays after the first and each further declined attempt to renew
// a plan. If the attempt after the last delay is declined too, the plan ends.
var renewalRetryDelays = [...]time.Duration{24 * time.Hour, 2 * 24 * time.Hour, 4 * 24 * time.Hour}

// applyPaid applies a paid charge and returns the change for the event.
func (s *Subscription) applyPaid(charge Charge) (change string) {
	switch {
	case charge.Renewal, s.Plan == charge.Plan:
		change = event.SubscriptionRenewed
	case s.Plan == s.Owner.Free():
		change = event.SubscriptionStarted
	default:
		change = event.SubscriptionUpgraded
	}

	// A renewal changes neither the method nor a cancellation, because the owner may have changed
	// them while the renewal was pending. It keeps the anchor, unless the plan has ended meanwhile.
	if !charge.Renewal {
		s.AutoRenew, s.Method = true, charge.Method
	}

	if !charge.Renewal || s.AnchorAt.IsZero() {
		s.AnchorAt = charge.PeriodStart
	}

	s.Plan = charge.Plan
	s.Status = Active
	s.Failures = 0
	s.ExpiresAt, s.NextAt = charge.PeriodEnd, charge.PeriodEnd

	return change
}

// setMethod replaces the payment method. It returns the change for the event, or "" if the
// method is the same.
func (s *Subscription) setMethod(m Method) (change string) {
	if s.Method.ID != m.ID {
		change = event.SubscriptionMethodChanged
	}

	s.Method = m

	return change
}

// resume revokes a cancellation. It returns the change for the event, or "" if the plan was
// not cancelled.
func (s *Subscription) resume() (change string) {
	if !s.AutoRenew {
		change = event.SubscriptionResumed
	}

	s.AutoRenew = true

	return change
}

// switchTo changes the plan without a payment. The credit for the rest of the previous plan, in the
// minor unit, pays for the first period. The length of the period depends on the credit: a credit
// of half the price pays for half a month.
func (s *Subscription) switchTo(plan Plan, credit int64, now time.Time) {
	month := addMonths(now, 1).Sub(now)
	paidTime := time.Duration(float64(month) * float64(credit) / float64(plan.Price.Minor))
	s.Plan, s.AutoRenew = plan.ID, true
	s.ExpiresAt = now.Add(paidTime).Truncate(time.Microsecond) // stored times have microseconds
	s.AnchorAt, s.NextAt = s.ExpiresAt, s.ExpiresAt
}

// applyDeclined applies a declined renewal and returns the change for the event, or "" if the
// owner has ended the plan meanwhile.
func (s *Subscription) applyDeclined(now time.Time) (change string) {
	switch {
	case s.Plan == s.Owner.Free():
		return ""
	case !s.AutoRenew || s.Failures >= len(renewalRetryDelays): // cancelled, or tried often enough
		s.end()
		return event.SubscriptionLapsed
	}

	s.Status, s.NextAt = PastDue, now.Add(renewalRetryDelays[s.Failures])
	s.Failures++

	return event.SubscriptionPaymentFailed
}

// applyUnconfirmed applies a renewal that the payer has to confirm. It returns the change for
// the event, or "" if the plan is not renewed any more.
func (s *Subscription) applyUnconfirmed() (change string) {
	if s.Plan == s.Owner.Free() || !s.AutoRenew {
		return ""
	}

	s.Status = PastDue

	return event.SubscriptionUnconfirmed
}

// cancel ends the plan with its paid period, or at once if that period is over. It returns the
// change for the event, or "" if there is nothing to cancel.
func (s *Subscription) cancel(now time.Time) (change string) {
	switch {
	case s.Plan == s.Owner.Free() || !s.AutoRenew:
		return ""
	case s.ExpiresAt.After(now):
		s.AutoRenew, s.NextAt = false, s.ExpiresAt
		return event.SubscriptionCancelled
	}

	s.end()

	return event.SubscriptionEnded
}

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
	// Application is a third party's application.
	Application OwnerKind = "application"
	// DeletedOwner is the owner of the charges of deleted accounts.
	DeletedOwner OwnerKind = "nobody"
)

// Owner is the subject of subscriptions and charges.
type Owner struct {
	Kind OwnerKind
	ID   string
}

// Status is the status of a subscription.
type Status string

// The statuses; see the package comment.
const (
	Active  Status = "active"
	PastDue Status = "past_due"
)

// Method is a payment method as its provider describes it. Card numbers never reach
// this service.
type Method struct {
	ID          string // the provider's
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
	// AnchorAt determines the day of the month on which periods begin, and ExpiresAt is
	// the end of the paid period; both are zero on a free plan.
	AnchorAt  time.Time
	ExpiresAt time.Time
	// NextAt is when the subscription is due for Renew, zero for never.
	NextAt time.Time
	// Failures counts the declined charges since the last paid one.
	Failures int
	// Method is the payment method on file, zero without one.
	Method  Method
	Version int64
}

// NewSubscription returns the subscription of an owner who has not chosen a plan.
func NewSubscription(o Owner) Subscription {
	return Subscription{Owner: o, Plan: o.Free(), Status: Active, Version: 1}
}

// At returns the subscription at the time: an expired one has ended, also if Renew has
// not stored that yet.
func (s *Subscription) At(now time.Time) Subscription {
	at := *s
	if at.over(now) {
		at.end()
	}
	return at
}

// over reports whether the paid period has ended without a renewal.
func (s *Subscription) over(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !s.AutoRenew && !s.ExpiresAt.After(now)
}

// end returns the owner to the free plan.
func (s *Subscription) end() {
	s.Plan, s.Status, s.AutoRenew, s.Failures = s.Owner.Free(), Active, false, 0
	s.AnchorAt, s.ExpiresAt, s.NextAt = time.Time{}, time.Time{}, time.Time{}
}

// retryAfter are the delays after declined renewals. After the last one the plan
// ends.
var retryAfter = [...]time.Duration{24 * time.Hour, 2 * 24 * time.Hour, 4 * 24 * time.Hour}

// paid applies a paid charge and returns the change for the event.
func (s *Subscription) paid(c Charge) (change string) {
	switch {
	case c.Renewal, s.Plan == c.Plan:
		change = event.SubscriptionRenewed
	case s.Plan == s.Owner.Free():
		change = event.SubscriptionStarted
	default:
		change = event.SubscriptionUpgraded
	}
	if !c.Renewal {
		s.AutoRenew, s.Method = true, c.Method
	}
	if !c.Renewal || s.AnchorAt.IsZero() {
		s.AnchorAt = c.PeriodStart
	}
	s.Plan, s.Status, s.Failures = c.Plan, Active, 0
	s.ExpiresAt, s.NextAt = c.PeriodEnd, c.PeriodEnd
	return change
}

// use replaces the payment method and returns the change for the event, or an empty text
// if the subscription has it already.
func (s *Subscription) use(m Method) (change string) {
	if s.Method.ID != m.ID {
		change = event.SubscriptionMethodChanged
	}
	s.Method = m
	return change
}

// resume renews the plan again and returns the change for the event, or an empty text if
// it was not cancelled.
func (s *Subscription) resume() (change string) {
	if !s.AutoRenew {
		change = event.SubscriptionResumed
	}
	s.AutoRenew = true
	return change
}

// switchTo changes the plan for as long as the credit, in the minor unit, pays for it.
func (s *Subscription) switchTo(plan Plan, rest int64, now time.Time) {
	month := addMonths(now, 1).Sub(now)
	s.Plan, s.AutoRenew = plan.ID, true
	s.ExpiresAt = now.Add(time.Duration(float64(month) * float64(rest) / float64(plan.Price.Minor))).Truncate(time.Microsecond)
	s.AnchorAt, s.NextAt = s.ExpiresAt, s.ExpiresAt
}

// declined applies a declined renewal and returns the change for the event.
func (s *Subscription) declined(now time.Time) (change string) {
	switch {
	case s.Plan == s.Owner.Free():
		return "" // ended by its owner
	case !s.AutoRenew || s.Failures >= len(retryAfter):
		s.end()
		return event.SubscriptionLapsed
	}
	s.Status, s.NextAt = PastDue, now.Add(retryAfter[s.Failures])
	s.Failures++
	return event.SubscriptionPaymentFailed
}

// unconfirmed applies a renewal that the payer has to confirm. It reports false if
// the plan is not renewed any more.
func (s *Subscription) unconfirmed() bool {
	if s.Plan == s.Owner.Free() || !s.AutoRenew {
		return false
	}
	s.Status = PastDue
	return true
}

// cancel lets the plan end with the paid period and returns the change for the
// event.
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

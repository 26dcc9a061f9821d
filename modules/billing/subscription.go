package billing

import (
	"time"

	"github.com/locumhq/locum/core/event"
)

// OwnerKind is what sort of thing pays.
type OwnerKind string

// The kinds of owner.
const (
	User OwnerKind = "user"
	// Application is a third party's program.
	Application OwnerKind = "application"
	// Nobody had an account once. Charges alone can be theirs.
	Nobody OwnerKind = "nobody"
)

// Owner is who subscribes and pays.
type Owner struct {
	Kind OwnerKind
	ID   string
}

// Status is where a subscription stands.
type Status string

// The statuses; see the package comment.
const (
	Active  Status = "active"
	PastDue Status = "past_due"
)

// Method is a payment method as its provider describes it. No number of a card
// ever reaches this service.
type Method struct {
	ID          string // the provider's
	Brand       string
	Last4       string
	ExpiryMonth int
	ExpiryYear  int
}

// Subscription is what an owner is subscribed to.
type Subscription struct {
	Owner  Owner
	Plan   string
	Status Status
	// AutoRenew says that the plan goes on when what is paid for is over.
	AutoRenew bool
	// AnchorAt is the moment whose day of the month each period begins on, and
	// ExpiresAt when what is paid for ends; both are zero on a free plan.
	AnchorAt  time.Time
	ExpiresAt time.Time
	// NextAt is when time alone changes something next, zero for never.
	NextAt time.Time
	// Failures counts the declined charges since the last that was paid.
	Failures int
	// Method is what is charged, zero without one.
	Method  Method
	Version int64
}

// NewSubscription is what an owner has who never chose another plan.
func NewSubscription(o Owner) Subscription {
	return Subscription{Owner: o, Plan: o.Free(), Status: Active, Version: 1}
}

// At is the subscription as it stands at the moment: what has run out is over,
// also when nobody has come by yet to write that down.
func (s *Subscription) At(now time.Time) Subscription {
	at := *s
	if at.over(now) {
		at.end()
	}
	return at
}

// over reports whether nothing is paid for any more and nothing will be.
func (s *Subscription) over(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !s.AutoRenew && !s.ExpiresAt.After(now)
}

// end puts the owner back to the free plan.
func (s *Subscription) end() {
	s.Plan, s.Status, s.AutoRenew, s.Failures = s.Owner.Free(), Active, false, 0
	s.AnchorAt, s.ExpiresAt, s.NextAt = time.Time{}, time.Time{}, time.Time{}
}

// retryAfter is how long after each declined charge of a period the next is
// tried. After the last the plan ends.
var retryAfter = [...]time.Duration{24 * time.Hour, 2 * 24 * time.Hour, 4 * 24 * time.Hour}

// paid goes on after a charge: the plan is the charge's, until its period ends.
// It says what that is to the owner.
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

// turnTo puts what is left of the present period, worth so much in the minor unit,
// towards another plan, which goes on for as long as that pays for it.
func (s *Subscription) turnTo(plan Plan, rest int64, now time.Time) {
	month := addMonths(now, 1).Sub(now)
	s.Plan, s.AutoRenew = plan.ID, true
	s.ExpiresAt = now.Add(time.Duration(float64(month) * float64(rest) / float64(plan.Price.Minor))).Truncate(time.Microsecond)
	s.AnchorAt, s.NextAt = s.ExpiresAt, s.ExpiresAt
}

// declined goes on after a renewal that could not be paid for.
func (s *Subscription) declined(now time.Time) (change string) {
	switch {
	case s.Plan == s.Owner.Free():
		return "" // ended by its owner meanwhile
	case !s.AutoRenew || s.Failures >= len(retryAfter):
		s.end()
		return event.SubscriptionLapsed
	}
	s.Status, s.NextAt = PastDue, now.Add(retryAfter[s.Failures])
	s.Failures++
	return event.SubscriptionPaymentFailed
}

// cancel lets the plan end with what is paid for.
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

package billing

import "time"

// ChargeStatus is the status of a charge.
type ChargeStatus string

// The statuses of a charge. Only a pending charge changes.
const (
	Pending  ChargeStatus = "pending"
	Paid     ChargeStatus = "paid"
	Declined ChargeStatus = "failed"
)

// Charge is one payment of an owner.
type Charge struct {
	// ID is also the idempotency key for the provider.
	ID    string
	Owner Owner
	Plan  string
	// Amount is the price of the plan, less a credit for the rest of the previous plan.
	Amount Money
	Method Method
	// Renewal is true for a renewal. Its payer is not present.
	Renewal                bool
	PeriodStart, PeriodEnd time.Time
	Status                 ChargeStatus
	// Receipt is the provider's id of the payment.
	Receipt   string
	CreatedAt time.Time
	// Attempts counts the calls to the provider.
	Attempts int
	// NextAt is the time of the next call to the provider, while the charge is pending.
	NextAt time.Time
	// ActionAt is the time at which the provider required a confirmation by the payer, or
	// zero.
	ActionAt time.Time
}

// confirmTimeout is the time that a payer has to confirm a payment. After this time, the payment is
// declined.
const confirmTimeout = 24 * time.Hour

// awaitsPayer reports whether the payer has to confirm the payment.
func (c Charge) awaitsPayer() bool { return c.Status == Pending && !c.ActionAt.IsZero() }

// retryDelay returns the delay before the next call to the provider, after the given number of
// calls without a result. The delay begins with a minute and doubles with each call, up to an hour.
func retryDelay(attempts int) time.Duration {
	doublings := min(attempts, 10) // limited, because many more would overflow
	return min(time.Minute<<doublings, time.Hour)
}

// firstCallTime is the time in which a new charge is collected by the process that has created
// it. If that fails, Renew continues the charge.
var firstCallTime = retryDelay(0)

// minCharge is the smallest amount that providers collect, in the minor unit.
const minCharge = 50

// creditFor returns the value of the rest of the paid period in the minor unit, rounded down.
// Like switchTo, it calculates with the length of the month that begins now, so that nothing
// is lost or gained by switching back and forth.
func creditFor(s Subscription, price Money, now time.Time) int64 {
	month := addMonths(now, 1).Sub(now)
	rest := max(0, s.ExpiresAt.Sub(now))

	return int64(float64(price.Minor) * float64(rest) / float64(month))
}

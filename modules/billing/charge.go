package billing

import "time"

// ChargeStatus is the status of a charge.
type ChargeStatus string

// The statuses of a charge. One that is not pending does not change.
const (
	Pending  ChargeStatus = "pending"
	Paid     ChargeStatus = "paid"
	Declined ChargeStatus = "failed"
)

// Charge is one payment of an owner.
type Charge struct {
	// ID is also the idempotency key of the provider.
	ID    string
	Owner Owner
	Plan  string
	// Amount is the price of the plan, less the rest of the previous one.
	Amount Money
	Method Method
	// Renewal is true for the charge of a renewal, whose payer is not present.
	Renewal                bool
	PeriodStart, PeriodEnd time.Time
	Status                 ChargeStatus
	// Receipt is the provider's id of the payment.
	Receipt   string
	CreatedAt time.Time
	// Attempts counts the calls of the provider, and NextAt is when the next one is due
	// while the charge is pending.
	Attempts int
	NextAt   time.Time
	// ActionAt is when the provider asked the payer to confirm the payment, zero if it
	// did not.
	ActionAt time.Time
}

// confirmWithin is how long a payer can confirm a payment. Then it is declined.
const confirmWithin = 24 * time.Hour

// waits reports whether the charge waits for the payer.
func (c Charge) waits() bool { return c.Status == Pending && !c.ActionAt.IsZero() }

// retryDelay is the delay before the provider is called again after the given number
// of attempts without a result.
func retryDelay(attempts int) time.Duration {
	return min(time.Minute<<min(attempts, 10), time.Hour)
}

// minCharge is the least amount that providers collect, in the minor unit.
const minCharge = 50

// credit returns the value of the rest of the paid period, rounded down. A month is
// the one that begins now, as in switchTo, so that switching back and forth neither
// costs nor saves anything.
func credit(s Subscription, price Money, now time.Time) int64 {
	month, rest := addMonths(now, 1).Sub(now), max(0, s.ExpiresAt.Sub(now))
	return int64(float64(price.Minor) * float64(rest) / float64(month))
}

package billing

import "time"

// ChargeStatus is where a charge stands.
type ChargeStatus string

// The statuses of a charge. What is not pending stays as it is.
const (
	Pending  ChargeStatus = "pending"
	Paid     ChargeStatus = "paid"
	Declined ChargeStatus = "failed"
)

// Charge is money that is asked of an owner, once.
type Charge struct {
	// ID is also the idempotency key under which the provider is asked.
	ID    string
	Owner Owner
	Plan  string
	// Amount is what is asked for; the price of the plan, less what is left of
	// the one before.
	Amount Money
	Method Method
	// Renewal says that nobody is there to answer for it.
	Renewal                bool
	PeriodStart, PeriodEnd time.Time
	Status                 ChargeStatus
	// Receipt is the provider's id of it, once paid.
	Receipt   string
	CreatedAt time.Time
	// Attempts counts how often the provider was asked, and NextAt is when it is
	// asked again unless somebody has settled the charge.
	Attempts int
	NextAt   time.Time
}

// patience is how long whoever opened a charge, or asks for it, has before
// another asks too: longer the more often there was no answer.
func patience(attempts int) time.Duration {
	return min(time.Minute<<min(attempts, 10), time.Hour)
}

// leastCharge is an amount, in the minor unit, below which nobody is charged:
// providers refuse to.
const leastCharge = 50

// credit is what the rest of what is paid for is worth, rounded down. Its month is
// the one that begins now, as turnTo's is, so that nobody gains or loses by turning
// to and fro.
func credit(s Subscription, price Money, now time.Time) int64 {
	whole, left := addMonths(now, 1).Sub(now), s.ExpiresAt.Sub(now)
	if left <= 0 {
		return 0
	}
	return int64(float64(price.Minor) * float64(left) / float64(whole))
}

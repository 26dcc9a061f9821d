package listings

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// The scores that Suspicion returns.
const (
	maxScore = 100
	// suspicionThreshold is the score from which a listing is put into the queue of moderators.
	suspicionThreshold = 50
	duplicateScore     = 30 // for each listing of another organization with the same text
	unusualPayScore    = 30
)

// suspicionRule adds its score to a listing whose text matches the pattern.
type suspicionRule struct {
	score   int
	reason  string
	pattern *regexp.Regexp
}

// suspicionRules are the signs of a scam. A fee, or a payment that cannot be reverted, is
// enough for a review by a moderator (suspicionThreshold). The other signs are enough only in
// combination.
var suspicionRules = []suspicionRule{
	{
		score:  50,
		reason: "It asks applicants for a fee",
		pattern: regexp.MustCompile(
			`(?i)\b(registration|processing|application|training|visa|admin(istration)?|refundable|security|starter[- ]kit)\s+(fee|deposit|charge|payment)s?\b|\bpay\s+(a|the|an)\s+(fee|deposit)\b`,
		),
	},
	{
		score:   50,
		reason:  "It asks for money by transfer, gift card or cryptocurrency",
		pattern: regexp.MustCompile(`(?i)\b(western union|moneygram|gift\s?cards?|bitcoin|crypto(currency)?|usdt|wire transfer|cash ?app)\b`),
	},
	{
		score:   40,
		reason:  "It moves applicants to a messenger",
		pattern: regexp.MustCompile(`(?i)\b(whats\s?app|telegram|t\.me|wa\.me|signal app|viber|wechat|facebook messenger)\b`),
	},
	{
		score:  30,
		reason: "It asks for bank details or documents of identity",
		pattern: regexp.MustCompile(
			`(?i)\b(bank (account )?details|account number|sort code|copy of your passport|passport scan|national insurance number|social security number)\b`,
		),
	},
	{
		score:  20,
		reason: "It gives an address of a public mailbox provider",
		pattern: regexp.MustCompile(
			`(?i)[a-z0-9._%+-]+@(gmail|googlemail|yahoo|hotmail|outlook|live|aol|icloud|proton|protonmail|gmx|mail|yandex)\.[a-z.]{2,}`,
		),
	},
	{
		score:  20,
		reason: "It promises work without an interview or experience",
		pattern: regexp.MustCompile(
			`(?i)\b(no interview|without (an )?interview|no experience (is )?(needed|required|necessary)|guaranteed (visa|job|income)|earn up to)\b`,
		),
	},
}

// The range of usual yearly pay in healthcare, in minor units of GBP, EUR and USD.
const (
	lowestPay  = 8_000_00
	highestPay = 600_000_00
	// widestRange is the highest usual ratio of the maximum and the minimum of one listing.
	widestRange = 5
)

// Suspicion returns a score from 0 to 100 for how likely the listing is a scam, with the
// reasons. It is information for moderators and does not hide the listing.
func Suspicion(l *Listing) (score int, reasons []string) {
	text := strings.Join(append([]string{l.Title, l.Description}, append(l.Requirements, l.Benefits...)...), "\n")
	for _, rule := range suspicionRules {
		if rule.pattern.MatchString(text) {
			score += rule.score
			reasons = append(reasons, rule.reason)
		}
	}

	if l.Salary != nil && hasUsualPay(l.Salary.Currency) {
		low, high := l.Salary.Yearly()
		isTooHigh := high > highestPay
		isTooLow := high > 0 && high < lowestPay
		isTooWide := low > 0 && high > widestRange*low // such as "20,000 to 200,000"

		if isTooHigh || isTooLow || isTooWide {
			score += unusualPayScore
			reasons = append(reasons, "Its pay is unusual")
		}
	}

	return min(score, maxScore), reasons
}

// changesSuspicion reports whether moderators have to review a suspicious listing again after a
// change. They do if the reasons have changed, or a part of the listing from which Suspicion
// computes the reasons. A new title alone is no reason for a review unless it is suspicious by
// itself.
func changesSuspicion(before, l *Listing) bool {
	_, oldReasons := Suspicion(before)
	_, reasons := Suspicion(l)
	titleScore, _ := Suspicion(&Listing{Content: Content{Title: l.Title}})

	return before.Status == Draft ||
		!slices.Equal(oldReasons, reasons) ||
		before.Title != l.Title && titleScore > 0 ||
		normalizedText(before.Description) != normalizedText(l.Description) ||
		!slices.Equal(before.Requirements, l.Requirements) ||
		!slices.Equal(before.Benefits, l.Benefits) ||
		!reflect.DeepEqual(before.Salary, l.Salary)
}

// hasUsualPay reports whether the range of usual pay applies to the currency.
func hasUsualPay(currency string) bool {
	return currency == "GBP" || currency == "EUR" || currency == "USD"
}

// normalizedText returns the words of a text in lower case, separated by single spaces.
func normalizedText(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

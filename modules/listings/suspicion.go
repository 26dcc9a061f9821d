package listings

import (
	"regexp"
	"strings"
)

// The scores of a Suspicion.
const (
	maxScore = 100
	// suspicious is the score from which a listing is put into the queue of moderators.
	suspicious     = 50
	duplicateScore = 30
)

// suspicionRule is a pattern in the text of a listing.
type suspicionRule struct {
	score   int
	reason  string
	pattern *regexp.Regexp
}

var suspicionRules = []suspicionRule{
	{50, "It asks applicants for a fee", regexp.MustCompile(`(?i)\b(registration|processing|application|training|visa|admin(istration)?|refundable|security|starter[- ]kit)\s+(fee|deposit|charge|payment)s?\b|\bpay\s+(a|the|an)\s+(fee|deposit)\b`)},
	{50, "It asks for money by transfer, gift card or cryptocurrency", regexp.MustCompile(`(?i)\b(western union|moneygram|gift\s?cards?|bitcoin|crypto(currency)?|usdt|wire transfer|cash ?app)\b`)},
	{40, "It moves applicants to a messenger", regexp.MustCompile(`(?i)\b(whats\s?app|telegram|t\.me|wa\.me|signal app|viber|wechat|facebook messenger)\b`)},
	{30, "It asks for bank details or documents of identity", regexp.MustCompile(`(?i)\b(bank (account )?details|account number|sort code|copy of your passport|passport scan|national insurance number|social security number)\b`)},
	{20, "It gives an address of a public mailbox provider", regexp.MustCompile(`(?i)[a-z0-9._%+-]+@(gmail|googlemail|yahoo|hotmail|outlook|live|aol|icloud|proton|protonmail|gmx|mail|yandex)\.[a-z.]{2,}`)},
	{20, "It promises work without an interview or experience", regexp.MustCompile(`(?i)\b(no interview|without (an )?interview|no experience (is )?(needed|required|necessary)|guaranteed (visa|job|income)|earn up to)\b`)},
}

// The yearly pay of a job in healthcare, in minor units. Pay out of this range is unusual.
const (
	lowestPay  = 8_000_00
	highestPay = 600_000_00
)

// Suspicion returns how likely a listing is a scam, from 0 to 100, and the reasons. It is
// for moderators and hides nothing.
func Suspicion(l *Listing) (score int, reasons []string) {
	text := strings.Join(append([]string{l.Title, l.Description}, append(l.Requirements, l.Benefits...)...), "\n")
	for _, rule := range suspicionRules {
		if rule.pattern.MatchString(text) {
			score += rule.score
			reasons = append(reasons, rule.reason)
		}
	}
	if l.Salary != nil && isWestern(l.Salary.Currency) {
		low, high := l.Salary.Yearly()
		if high > highestPay || high > 0 && high < lowestPay || low > 0 && high > 5*low {
			score += 30
			reasons = append(reasons, "Its pay is unusual")
		}
	}
	return min(score, maxScore), reasons
}

// isWestern reports whether the range of usual pay is one of the currency.
func isWestern(currency string) bool {
	return currency == "GBP" || currency == "EUR" || currency == "USD"
}

// normalizedText returns the words of a text in lower case.
func normalizedText(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

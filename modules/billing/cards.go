package billing

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// The lengths of the numbers of payment cards (ISO/IEC 7812).
const (
	minCardDigits = 13
	maxCardDigits = 19
)

// HoldsCardNumber reports whether the JSON contains what may be the number of a payment
// card: 13 to 19 digits, with spaces and dashes between them or without, that pass the
// Luhn check. It checks the text as it was sent and the decoded strings, since a digit
// can be written as \u0034.
func HoldsCardNumber(body []byte) bool {
	if holdsCard(string(body)) {
		return true
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		if s, ok := t.(string); ok && holdsCard(s) {
			return true
		}
	}
}

func holdsCard(text string) bool {
	var digits []byte
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c-'0')
		case (c == ' ' || c == '-') && len(digits) > 0:
			// the number continues
		default:
			if isCard(digits) {
				return true
			}
			digits = digits[:0]
		}
	}
	return isCard(digits)
}

func isCard(digits []byte) bool {
	if len(digits) < minCardDigits || len(digits) > maxCardDigits {
		return false
	}
	sum, double := 0, false
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i])
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double = sum+d, !double
	}
	return sum%10 == 0
}

// maxMethodID bounds a provider's id, in characters.
const maxMethodID = 255

// UseMethod replaces the payment method. A subscription that is past due is charged
// at once; if that is declined, the previous method remains. A purchase that waits for
// the payer is abandoned.
func (s *Service) UseMethod(ctx context.Context, by auth.Actor, methodID string) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}
	if methodID == "" {
		return Subscription{}, fault.InvalidField("paymentMethodId", "is required")
	}
	o := Owner{User, by.UserID}
	switch sub, err := s.Current(ctx, o); {
	case err != nil:
		return sub, err
	case sub.Status == PastDue:
		return s.choose(ctx, o, ChooseInput{PlanID: sub.Plan, PaymentMethodID: methodID}, false)
	}
	method, err := s.attach(ctx, o, methodID)
	if err == nil {
		err = s.abandonOther(ctx, o, "", "")
	}
	if err != nil {
		return Subscription{}, err
	}
	var sub Subscription
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.lockUnlessPurchasing(ctx, o); err != nil {
			return err
		}
		change := sub.use(method)
		return s.store(ctx, sub, change)
	})
	return sub.At(s.Clock.Now()), err
}

func (s *Service) attach(ctx context.Context, o Owner, methodID string) (Method, error) {
	if err := CheckMethodID(methodID); err != nil {
		return Method{}, err
	}
	return s.Payments.Attach(ctx, o, methodID)
}

// CheckMethodID returns a fault of the field paymentMethodId if the text cannot be the
// id of a payment method of any provider.
func CheckMethodID(text string) error {
	if len(text) > maxMethodID || holdsCard(text) || !strings.HasPrefix(text, "pm_") || strings.ContainsFunc(text, isNotIDCharacter) {
		return fault.InvalidField("paymentMethodId", "must be the id of a payment method, pm_…")
	}
	return nil
}

func isNotIDCharacter(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

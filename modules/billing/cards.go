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

// HoldsCardNumber reports whether the JSON may contain the number of a payment card. Such a number
// has 13 to 19 digits that pass the Luhn check, with or without spaces and dashes between them. It
// checks the raw text as well as the decoded strings, in which a digit may be encoded as \u0034.
func HoldsCardNumber(body []byte) bool {
	if containsCardNumber(string(body)) {
		return true
	}

	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()

	for {
		token, err := dec.Token()
		if err != nil { // the end, or invalid JSON, which later checks refuse
			return false
		}

		text, isString := token.(string)
		if isString && containsCardNumber(text) {
			return true
		}
	}
}

// containsCardNumber reports whether the text contains a number that isCardNumber recognizes.
// Spaces and dashes inside of a number are ignored.
func containsCardNumber(text string) bool {
	var digits []byte // of the number that is being read
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c-'0')
		case (c == ' ' || c == '-') && len(digits) > 0: // a separator does not end the number
		default: // any other character ends it
			if isCardNumber(digits) {
				return true
			}

			digits = digits[:0]
		}
	}

	return isCardNumber(digits)
}

// isCardNumber reports whether the digits have the length of a card number and pass the Luhn check
// (ISO/IEC 7812-1). In this check, every second digit from the right is doubled. The sum of all
// digits must then be a multiple of ten.
func isCardNumber(digits []byte) bool {
	if len(digits) < minCardDigits || len(digits) > maxCardDigits {
		return false
	}

	sum, double := 0, false // the last digit is not doubled
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i])
		if double {
			d *= 2
			if d > 9 {
				d -= 9 // the sum of the two digits of the doubled number
			}
		}

		sum, double = sum+d, !double
	}

	return sum%10 == 0
}

// maxMethodID is the maximum length of a provider's id, in characters.
const maxMethodID = 255

// UseMethod replaces the payment method. If the subscription is past due, because its renewal was
// declined or is not confirmed, the new method is charged at once. If this charge is declined, the
// previous method remains. UseMethod abandons a purchase that the payer has not confirmed yet.
func (s *Service) UseMethod(ctx context.Context, by auth.Actor, methodID string) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}

	if methodID == "" {
		return Subscription{}, fault.InvalidField("paymentMethodId", "is required")
	}

	o := userOwner(by)

	sub, err := s.Current(ctx, o)
	if err != nil {
		return sub, err
	}

	// The choice of the plan that is past due charges the new method.
	if sub.Status == PastDue {
		const allowCheaper = false
		return s.choose(ctx, o, ChooseInput{PlanID: sub.Plan, PaymentMethodID: methodID}, allowCheaper)
	}

	method, err := s.attach(ctx, o, methodID)
	if err != nil {
		return Subscription{}, err
	}

	const noPlan, anyMethod = "", "" // so that every payment which awaits the payer is abandoned
	if err := s.abandonOther(ctx, o, noPlan, anyMethod); err != nil {
		return Subscription{}, err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.lockUnlessPurchasing(ctx, o); err != nil {
			return err
		}

		change := sub.setMethod(method)

		return s.updateAndRecord(ctx, sub, change)
	})

	return sub.At(s.Clock.Now()), err
}

// attach attaches the payment method to the owner at the provider.
func (s *Service) attach(ctx context.Context, o Owner, methodID string) (Method, error) {
	if err := CheckMethodID(methodID); err != nil {
		return Method{}, err
	}

	return s.Payments.Attach(ctx, o, methodID)
}

// CheckMethodID returns a fault about the field paymentMethodId if no provider can have a
// payment method with the id.
func CheckMethodID(text string) error {
	hasForm := strings.HasPrefix(text, "pm_") && len(text) <= maxMethodID && !strings.ContainsFunc(text, isNotIDCharacter)
	if !hasForm || containsCardNumber(text) {
		return fault.InvalidField("paymentMethodId", "must be the id of a payment method, pm_…")
	}

	return nil
}

// isNotIDCharacter reports whether ids of payment methods do not contain the character.
func isNotIDCharacter(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

package stripepay

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/locumhq/locum/modules/billing"
)

// ParseNotice implements billing.NoticeParser. Only the metadata of the event's payment
// intent is read, which is the same in every version of the API.
func (p *Payments) ParseNotice(header func(name string) string, body []byte) (billing.Notice, error) {
	if len(p.WebhookSecrets) == 0 {
		return billing.Notice{}, billing.ErrNoNotices
	}

	signature := header("Stripe-Signature")

	isSignedWith := func(secret string) bool {
		return webhook.ValidatePayloadIgnoringTolerance(body, signature, secret) == nil
	}
	if !p.isCurrent(signature) || !slices.ContainsFunc(p.WebhookSecrets, isSignedWith) {
		return billing.Notice{}, billing.ErrBadNotice
	}

	var event struct {
		Data struct {
			Object struct {
				Object   string            `json:"object"`
				Metadata map[string]string `json:"metadata"`
			} `json:"object"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return billing.Notice{}, billing.ErrBadNotice
	}

	intent := event.Data.Object

	kind, id, hasOwner := strings.Cut(intent.Metadata[ownerName], ":")
	if intent.Object != "payment_intent" || !hasOwner { // an event about something else
		return billing.Notice{}, nil
	}

	return billing.Notice{
		Key:   intent.Metadata[chargeName],
		Owner: billing.Owner{Kind: billing.OwnerKind(kind), ID: id},
	}, nil
}

// isCurrent reports whether the timestamp of a signature (t=…,v1=…) is within the tolerance of the clock.
// It is false for a signature with several timestamps, because the library verifies only one of them.
func (p *Payments) isCurrent(signature string) bool {
	var times []string
	for part := range strings.SplitSeq(signature, ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(part), "t="); ok {
			times = append(times, text)
		}
	}

	if len(times) != 1 {
		return false
	}

	seconds, err := strconv.ParseInt(times[0], 10, 64)

	return err == nil && p.Clock.Now().Sub(time.Unix(seconds, 0)).Abs() <= webhook.DefaultTolerance
}

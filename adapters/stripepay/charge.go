package stripepay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/locumhq/locum/modules/billing"
)

// errBusy is the cause of a failed request while another one for the same payment is in progress at
// Stripe. Charge repeats the request.
var errBusy = errors.New("another request for the payment is in progress")

const (
	// maxBusyAttempts is the number of attempts while another request is in progress.
	maxBusyAttempts = 5
	// busyDelay is the pause after the first attempt. It is doubled after each further one.
	busyDelay = 100 * time.Millisecond
)

// Charge implements billing.Payments. A payment intent is Stripe's record of one payment, from the first
// attempt on. The receipt is its id.
func (p *Payments) Charge(ctx context.Context, bill billing.Bill) (receipt string, err error) {
	for attempt := range maxBusyAttempts {
		receipt, err = p.charge(ctx, bill)

		isLast := attempt == maxBusyAttempts-1
		if isLast || !errors.Is(err, errBusy) {
			break
		}

		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(busyDelay << attempt):
		}
	}

	return receipt, err
}

// charge looks for the payment intent of the bill. If there is one, charge confirms it or returns its
// result. Otherwise charge creates one. A bill that is abandoned must not be paid any more: charge then
// cancels an intent that waits for the payer, and creates none.
func (p *Payments) charge(ctx context.Context, bill billing.Bill) (receipt string, err error) {
	intent, customer, err := p.findIntent(ctx, bill)
	if err != nil {
		return "", err
	}

	if intent != nil {
		// An intent that failed because the payer was absent can be confirmed now.
		isPayerPresent := !bill.Unattended && !bill.Abandon
		if p.needsPayer(intent) && isPayerPresent {
			return p.confirmIntent(ctx, bill, intent)
		}

		return p.outcome(ctx, bill, intent)
	}

	// Without a customer, the payment method was detached, so that findIntent had to use Stripe's
	// search, which may not return the payment of an earlier attempt yet. A new payment could
	// charge the payer twice.
	if customer == "" && !p.isSettled(bill) {
		return "", unavailableFault(
			"search a payment",
			errors.New("the payment method is not attached, and an earlier payment may not be shown yet"),
		)
	}

	if customer == "" || bill.Abandon {
		return "", billing.ErrDeclined
	}

	return p.createIntent(ctx, bill, customer)
}

// isSettled reports whether the bill is so old that Stripe's search returns its payment intent, if any.
func (p *Payments) isSettled(bill billing.Bill) bool {
	return p.Clock.Now().Sub(bill.CreatedAt) >= settleTime
}

// findIntent returns the payment intent of the bill, or nil if there is none, and the customer of the
// payment method, which is empty if the method is not attached.
//
// It lists the intents of the customer, because this list is up to date. Without a customer it uses
// Stripe's search, which lags behind.
func (p *Payments) findIntent(
	ctx context.Context,
	bill billing.Bill,
) (intent *stripe.PaymentIntent, customer string, err error) {
	method, err := p.api.V1PaymentMethods.Retrieve(ctx, bill.MethodID, nil)
	switch {
	case err != nil && !isMissing(err):
		return nil, "", unavailableFault("read a payment method", err)
	case err != nil || method.Customer == nil: // the method is missing or not attached
		intent, err = p.searchIntent(ctx, bill)
		return intent, "", err
	}

	customer = method.Customer.ID
	// Intents are created after their bill, but by Stripe's clock.
	earliest := bill.CreatedAt.Add(-maxClockDifference)
	params := &stripe.PaymentIntentListParams{
		Customer:     &customer,
		CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: earliest.Unix()},
	}

	params.Limit = stripe.Int64(100) // per page
	for intent, err := range p.api.V1PaymentIntents.List(ctx, params).All(ctx) {
		if err != nil {
			return nil, "", unavailableFault("list payments", err)
		}

		if intent.Metadata[chargeName] == bill.Key {
			return intent, customer, nil
		}
	}

	return nil, customer, nil
}

// searchIntent returns the first payment intent of the bill that Stripe's search finds, or nil.
func (p *Payments) searchIntent(ctx context.Context, bill billing.Bill) (*stripe.PaymentIntent, error) {
	params := &stripe.PaymentIntentSearchParams{}

	params.Query = fmt.Sprintf("metadata['%s']:'%s'", chargeName, bill.Key)
	for intent, err := range p.api.V1PaymentIntents.Search(ctx, params).All(ctx) {
		if err != nil {
			return nil, unavailableFault("search a payment", err)
		}

		return intent, nil // a bill has only one
	}

	return nil, nil
}

// createIntent creates and confirms a payment intent.
func (p *Payments) createIntent(ctx context.Context, bill billing.Bill, customer string) (string, error) {
	params := &stripe.PaymentIntentCreateParams{
		Amount:             &bill.Amount.Minor,
		Currency:           stripe.String(strings.ToLower(bill.Amount.Currency)),
		Customer:           &customer,
		PaymentMethod:      &bill.MethodID,
		PaymentMethodTypes: cardTypes(),
		Confirm:            stripe.Bool(true),
		Description:        &bill.Description,
		Metadata:           map[string]string{chargeName: bill.Key, ownerName: ownerText(bill.Owner)},
	}
	if bill.Unattended { // the payer is absent, as at a renewal
		params.OffSession = stripe.Bool(true)
	} else { // the payer is present, and agrees to renewals
		params.SetupFutureUsage = stripe.String(string(stripe.PaymentIntentSetupFutureUsageOffSession))
		params.ReturnURL = &p.ReturnURL
	}

	params.SetIdempotencyKey(bill.Key)

	intent, err := p.api.V1PaymentIntents.Create(ctx, params)

	return p.handleResponse(ctx, bill, "create a payment", intent, err)
}

// confirmIntent confirms an intent that failed because the payer was absent. Now the payer is
// present.
func (p *Payments) confirmIntent(ctx context.Context, bill billing.Bill, intent *stripe.PaymentIntent) (string, error) {
	params := &stripe.PaymentIntentConfirmParams{PaymentMethod: &bill.MethodID, ReturnURL: &p.ReturnURL}
	confirmed, err := p.api.V1PaymentIntents.Confirm(ctx, intent.ID, params)

	return p.handleResponse(ctx, bill, "confirm a payment", confirmed, err)
}

// handleResponse returns the outcome of a request that changes an intent. If the card was declined, the
// error of Stripe contains the intent.
func (p *Payments) handleResponse(
	ctx context.Context,
	bill billing.Bill,
	action string,
	intent *stripe.PaymentIntent,
	err error,
) (string, error) {
	switch {
	case err == nil:
		return p.outcome(ctx, bill, intent)
	case !isDeclined(err):
		return "", unavailableFault(action, err)
	}

	intent = stripeError(err).PaymentIntent
	if intent == nil {
		return "", billing.ErrDeclined
	}

	return p.outcome(ctx, bill, intent)
}

// needsPayer reports whether the intent failed because the payer was not present to
// authenticate.
func (p *Payments) needsPayer(intent *stripe.PaymentIntent) bool {
	hasFailed := intent.Status == stripe.PaymentIntentStatusRequiresPaymentMethod && intent.LastPaymentError != nil
	return hasFailed && intent.LastPaymentError.Code == stripe.ErrorCodeAuthenticationRequired
}

// outcome returns the result of the bill for the state of its intent. It cancels a declined intent, which
// the client could otherwise still pay with another method.
func (p *Payments) outcome(ctx context.Context, bill billing.Bill, intent *stripe.PaymentIntent) (string, error) {
	switch intent.Status {
	case stripe.PaymentIntentStatusSucceeded:
		return intent.ID, nil
	case stripe.PaymentIntentStatusProcessing:
		return "", billing.ErrUnderWay
	case stripe.PaymentIntentStatusCanceled:
		return "", billing.ErrDeclined
	}

	waitsForPayer := intent.Status == stripe.PaymentIntentStatusRequiresAction || p.needsPayer(intent)
	// An intent without an error was not declined: the request that creates and confirms it may
	// still run, unless the bill is old.
	isBeingCreated := !waitsForPayer && intent.LastPaymentError == nil && !p.isSettled(bill)

	switch {
	case bill.Abandon:
		return p.cancelIntent(ctx, intent)
	case waitsForPayer:
		return "", &billing.ActionRequiredError{Action: p.action(intent)}
	case isBeingCreated:
		return "", billing.ErrUnderWay
	}

	return p.cancelIntent(ctx, intent)
}

// cancelIntent cancels an intent, or returns the result that it has had in the meantime.
func (p *Payments) cancelIntent(ctx context.Context, intent *stripe.PaymentIntent) (string, error) {
	_, err := p.api.V1PaymentIntents.Cancel(ctx, intent.ID, nil)
	if err == nil {
		return "", billing.ErrDeclined
	}

	if e := stripeError(err); e == nil || e.Code != stripe.ErrorCodePaymentIntentUnexpectedState {
		return "", unavailableFault("cancel a payment", err)
	}

	present, err := p.api.V1PaymentIntents.Retrieve(ctx, intent.ID, nil)
	if err != nil {
		return "", unavailableFault("read a payment", err)
	}

	switch present.Status {
	case stripe.PaymentIntentStatusSucceeded:
		return present.ID, nil
	case stripe.PaymentIntentStatusCanceled:
		return "", billing.ErrDeclined
	}

	return "", billing.ErrUnderWay
}

// action returns the data with which the payer's client confirms the intent.
func (p *Payments) action(intent *stripe.PaymentIntent) billing.Action {
	action := billing.Action{Type: billing.ConfirmPayment, ClientSecret: intent.ClientSecret, PublishableKey: p.PublishableKey}
	if next := intent.NextAction; next != nil && next.RedirectToURL != nil {
		action.RedirectURL = next.RedirectToURL.URL // a page of the payer's bank
	}

	return action
}

// Package stripepay collects payments with Stripe's payment intents
// (https://docs.stripe.com/payments/payment-intents).
//
// The package stores nothing in the database. It finds a customer at Stripe by the owner in the metadata
// of the customer, and a payment intent by the key of the bill in the metadata of the intent.
//
// Stripe repeats its response to a request with the same idempotency key for a day only. To never charge
// twice, Charge therefore looks for the payment intent of the bill before it creates one.
package stripepay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// Options are the settings of an account at Stripe.
type Options struct {
	// SecretKey authenticates requests to Stripe (sk_… or rk_…).
	SecretKey string
	// PublishableKey is sent to clients, which pass it to Stripe.js (pk_…).
	PublishableKey string
	// WebhookSecrets verify webhooks (whsec_…). During a rotation there are two.
	WebhookSecrets []string
	// ReturnURL is where a payer returns to from a page of the bank.
	ReturnURL string
	Clock     clock.Clock
}

// Payments implements billing.Payments, billing.MethodCollector and
// billing.NoticeParser.
type Payments struct {
	Options
	api *stripe.Client

	mu       sync.Mutex
	pingedAt time.Time // when Ping last called Stripe
	pingErr  error     // the result of that call
}

const (
	// requestTimeout bounds one attempt of a request. The library repeats a failed request up to
	// maxRetries times.
	requestTimeout = 8 * time.Second
	maxRetries     = 2
	// settleTime is the time after which Stripe's search returns a new object, and a
	// request that creates one has ended. Both usually take seconds.
	settleTime = time.Hour
	// maxClockDifference is the difference that Stripe's clock may have from the clock of the bills.
	maxClockDifference = time.Hour
)

// The names of metadata at Stripe.
const (
	ownerName  = "locum_owner"
	chargeName = "locum_charge"
)

// Open returns a connection to Stripe. The address is stripe:, with the parameter
// api_base for another server than Stripe's.
func Open(address string, o Options) (*Payments, error) {
	base, err := apiBase(address)
	switch {
	case err != nil:
		return nil, err
	case !strings.HasPrefix(o.SecretKey, "sk_") && !strings.HasPrefix(o.SecretKey, "rk_"):
		return nil, errors.New("needs payments.stripe_key, a secret key (sk_…) or a restricted key (rk_…)")
	case slices.ContainsFunc(o.WebhookSecrets, func(secret string) bool { return !strings.HasPrefix(secret, "whsec_") }):
		return nil, errors.New("needs payments.webhook_secrets that begin with whsec_, separated by commas without spaces")
	}

	config := &stripe.BackendConfig{
		HTTPClient:        &http.Client{Timeout: requestTimeout},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		MaxNetworkRetries: stripe.Int64(maxRetries),
		EnableTelemetry:   stripe.Bool(false),
	}
	if base != "" {
		config.URL = stripe.String(base)
	}

	backends := stripe.WithBackends(stripe.NewBackendsWithConfig(config))

	return &Payments{Options: o, api: stripe.NewClient(o.SecretKey, backends)}, nil
}

// apiBase returns the URL of the server in the address, empty for Stripe itself.
func apiBase(address string) (string, error) {
	const want = "want stripe:, or stripe:?api_base=http://HOST:PORT for a server in place of Stripe"

	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Host != "" || u.Path != "" {
		return "", errors.New(want)
	}

	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", errors.New(want)
	}

	base := query.Get("api_base")
	query.Del("api_base")

	server, err := url.Parse(base)
	if len(query) > 0 || err != nil { // other parameters are refused
		return "", errors.New(want)
	}

	isHTTP := server.Scheme == "http" || server.Scheme == "https"
	if base != "" && (!isHTTP || server.Host == "") {
		return "", errors.New(want)
	}

	return base, nil
}

// pingTTL is how long the result of Ping is reused, so that health checks do not use
// up the rate limit of the account.
const pingTTL = 15 * time.Second

// Ping implements adapters.Pinger.
func (p *Payments) Ping(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := p.Clock.Now()
	if !p.pingedAt.IsZero() && now.Sub(p.pingedAt) < pingTTL {
		return p.pingErr
	}

	_, err := p.api.V1Balance.Retrieve(ctx, nil)
	if e := stripeError(err); e != nil && e.HTTPStatusCode == http.StatusForbidden {
		err = nil // the key works, although a restricted key may not read the balance
	}

	if err != nil {
		err = unavailableFault("read the balance", err)
	}

	p.pingedAt, p.pingErr = now, err

	return err
}

// ownerText returns the owner as it is stored in metadata.
func ownerText(o billing.Owner) string { return string(o.Kind) + ":" + o.ID }

// customers returns the ids of the owner's customers at Stripe.
func (p *Payments) customers(ctx context.Context, o billing.Owner) (ids []string, err error) {
	params := &stripe.CustomerSearchParams{}

	params.Query = fmt.Sprintf("metadata['%s']:'%s'", ownerName, ownerText(o))
	for customer, err := range p.api.V1Customers.Search(ctx, params).All(ctx) {
		if err != nil {
			return nil, unavailableFault("search a customer", err)
		}

		ids = append(ids, customer.ID)
	}

	return ids, nil
}

// customer returns the id of the owner's customer, which it creates if there is none. Stripe's search
// may not return a new customer yet. Creating it again then returns the same customer, because the request
// has the same idempotency key.
func (p *Payments) customer(ctx context.Context, o billing.Owner) (string, error) {
	switch ids, err := p.customers(ctx, o); {
	case err != nil:
		return "", err
	case len(ids) > 0:
		return ids[0], nil
	}

	params := &stripe.CustomerCreateParams{Metadata: map[string]string{ownerName: ownerText(o)}}
	params.SetIdempotencyKey("locum-customer-" + ownerText(o))

	c, err := p.api.V1Customers.Create(ctx, params)
	if err != nil {
		return "", unavailableFault("create a customer", err)
	}

	return c.ID, nil
}

// Attach implements billing.Payments. It returns ErrUnknownMethod for a method of another customer.
func (p *Payments) Attach(ctx context.Context, o billing.Owner, methodID string) (billing.Method, error) {
	m, err := p.api.V1PaymentMethods.Retrieve(ctx, methodID, nil)
	switch {
	case isMissing(err):
		return billing.Method{}, billing.ErrUnknownMethod
	case err != nil:
		return billing.Method{}, unavailableFault("read a payment method", err)
	case m.Card == nil:
		return billing.Method{}, fault.InvalidField("paymentMethodId", "must be a card")
	}

	customer, err := p.customer(ctx, o)
	switch {
	case err != nil:
		return billing.Method{}, err
	case m.Customer != nil && m.Customer.ID == customer:
		return newMethod(m), nil
	case m.Customer != nil:
		return billing.Method{}, billing.ErrUnknownMethod
	}

	m, err = p.api.V1PaymentMethods.Attach(ctx, methodID, &stripe.PaymentMethodAttachParams{Customer: &customer})
	switch {
	case isDeclined(err):
		return billing.Method{}, billing.ErrDeclined
	case isMissing(err), isInvalid(err): // also one that was detached before
		return billing.Method{}, billing.ErrUnknownMethod
	case err != nil:
		return billing.Method{}, unavailableFault("attach a payment method", err)
	}

	return newMethod(m), nil
}

// newMethod returns the card as it is shown to its owner.
func newMethod(m *stripe.PaymentMethod) billing.Method {
	return billing.Method{
		ID:          m.ID,
		Brand:       string(m.Card.Brand),
		Last4:       m.Card.Last4,
		ExpiryMonth: int(m.Card.ExpMonth),
		ExpiryYear:  int(m.Card.ExpYear),
	}
}

// SetUp implements billing.MethodCollector. It returns what the client needs to collect a card for later
// payments.
func (p *Payments) SetUp(ctx context.Context, o billing.Owner) (billing.Action, error) {
	customer, err := p.customer(ctx, o)
	if err != nil {
		return billing.Action{}, err
	}

	intent, err := p.api.V1SetupIntents.Create(ctx, &stripe.SetupIntentCreateParams{
		Customer:           &customer,
		PaymentMethodTypes: cardTypes(),
		Usage:              stripe.String(string(stripe.SetupIntentUsageOffSession)),
	})
	if err != nil {
		return billing.Action{}, unavailableFault("create a setup intent", err)
	}

	return billing.Action{Type: billing.CollectMethod, ClientSecret: intent.ClientSecret, PublishableKey: p.PublishableKey}, nil
}

func cardTypes() []*string { return []*string{stripe.String(string(stripe.PaymentMethodTypeCard))} }

// Forget implements billing.Payments. It deletes the customers of the owner; Stripe keeps their payments.
// If the search returns no customer, there may be a new one, whose id customer returns.
func (p *Payments) Forget(ctx context.Context, o billing.Owner) error {
	ids, err := p.customers(ctx, o)
	if err != nil {
		return err
	}

	if len(ids) == 0 {
		id, err := p.customer(ctx, o)
		if err != nil {
			return err
		}

		ids = []string{id}
	}

	for _, id := range ids {
		if _, err := p.api.V1Customers.Delete(ctx, id, nil); err != nil && !isMissing(err) {
			return unavailableFault("delete a customer", err)
		}
	}

	return nil
}

// stripeError returns the error of Stripe's API in err, or nil.
func stripeError(err error) (e *stripe.Error) {
	_ = errors.As(err, &e)
	return e
}

// isMissing reports whether Stripe has no such object.
func isMissing(err error) bool {
	e := stripeError(err)
	return e != nil && (e.Code == stripe.ErrorCodeResourceMissing || e.HTTPStatusCode == http.StatusNotFound)
}

// isInvalid reports whether Stripe rejected the request as invalid.
func isInvalid(err error) bool {
	e := stripeError(err)
	return e != nil && e.Type == stripe.ErrorTypeInvalidRequest && e.HTTPStatusCode == http.StatusBadRequest
}

// isDeclined reports whether the bank refused the card.
func isDeclined(err error) bool {
	e := stripeError(err)
	return e != nil && e.Type == stripe.ErrorTypeCard
}

// unavailableFault returns the fault of a request whose outcome is unknown.
func unavailableFault(action string, err error) error {
	cause := fmt.Errorf("stripe: %s: %w", action, redact(err))
	return fault.ErrUnavailable.WithReason("payments").WithCause(cause)
}

// redact returns errBusy, or an error with the details of a Stripe error that may be logged. The error of
// Stripe itself contains the objects of the request with their secrets.
func redact(err error) error {
	e := stripeError(err)
	if e == nil {
		return err
	}

	if e.Code == stripe.ErrorCodeIdempotencyKeyInUse || e.Code == stripe.ErrorCodeLockTimeout {
		return errBusy
	}

	return fmt.Errorf(
		"status %d, type %q, code %q, parameter %q, request %q",
		e.HTTPStatusCode, e.Type, e.Code, e.Param, e.RequestID,
	)
}

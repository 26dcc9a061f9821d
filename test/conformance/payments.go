package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// PaymentProvider is a provider in its test mode. The functions for payment methods return ids that can be attached to
// any owner. They may return the same id at each call, if the provider permits to attach a method more than once.
type PaymentProvider struct {
	// Connect returns another connection to the provider at each call.
	Connect func() billing.Payments
	// Clock is the clock of the adapter.
	Clock clock.Clock
	// Good returns a payment method that always works.
	Good func() string
	// Refused returns a method that is declined when it is attached.
	Refused func() string
	// Expiring returns a method that can be attached and works while the payer is present, but
	// is declined at a renewal.
	Expiring func() string
	// Unknown returns an id that no payment method has.
	Unknown func() string
	// Confirmable returns a method whose payments the payer has to confirm. It is nil for
	// providers without confirmations.
	Confirmable func() string
	// Confirm confirms the pending payment, as the payer would at the provider.
	Confirm func(b billing.Bill)
}

// Payments checks the port billing.Payments, and billing.MethodCollector of providers
// that implement it. open returns a provider of its own at each call.
func Payments(t *testing.T, open func(t testing.TB) PaymentProvider, outage ...Outage[billing.Payments]) {
	suite := paymentSuite{open, outage}
	t.Run("attach twice", suite.attachTwice)
	t.Run("declined and unknown methods", suite.declinedAndUnknownMethods)
	t.Run("concurrent charges with one key", suite.concurrentChargesWithOneKey)
	t.Run("declined renewal", suite.declinedRenewal)
	t.Run("interrupted calls", suite.interruptedCalls)
	withOutage(t, "billing.Payments", suite.outage, suite.duringOutage)
	t.Run("forget an owner", suite.forgetAnOwner)
	t.Run("set up a method", suite.setUpAMethod)
	t.Run("confirmed payment", suite.confirmedPayment)
	t.Run("confirmed renewal", suite.confirmedRenewal)
	t.Run("abandoned payment", suite.abandonedPayment)
	t.Run("abandoned after the owner is forgotten", suite.abandonedAfterTheOwnerIsForgotten)
}

// paymentSuite has the subtests of Payments.
type paymentSuite struct {
	open   func(t testing.TB) PaymentProvider
	outage []Outage[billing.Payments]
}

// start opens a provider and a first connection to it.
func (suite paymentSuite) start(t *testing.T) (PaymentProvider, billing.Payments) {
	t.Helper()
	t.Parallel()

	provider := suite.open(t)

	return provider, requirePort(t, "billing.Payments", provider.Connect())
}

// owner returns a new user who pays.
func (suite paymentSuite) owner() billing.Owner {
	return billing.Owner{Kind: billing.User, ID: newID()}
}

// attached attaches the method to a new owner, and returns a bill that charges it. Calls with the key of one bill
// charge the payer once.
func (suite paymentSuite) attached(t *testing.T, provider PaymentProvider, method func() string) billing.Bill {
	t.Helper()

	owner, methodID := suite.owner(), method()
	attached, err := provider.Connect().Attach(context.Background(), owner, methodID)
	require.NoError(t, err)
	require.Equal(t, methodID, attached.ID)

	return suite.bill(provider, owner, attached)
}

// bill returns a bill of £9.99 for the owner's payment method.
func (suite paymentSuite) bill(provider PaymentProvider, owner billing.Owner, method billing.Method) billing.Bill {
	return billing.Bill{
		Key:         newID(),
		Owner:       owner,
		MethodID:    method.ID,
		Amount:      billing.Money{Minor: 999, Currency: "GBP"},
		Description: "Premium",
		CreatedAt:   provider.Clock.Now(),
	}
}

// requireAction requires that the error asks the payer to confirm the payment, and returns what the payer has to do.
func (suite paymentSuite) requireAction(t *testing.T, err error) billing.Action {
	t.Helper()
	var action *billing.ActionRequiredError
	require.ErrorAs(t, err, &action)
	require.Equal(t, billing.ConfirmPayment, action.Type)

	return action.Action
}

// attachTwice checks that a second call, which a client makes after a lost response, returns the same method as the
// first.
func (suite paymentSuite) attachTwice(t *testing.T) {
	provider, payments := suite.start(t)
	owner, methodID := suite.owner(), provider.Good()
	first, err := payments.Attach(context.Background(), owner, methodID)
	require.NoError(t, err)
	require.NotEmpty(t, first.Brand)
	require.Len(t, first.Last4, 4)

	isMonth := first.ExpiryMonth >= 1 && first.ExpiryMonth <= 12
	require.True(t, isMonth, "the month of the expiry is %d", first.ExpiryMonth)
	require.Greater(t, first.ExpiryYear, 2000, "a year with four digits")

	second, err := provider.Connect().Attach(context.Background(), owner, methodID)
	require.NoError(t, err)
	require.Equal(t, first, second)
}

// declinedAndUnknownMethods checks that Attach returns different errors for a method that the provider declines and for
// an id that no method has.
func (suite paymentSuite) declinedAndUnknownMethods(t *testing.T) {
	provider, payments := suite.start(t)
	_, err := payments.Attach(context.Background(), suite.owner(), provider.Refused())
	require.ErrorIs(t, err, billing.ErrDeclined)

	_, err = payments.Attach(context.Background(), suite.owner(), provider.Unknown())
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.Equal(t, billing.ErrUnknownMethod.Fields, fault.Of(err).Fields)
}

// concurrentChargesWithOneKey checks that concurrent calls with one key charge the payer once: all of them get the same
// receipt. A bill with another key is another charge.
func (suite paymentSuite) concurrentChargesWithOneKey(t *testing.T) {
	provider, payments := suite.start(t)
	bill := suite.attached(t, provider, provider.Good)
	receipts := map[string]bool{}
	var mu sync.Mutex

	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			receipt, err := provider.Connect().Charge(context.Background(), bill)
			if err != nil || receipt == "" {
				t.Errorf("the charge has the receipt %q and the error %v", receipt, err)
			}

			mu.Lock()
			defer mu.Unlock()

			receipts[receipt] = true
		})
	}

	group.Wait()
	require.Len(t, receipts, 1)

	other := bill
	other.Key = newID()
	receipt, err := payments.Charge(context.Background(), other)
	require.NoError(t, err)
	require.NotContains(t, receipts, receipt)
}

// declinedRenewal checks a method that works for the first charge, while the payer is present, and is declined at the
// renewal. A repeated call for the renewal is declined again.
func (suite paymentSuite) declinedRenewal(t *testing.T) {
	provider, payments := suite.start(t)
	bill := suite.attached(t, provider, provider.Expiring)
	_, err := payments.Charge(context.Background(), bill)
	require.NoError(t, err)

	bill.Key, bill.Unattended = newID(), true // a renewal
	for range 2 {
		_, err = provider.Connect().Charge(context.Background(), bill)
		require.ErrorIs(t, err, billing.ErrDeclined)
	}
}

// interruptedCalls checks that cancelled calls return an error. That of a charge is not ErrDeclined, because the charge
// may still succeed when it is repeated.
func (suite paymentSuite) interruptedCalls(t *testing.T) {
	provider, payments := suite.start(t)
	bill := suite.attached(t, provider, provider.Good)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()

	_, err := payments.Charge(cancelled, bill)
	require.Error(t, err)
	require.NotErrorIs(t, err, billing.ErrDeclined)

	_, err = payments.Charge(context.Background(), bill)
	require.NoError(t, err)

	_, err = payments.Attach(cancelled, suite.owner(), provider.Good())
	require.Error(t, err)
	require.Error(t, payments.Forget(cancelled, bill.Owner))
}

// duringOutage checks that an unavailable provider is not reported as a declined charge or an
// unknown method, after which the caller would give up.
func (suite paymentSuite) duringOutage(t *testing.T, payments billing.Payments, begin, end func()) {
	provider := suite.open(t)
	owner := suite.owner()
	method, err := payments.Attach(context.Background(), owner, provider.Good())
	require.NoError(t, err)

	bill := suite.bill(provider, owner, method)

	begin()

	charge := func() error { _, err := payments.Charge(context.Background(), bill); return err }
	require.NotErrorIs(t, requireTimelyError(t, charge), billing.ErrDeclined, "the charge has to be repeated")
	requireTimelyError(t, func() error { return payments.Forget(context.Background(), suite.owner()) })

	attach := func() error {
		_, err := payments.Attach(context.Background(), suite.owner(), provider.Good())
		return err
	}
	err = requireTimelyError(t, attach)
	require.NotErrorIs(t, err, billing.ErrDeclined)
	require.NotErrorIs(t, err, billing.ErrUnknownMethod)
	end()
	waitForRecovery(t, charge)
	require.NoError(t, attach())
}

// forgetAnOwner checks that the data of an owner can be deleted more than once. A charge that was made before keeps its
// receipt.
func (suite paymentSuite) forgetAnOwner(t *testing.T) {
	provider, payments := suite.start(t)
	bill := suite.attached(t, provider, provider.Good)
	receipt, err := payments.Charge(context.Background(), bill)
	require.NoError(t, err)

	for range 2 {
		require.NoError(t, payments.Forget(context.Background(), bill.Owner))
	}

	second, err := payments.Charge(context.Background(), bill)
	require.NoError(t, err, "a repeated charge after the deletion")
	require.Equal(t, receipt, second)
}

// setUpAMethod checks providers that collect payment methods themselves, on a page or in a form of theirs. SetUp returns
// the action that the payer has to take there.
func (suite paymentSuite) setUpAMethod(t *testing.T) {
	_, payments := suite.start(t)

	collector, ok := payments.(billing.MethodCollector)
	if !ok {
		t.Skip("the provider does not collect payment methods")
	}

	action, err := collector.SetUp(context.Background(), suite.owner())
	require.NoError(t, err)
	require.Equal(t, billing.CollectMethod, action.Type)

	hasWayToCollect := action.ClientSecret != "" || action.RedirectURL != ""
	require.True(t, hasWayToCollect, "the action has neither a secret for a form nor the address of a page")

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()

	_, err = collector.SetUp(cancelled, suite.owner())
	require.Error(t, err)
}

// confirmable runs the test with a method whose payments the payer has to confirm. It is
// skipped for providers without confirmations.
func (suite paymentSuite) confirmable(t *testing.T, test func(t *testing.T, provider PaymentProvider, bill billing.Bill)) {
	t.Helper()

	provider, _ := suite.start(t)
	if provider.Confirmable == nil {
		t.Skip("the provider asks for no confirmations")
	}

	test(t, provider, suite.attached(t, provider, provider.Confirmable))
}

// confirmedPayment checks that a payment waits for the payer, and is charged after the payer has confirmed it. A paid
// charge can no longer be abandoned.
func (suite paymentSuite) confirmedPayment(t *testing.T) {
	suite.confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
		_, err := provider.Connect().Charge(context.Background(), bill)
		first := suite.requireAction(t, err)
		_, err = provider.Connect().Charge(context.Background(), bill)
		require.Equal(t, first, suite.requireAction(t, err), "a repeated call returns the same action")
		provider.Confirm(bill)

		receipt, err := provider.Connect().Charge(context.Background(), bill)
		require.NoError(t, err)
		require.NotEmpty(t, receipt)

		bill.Abandon = true
		second, err := provider.Connect().Charge(context.Background(), bill)
		require.NoError(t, err, "a paid charge is not abandoned")
		require.Equal(t, receipt, second)
	})
}

// confirmedRenewal checks a renewal, which is charged without the payer. It asks for a confirmation, and succeeds after
// the payer has confirmed it.
func (suite paymentSuite) confirmedRenewal(t *testing.T) {
	suite.confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
		// The renewal is tried twice.
		bill.Unattended = true
		for range 2 {
			_, err := provider.Connect().Charge(context.Background(), bill)
			suite.requireAction(t, err)
		}

		// The payer comes to the site, gets the action and confirms the payment.
		bill.Unattended = false
		_, err := provider.Connect().Charge(context.Background(), bill)
		suite.requireAction(t, err)
		provider.Confirm(bill)

		// The renewal is tried again.
		bill.Unattended = true
		_, err = provider.Connect().Charge(context.Background(), bill)
		require.NoError(t, err)
	})
}

// abandonedPayment checks that a pending payment that is abandoned is declined, also when the call is repeated.
func (suite paymentSuite) abandonedPayment(t *testing.T) {
	suite.confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
		_, err := provider.Connect().Charge(context.Background(), bill)
		suite.requireAction(t, err)

		bill.Abandon = true
		for range 2 {
			_, err = provider.Connect().Charge(context.Background(), bill)
			require.ErrorIs(t, err, billing.ErrDeclined)
		}
	})
}

// abandonedAfterTheOwnerIsForgotten checks that the pending payment of a deleted user can be
// abandoned with the anonymous owner that has replaced the user.
func (suite paymentSuite) abandonedAfterTheOwnerIsForgotten(t *testing.T) {
	suite.confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
		_, err := provider.Connect().Charge(context.Background(), bill)
		suite.requireAction(t, err)
		require.NoError(t, provider.Connect().Forget(context.Background(), bill.Owner))

		bill.Owner, bill.Abandon = billing.Owner{Kind: billing.DeletedOwner, ID: newID()}, true
		_, err = provider.Connect().Charge(context.Background(), bill)
		require.ErrorIs(t, err, billing.ErrDeclined)
	})
}

// Always returns a function for a PaymentProvider that returns the id.
func Always(id string) func() string { return func() string { return id } }

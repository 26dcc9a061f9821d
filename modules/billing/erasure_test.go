package billing_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/kit/stores"
)

// justBefore does something between the writing down of a charge and the
// question to the provider.
type justBefore struct {
	billing.Charges
	do func()
}

func (c justBefore) Claim(ctx context.Context, o billing.Owner, id string, next time.Time) (bool, error) {
	c.do()
	return c.Charges.Claim(ctx, o, id, next)
}

func TestWhoDeletesTheirAccountWhileTheyBuyIsNotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := auth.Actor{UserID: stores.NewID(), Seeker: true, Role: auth.Jobseeker}
		all := d.Charges
		d.Charges = justBefore{all, func() {
			d.gone[me.UserID] = true
			require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}}
		sub, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_card_visa"})
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		d.Charges = all
		for range 3 { // nor is anybody later
			d.clock.Advance(2 * time.Hour)
			require.NoError(t, d.Renew(t.Context()))
		}
		sum, n := d.pay.total()
		require.Zero(t, sum)
		require.Zero(t, n)
	})
}

package bootstrap

import (
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/identity"
)

// subscriptions is the one table that says who hears of what. The name is kept
// with what a reaction has done, so it does not change once it is in use.
func subscriptions(i *identity.Service) []event.Subscription {
	return []event.Subscription{
		event.On("identity.verify-email", i.OnUserRegistered),
		event.On("identity.reset-password", i.OnPasswordResetRequested),
		event.On("identity.password-changed", i.OnPasswordChanged),
		event.On("identity.session-reuse", i.OnSessionReuseDetected),
		event.On("identity.invite", i.OnMemberInvited),
	}
}

package bootstrap

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/auth"
)

// withoutActor has the methods of services that take no actor, by the reason why they need none. An
// actor is the authenticated caller of a use case, by which the use case authorizes the call. A method is
// written as Service.Method, with the field name of the service in adapters.Services.
var withoutActor = map[string]string{
	"guests, and holders of a secret that was mailed or issued": `
		Billing.ReceiveNotice
		Hiring.OpenExport
		Identity.Authenticate Identity.AuthenticateBrowser Identity.DeviceToken Identity.FindInvitation
		Identity.ForgotPassword Identity.Login Identity.LoginBrowser Identity.LogoutBrowser Identity.OptOut
		Identity.OrganizationsOf Identity.Refresh Identity.Register Identity.RegisterBrowser Identity.RequestVerification
		Identity.ResetPassword Identity.UndoEmailChange Identity.VerifyEmail
		Integrations.AuthenticateKey Integrations.AuthenticateToken
		Listings.OpenPart Listings.OpenParts
		Seekers.ConfirmAlert Seekers.EndAlerts Seekers.RequestAlert Seekers.Unsubscribe`,
	"the authorization server and the gate of the developer interface, which have authenticated an app": `
		Identity.ActorFor
		Integrations.AuthenticateClient Integrations.Count Integrations.CountCalls Integrations.ExchangeCode
		Integrations.FindApp Integrations.Introspect Integrations.Owner Integrations.ParseAuthorization
		Integrations.Refresh Integrations.Revoke`,
	"operators, by commands on the server": `
		Hiring.Table
		Identity.AccountByEmail Identity.GrantModerator Identity.LockAccount Identity.ResetSecondFactor
		Identity.RevokeModerator Identity.SignOutAccount Identity.UnlockAccount
		Integrations.EndListening Integrations.Forward Integrations.Listen Integrations.SetPlan Integrations.Trigger
		Listings.Hide Listings.Show Listings.SpecialtyTest Listings.Table`,
	"background work": `
		Billing.Periodic Billing.Renew
		Hiring.ForgetExports Hiring.Handlers Hiring.Periodic
		Identity.Forget Identity.Handlers Identity.Periodic
		Integrations.Handlers Integrations.Periodic
		Listings.CloseExpired Listings.CountViews Listings.Forget
		Seekers.Handlers Seekers.Periodic Seekers.ResolveSearches`,
	"other modules, which have authorized the actor": `
		Billing.ChooseFor Billing.Current Billing.SetUpMethodFor
		Hiring.ApplicantStats Hiring.FindApplied Hiring.ListRecentlyApplied
		Identity.Admins Identity.HoldsJobs Identity.IsActive Identity.ListMemberIDs Identity.MemberMay
		Identity.OrganizationChanges Identity.OrganizationName Identity.PendingEmail Identity.People Identity.Rename
		Identity.WantsAlerts
		Listings.CloseOrganization Listings.ClosestTo Listings.CountByStatus Listings.Gather Listings.GetPublic
		Listings.GetWithViews Listings.ListBriefs Listings.ListClosing Listings.ListPublic Listings.Resolve
		Seekers.CountSaved Seekers.FindSaved Seekers.Read Seekers.TakeOverOnboarding Seekers.TakeOverProgress`,
}

// TestServices_UseCases_TakeTheirActor checks that each method of a service takes an actor, unless it is
// in withoutActor. A new use case must take an actor, or be added there with the reason. The test also
// checks that the list has no method that has been removed or takes an actor now.
func TestServices_UseCases_TakeTheirActor(t *testing.T) {
	t.Parallel()

	listed := map[string]bool{} // the names in withoutActor
	for _, names := range withoutActor {
		for name := range strings.FieldsSeq(names) {
			listed[name] = true
		}
	}

	var missing []string       // methods without an actor that are not listed
	found := map[string]bool{} // all methods without an actor

	services := reflect.TypeFor[adapters.Services]()
	for fieldIndex := range services.NumField() {
		field := services.Field(fieldIndex)

		isService := field.Type.Kind() == reflect.Pointer && strings.Contains(field.Type.Elem().PkgPath(), "/modules/")
		if !isService {
			continue
		}

		for methodIndex := range field.Type.NumMethod() {
			method := field.Type.Method(methodIndex)
			if takesActor(method.Type) || handlesEvents(method.Name) {
				continue
			}

			name := field.Name + "." + method.Name // as in withoutActor

			found[name] = true
			if !listed[name] {
				missing = append(missing, name)
			}
		}
	}

	slices.Sort(missing)
	require.Empty(t, missing, "methods that must take an actor or be listed")

	for name := range listed {
		if !found[name] {
			t.Errorf("%s takes an actor or is gone; remove it from the list", name)
		}
	}
}

// handlesEvents reports whether the method is a subscription to an event, by its name. Such a method has
// no actor: a background process, the relay, calls it for each event.
func handlesEvents(method string) bool {
	isPrefix := func(prefix string) bool { return strings.HasPrefix(method, prefix) }
	return slices.ContainsFunc([]string{"On", "Mail", "Publish"}, isPrefix)
}

// takesActor reports whether a method has a parameter of the type auth.Actor.
func takesActor(method reflect.Type) bool {
	for i := range method.NumIn() {
		if method.In(i) == reflect.TypeFor[auth.Actor]() {
			return true
		}
	}

	return false
}

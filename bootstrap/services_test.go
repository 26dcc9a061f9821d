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

// withoutActor are the methods of services that take no actor, by the reason why they need none.
var withoutActor = map[string]string{
	"guests, and holders of a secret that was mailed or issued": `
		Billing.ReceiveNotice Hiring.OpenExport Identity.Authenticate Identity.AuthenticateBrowser Identity.DeviceToken Identity.FindInvitation Identity.ForgotPassword Identity.Login
		Identity.LoginBrowser Identity.LogoutBrowser Identity.OptOut Identity.Refresh Identity.Register Identity.RegisterBrowser
		Identity.RequestVerification Identity.ResetPassword Identity.UndoEmailChange Identity.VerifyEmail Identity.OrganizationsOf
		Integrations.AuthenticateKey Integrations.AuthenticateToken Listings.OpenPart Listings.OpenParts Seekers.ConfirmAlert Seekers.EndAlerts Seekers.RequestAlert Seekers.Unsubscribe`,
	"the authorization server and the gate of the developer interface, which have authenticated an app": `
		Identity.ActorFor Integrations.AuthenticateClient Integrations.Count Integrations.CountCalls Integrations.ExchangeCode
		Integrations.FindApp Integrations.Introspect Integrations.Owner Integrations.ParseAuthorization Integrations.Refresh Integrations.Revoke`,
	"operators, by commands on the server": `
		Identity.AccountByEmail Identity.GrantModerator Identity.LockAccount Identity.RevokeModerator Identity.ResetSecondFactor Identity.SignOutAccount Identity.UnlockAccount Integrations.EndListening
		Integrations.Forward Integrations.Listen Integrations.SetPlan Integrations.Trigger Hiring.Table Listings.Hide Listings.Show Listings.SpecialtyTest Listings.Table`,
	"background work": `
		Billing.Periodic Billing.Renew Hiring.ForgetExports Hiring.Handlers Hiring.Periodic Identity.Forget Identity.Handlers Identity.Periodic
		Integrations.Handlers Integrations.Periodic Listings.CloseExpired Listings.CountViews Listings.Forget Seekers.Handlers Seekers.Periodic Seekers.ResolveSearches`,
	"other modules, which have authorized the actor": `
		Billing.ChooseFor Billing.Current Billing.SetUpMethodFor Hiring.ApplicantStats Hiring.FindApplied Hiring.ListRecentlyApplied Identity.Admins Identity.HoldsJobs Identity.IsActive Identity.ListMemberIDs
		Identity.MemberMay Identity.OrganizationChanges Identity.OrganizationName Identity.PendingEmail Identity.People Identity.Rename Identity.WantsAlerts
		Listings.ListBriefs Listings.CloseOrganization Listings.ClosestTo Listings.ListClosing Listings.CountByStatus Listings.GetPublic Listings.Gather
		Listings.ListPublic Listings.Resolve Listings.GetWithViews Seekers.Read Seekers.FindSaved Seekers.CountSaved
		Seekers.TakeOverOnboarding Seekers.TakeOverProgress`,
}

// TestServices_UseCases_TakeTheirActor checks the list of methods that do not authorize
// the caller: a new use case takes an actor, or is added here with the reason.
func TestServices_UseCases_TakeTheirActor(t *testing.T) {
	t.Parallel()

	listed := map[string]bool{}
	for _, names := range withoutActor {
		for name := range strings.FieldsSeq(names) {
			listed[name] = true
		}
	}

	var missing []string
	found := map[string]bool{}

	services := reflect.TypeFor[adapters.Services]()
	for i := range services.NumField() {
		field := services.Field(i)
		if field.Type.Kind() != reflect.Pointer || !strings.Contains(field.Type.Elem().PkgPath(), "/modules/") {
			continue
		}

		for j := range field.Type.NumMethod() {
			method := field.Type.Method(j)
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
	require.Empty(t, missing)

	for name := range listed {
		if !found[name] {
			t.Errorf("%s takes an actor or is gone; remove it from the list", name)
		}
	}
}

// handlesEvents reports whether the method is a subscription to an event, by its name. The relay calls
// it, for which there is no actor.
func handlesEvents(method string) bool {
	isPrefix := func(prefix string) bool { return strings.HasPrefix(method, prefix) }
	return slices.ContainsFunc([]string{"On", "Mail", "Publish"}, isPrefix)
}

// takesActor reports whether a method has a parameter of the type auth.Actor.
func takesActor(m reflect.Type) bool {
	for i := range m.NumIn() {
		if m.In(i) == reflect.TypeFor[auth.Actor]() {
			return true
		}
	}

	return false
}

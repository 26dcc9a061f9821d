package portal

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
)

// identityRoutes returns the routes with which users register, sign in and recover their accounts, and the routes of
// an organization's team. A registration or sign-in of a jobseeker also moves the data that the browser has stored
// for a guest to the account.
func identityRoutes(s *identity.Service, seekers *jobseeker.Service) []web.Route {
	return slices.Concat(signInRoutes(s, seekers), teamRoutes(s))
}

// signInRoutes returns the routes with which users register, sign in and recover their accounts.
func signInRoutes(s *identity.Service, seekers *jobseeker.Service) []web.Route {
	const tag = "Authentication and user"

	return []web.Route{
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/register",
			Limit:   limit.Rule{Max: 20, Per: time.Hour},
			Status:  201,
			Errors:  []int{409},
			Tag:     tag,
			Summary: "Register a jobseeker or an employer",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in RegisterInput) (signedInReply, error) {
					result, err := s.Register(ctx, in.RegisterInput, clientOf(c))
					if err == nil {
						claimGuestData(ctx, seekers.TakeOverOnboarding, result, in.GuestCookie)
					}

					return signedIn(s, result, withName, "Registration successful", err)
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/register-employer",
			Limit:   web.PerQuarterHour(5),
			Status:  201,
			Errors:  []int{409},
			Tag:     tag,
			Summary: "Register an employer with its organization",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in identity.RegisterEmployerInput) (signedInReply, error) {
					result, err := s.Register(ctx, in, clientOf(c))
					return signedIn(s, result, bare, "Employer registration successful", err)
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/login",
			Errors:  []int{401, 429},
			Tag:     tag,
			Summary: "Sign in",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in LoginInput) (signedInReply, error) {
					result, err := s.Login(ctx, in.LoginInput, clientOf(c))
					if err == nil {
						claimGuestData(ctx, seekers.TakeOverProgress, result, in.GuestCookie)
					}

					return signedIn(s, result, withSubscription, "Login successful", err)
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/refresh",
			Errors:  []int{401},
			Tag:     tag,
			Summary: "Exchange a refresh token for new tokens",
			Op: web.Op(
				func(ctx context.Context, _ web.Call, in identity.RefreshInput) (web.Reply[tokensView], error) {
					result, err := s.Refresh(ctx, in)
					return web.OK(tokensView{AccessToken: result.AccessToken, RefreshToken: result.RefreshToken}, "Token refreshed"), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/logout",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Sign out",
			Op:      changeOwn(s.Logout, "Logged out successfully"),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/auth/me",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Get the signed-in user",
			Op: getOwn(s.Me, func(a identity.Account) userView {
				return userView{
					ID:                 a.ID,
					Email:              a.Email,
					Name:               a.Name,
					Role:               a.Role,
					CreatedAt:          a.CreatedAt,
					SubscriptionStatus: a.SubscriptionStatus,
				}
			}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/accept-invitation",
			Auth:    web.Optional,
			Errors:  []int{401, 403, 409},
			Tag:     tag,
			Summary: "Accept an invitation to an organization",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in identity.AcceptInvitationInput) (signedInReply, error) {
					result, err := s.AcceptInvitation(ctx, c.Actor, in, clientOf(c))
					return signedIn(s, result, withSubscription, "Invitation accepted", err)
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/forgot-password",
			Tag:     tag,
			Summary: "Request an email with a link to set a new password",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in identity.ForgotPasswordInput) (web.Done, error) {
					return web.Message("If the address has an account, a mail is on its way"), s.ForgotPassword(ctx, in, clientOf(c))
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/reset-password",
			Tag:     tag,
			Summary: "Set a new password with the token of an email",
			Op:      performAsGuest(s.ResetPassword, "Password reset, please sign in"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/verify-email",
			Errors:  []int{409},
			Tag:     tag,
			Summary: "Confirm an email address with the token of an email",
			Op:      performAsGuest(s.VerifyEmail, "E-mail address confirmed"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/undo-email-change",
			Errors:  []int{409},
			Tag:     tag,
			Summary: "Restore the previous email address with the token of the email that was sent to it, and set a new password. All sessions end; API keys, OAuth grants and webhooks end as after a password reset",
			Op:      performAsGuest(s.UndoEmailChange, "E-mail address restored, please sign in"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/auth/change-password",
			Auth:    web.Required,
			Errors:  []int{429},
			Tag:     tag,
			Summary: "Change the password and end all other sessions",
			Op:      performFrom(s.ChangePassword, "Password changed"),
		},
	}
}

// teamRoutes returns the routes of the team of an organization: its members and their permissions.
func teamRoutes(s *identity.Service) []web.Route {
	const team = "Team"

	return []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/team",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.AnyPermission,
			Tag:        team,
			Summary:    "List the members of the organization, including invited ones",
			Op: list(s.Team, func(r page.Result[identity.Member], p web.Paging) teamView {
				return teamView{Team: web.Each(r.Items, viewMember), Paged: paged(r, p)}
			}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/team",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.Manage,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{409},
			Tag:        team,
			Summary:    "Invite a user to the team",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in TeamInput) (web.Done, error) {
					return web.Message("Team member added, an invitation is on its way"), s.Invite(ctx, c.Actor, in.InviteInput)
				}),
		},
		{
			Method:     http.MethodDelete,
			Path:       "/api/employers/team/:id",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.Manage,
			Errors:     []int{409},
			Tag:        team,
			Summary:    "Remove a member from the team, or revoke an invitation. Sessions, links and access to the organization end at once",
			Op:         changeByID(s.RemoveMember, "Team member removed"),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/team/:id/permissions",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.AnyPermission,
			Tag:        team,
			Summary:    "Get a team member's role and permissions",
			Op:         getByID(s.Permissions, viewPermissions),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/team/:id/permissions",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.Manage,
			Errors:     []int{409},
			Tag:        team,
			Summary:    "Change a team member's role and permissions",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ChangePermissionsInput) (web.Reply[permissionsView], error) {
					m, err := s.ChangePermissions(ctx, c.Actor, in.ID, in.ChangePermissionsInput)
					return web.OK(viewPermissions(m), "Permissions updated"), err
				}),
		},
	}
}

// keyRoutes returns the route of the public keys with which other programs can verify access tokens (RFC 7517). keys
// returns them as JSON.
func keyRoutes(keys func() []byte) []web.Route {
	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/.well-known/jwks.json",
			Tag:     "Authentication and user",
			Summary: "Get the public keys that verify access tokens",
			Op: web.Op(
				func(context.Context, web.Call, web.Nothing) (keySet, error) {
					var set keySet
					err := json.Unmarshal(keys(), &set)
					return set, err
				}),
		},
	}
}

// keySet is a JSON Web Key Set (RFC 7517). Its members have the names of the RFC.
type keySet struct {
	Keys []struct {
		Type      string `json:"kty"`
		Curve     string `json:"crv"`
		X         string `json:"x"`
		ID        string `json:"kid"`
		Use       string `json:"use"`
		Algorithm string `json:"alg"`
	} `json:"keys"`
}

// Headers allows clients to cache the keys: a new key is published before it is used.
func (keySet) Headers() map[string]string {
	return map[string]string{"Cache-Control": "public, max-age=300"}
}

// RegisterInput is the input of a registration, with the cookie that the browser has stored for a guest.
type RegisterInput struct {
	identity.RegisterInput
	GuestCookie
}

// LoginInput is the input of a sign-in, with the cookie that the browser has stored for a guest.
type LoginInput struct {
	identity.LoginInput
	GuestCookie
}

// claimGuestData moves the data of a guest to the account of a jobseeker after a sign-in. take is the method of the
// jobseeker service that moves the data. It is called with the secret of the guest. An error does not fail the
// sign-in, because the next request for the onboarding moves the data.
func claimGuestData(
	ctx context.Context,
	take func(ctx context.Context, userID, secret string) error,
	result identity.SignedIn,
	c GuestCookie,
) {
	if result.Account.Role == auth.Jobseeker && c.Guest != "" {
		_ = take(ctx, result.Account.ID, c.Guest)
	}
}

// clientOf describes the client that has sent the request.
func clientOf(c web.Call) identity.Client {
	return identity.Client{Address: c.IP, UserAgent: c.UserAgent, Device: c.Device}
}

// signedInReply is the response to a sign-in. Its cookie marks the device as one from which the user has signed in.
type signedInReply struct {
	web.Reply[signedInView]
	deviceCookie string
}

// Headers returns the header that sets the cookie.
func (r signedInReply) Headers() map[string]string {
	if r.deviceCookie == "" {
		return nil
	}

	return map[string]string{"Set-Cookie": r.deviceCookie}
}

// signedIn returns the response to a sign-in. result and err are the results of the service: if err is not nil, signedIn
// returns err.
func signedIn(
	s *identity.Service,
	result identity.SignedIn,
	detail userDetail,
	message string,
	err error,
) (signedInReply, error) {
	if err != nil {
		return signedInReply{}, err
	}

	deviceToken, err := s.DeviceToken(result.Account.Email)
	cookie := web.DeviceCookie(deviceToken, s.PublicURL)

	return signedInReply{Reply: web.OK(viewSignedIn(result, detail), message), deviceCookie: cookie}, err
}

// tokensView has the tokens of a session.
type tokensView struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
}

// signedInView is the response to a sign-in.
type signedInView struct {
	tokensView
	User signedInUser `json:"user"`
}

type signedInUser struct {
	ID                 string    `json:"id"`
	Email              string    `json:"email"`
	Name               string    `json:"name,omitempty"`
	Role               auth.Role `json:"role"`
	SubscriptionStatus string    `json:"subscriptionStatus,omitempty"`
}

// userDetail is how much of the user the response to a sign-in contains. It differs between the operations. Each detail
// includes those before it.
type userDetail int

const (
	bare             userDetail = iota // the id, the e-mail address and the role
	withName                           // the name
	withSubscription                   // the status of the subscription
)

func viewSignedIn(s identity.SignedIn, detail userDetail) signedInView {
	v := signedInView{
		tokensView: tokensView{AccessToken: s.AccessToken, RefreshToken: s.RefreshToken},
		User:       signedInUser{ID: s.Account.ID, Email: s.Account.Email, Role: s.Account.Role},
	}
	if detail >= withName {
		v.User.Name = s.Account.Name
	}

	if detail >= withSubscription {
		v.User.SubscriptionStatus = s.Account.SubscriptionStatus
	}

	return v
}

type userView struct {
	ID                 string    `json:"id"`
	Email              string    `json:"email"`
	Name               string    `json:"name"`
	Role               auth.Role `json:"role"`
	CreatedAt          time.Time `json:"createdAt"`
	SubscriptionStatus string    `json:"subscriptionStatus"`
}

// TeamInput is the input of the operation that invites a user to the team. There is only one intent.
type TeamInput struct {
	Intent string `json:"intent" validate:"required,oneof=add-member"`
	identity.InviteInput
}

type memberView struct {
	ID     string                `json:"id"`
	Name   string                `json:"name"`
	Email  string                `json:"email"`
	Role   identity.OrgRole      `json:"role"`
	Status identity.MemberStatus `json:"status"`
}

func viewMember(m identity.Member) memberView {
	return memberView{ID: m.UserID, Name: m.Name, Email: m.Email, Role: m.Role, Status: m.Status}
}

// teamView is a page of the members of a team.
type teamView struct {
	Team []memberView `json:"team"`
	Paged
}

// ChangePermissionsInput is the input of the operation that changes the role and the permissions of a member.
type ChangePermissionsInput struct {
	IDPath
	identity.ChangePermissionsInput
}

type permissionsView struct {
	UserID      string               `json:"userId"`
	Role        identity.OrgRole     `json:"role"`
	Permissions identity.Permissions `json:"permissions"`
}

func viewPermissions(m identity.Member) permissionsView {
	return permissionsView{UserID: m.UserID, Role: m.Role, Permissions: m.Permissions}
}

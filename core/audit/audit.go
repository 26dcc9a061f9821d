// Package audit defines the audit log, which records the actors and times of changes of
// accounts, teams, credentials and exports.
package audit

import (
	"context"
	"net/netip"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Action is the name of an operation.
type Action string

// The actions. Their names are part of the interface.
const (
	SignInSucceeded Action = "sign_in.succeeded"
	SignInFailed    Action = "sign_in.failed"
	SessionEnded    Action = "session.ended"
	SessionsEnded   Action = "sessions.ended"

	PasswordChanged      Action = "password.changed"
	PasswordReset        Action = "password.reset"
	EmailChangeRequested Action = "email.change_requested"
	EmailChanged         Action = "email.changed"
	SecondFactorEnabled  Action = "second_factor.enabled"
	SecondFactorDisabled Action = "second_factor.disabled"
	SecondFactorReset    Action = "second_factor.reset"
	SecondFactorRequired Action = "second_factor.required"
	RecoveryCodeUsed     Action = "recovery_code.used"
	AccountLocked        Action = "account.locked"
	AccountUnlocked      Action = "account.unlocked"
	AccountDeleted       Action = "account.deleted"
	ModeratorGranted     Action = "moderator.granted"
	ModeratorRevoked     Action = "moderator.revoked"

	MemberInvited      Action = "member.invited"
	MemberJoined       Action = "member.joined"
	MemberRemoved      Action = "member.removed"
	PermissionsChanged Action = "permissions.changed"
	OrganizationClosed Action = "organization.closed"

	OrganizationVerified   Action = "organization.verified"
	OrganizationUnverified Action = "organization.unverified"
	OrganizationHeld       Action = "organization.held"
	OrganizationReleased   Action = "organization.released"
	OrganizationSuspended  Action = "organization.suspended"
	OrganizationRestored   Action = "organization.restored"

	AppCreated           Action = "app.created"
	AppDeleted           Action = "app.deleted"
	ClientSecretRotated  Action = "client_secret.rotated"
	APIKeyCreated        Action = "api_key.created"
	APIKeyDeleted        Action = "api_key.deleted"
	WebhookCreated       Action = "webhook.created"
	WebhookDeleted       Action = "webhook.deleted"
	WebhookSecretRotated Action = "webhook_secret.rotated"
	ProgramsSignedOut    Action = "programs.signed_out"
	PlanChanged          Action = "plan.changed"

	ExportCreated    Action = "export.created"
	ExportDownloaded Action = "export.downloaded"

	ListingHidden Action = "listing.hidden"
	ListingShown  Action = "listing.shown"
)

// Actions returns every action.
func Actions() []Action {
	return []Action{
		SignInSucceeded, SignInFailed, SessionEnded, SessionsEnded,
		PasswordChanged, PasswordReset, EmailChangeRequested, EmailChanged,
		SecondFactorEnabled, SecondFactorDisabled, SecondFactorReset, SecondFactorRequired, RecoveryCodeUsed, AccountLocked, AccountUnlocked, AccountDeleted, ModeratorGranted, ModeratorRevoked,
		MemberInvited, MemberJoined, MemberRemoved, PermissionsChanged, OrganizationClosed,
		OrganizationVerified, OrganizationUnverified, OrganizationHeld, OrganizationReleased, OrganizationSuspended, OrganizationRestored,
		AppCreated, AppDeleted, ClientSecretRotated, APIKeyCreated, APIKeyDeleted, WebhookCreated, WebhookDeleted, WebhookSecretRotated, ProgramsSignedOut, PlanChanged,
		ExportCreated, ExportDownloaded, ListingHidden, ListingShown,
	}
}

// Operator is the actor of commands that an operator runs.
const Operator = "operator"

// Entries are the entries of the log; their time is Entry.At.
const Entries retention.Kind = "audit.entries"

// Keep is how long entries are stored.
const Keep = 365 * 24 * time.Hour

// Entry is one line of the log. It contains ids and no other personal data, so
// that nothing but an id remains of a deleted account.
type Entry struct {
	ID     string
	At     time.Time
	Action Action
	// Actor is the id of a user, Operator, or empty: an attempt to sign in to an
	// account that does not exist has no actor.
	Actor string
	// OrganizationID is the organization whose admins see the entry, empty for
	// none.
	OrganizationID string
	// Network is the /24 or /64 that the request came from, empty for a command.
	Network string
	// Object is the id of the object of the action.
	Object string
	// Detail qualifies the action, for example the new role or plan.
	Detail string
}

// By returns an entry for an action of a signed-in caller.
func By(a auth.Actor, action Action, object string) Entry {
	return Entry{Action: action, Actor: a.UserID, OrganizationID: a.OrganizationID, Object: object}
}

// With returns the entry with a detail.
func (e Entry) With(detail string) Entry {
	e.Detail = detail
	return e
}

// Recorder writes to the log.
type Recorder interface {
	// Record appends an entry, in the transaction of ctx if there is one. It sets the
	// id, the time and the network, that of ctx, of an entry without an id. An entry
	// whose id is in the log is ignored.
	Record(ctx context.Context, e Entry) error
}

// Filter selects entries; a zero field selects all.
type Filter struct {
	OrganizationID string
	Actor          string
	// About selects entries that have the id as their actor or object.
	About  string
	Action Action
	// From is inclusive and To exclusive.
	From, To time.Time
}

// Log reads the log.
type Log interface {
	// List returns the matching entries, the newest first. The cursor is the last
	// entry's id.
	List(ctx context.Context, f Filter, r page.Request) (page.Result[Entry], error)
}

type networkKey struct{}

// WithAddress returns a context whose entries have the network of the client's
// address.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, networkKey{}, Network(address))
}

// NetworkOf returns the network that WithAddress stored, or an empty string.
func NetworkOf(ctx context.Context) string {
	network, _ := ctx.Value(networkKey{}).(string)
	return network
}

// Network returns the part of an address that one subscriber usually holds: the
// /24 of an IPv4 address and the /64 of an IPv6 address.
func Network(address string) string { return Prefix(address, 24, 64) }

// Prefix returns the network of an address with the length v4 or v6, or "unknown" if it
// is not an IP address.
func Prefix(address string, v4, v6 int) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	a = a.Unmap().WithZone("")
	bits := v6
	if a.Is4() {
		bits = v4
	}
	p, _ := a.Prefix(bits) // callers pass lengths that fit
	return p.String()
}

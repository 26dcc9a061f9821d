// Package audit defines the audit log. It records who changed accounts, teams, credentials
// or moderated listings, or used exports, and when.
package audit

import (
	"context"
	"net/netip"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Action is the name of a recorded operation.
type Action string

// The actions. Their names are part of the public API and do not change.
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
		SecondFactorEnabled, SecondFactorDisabled, SecondFactorReset, SecondFactorRequired, RecoveryCodeUsed,
		AccountLocked, AccountUnlocked, AccountDeleted, ModeratorGranted, ModeratorRevoked,
		MemberInvited, MemberJoined, MemberRemoved, PermissionsChanged, OrganizationClosed,
		OrganizationVerified, OrganizationUnverified, OrganizationHeld, OrganizationReleased, OrganizationSuspended, OrganizationRestored,
		AppCreated, AppDeleted, ClientSecretRotated, APIKeyCreated, APIKeyDeleted,
		WebhookCreated, WebhookDeleted, WebhookSecretRotated, ProgramsSignedOut, PlanChanged,
		ExportCreated, ExportDownloaded, ListingHidden, ListingShown,
	}
}

// Operator is the actor of the commands that an operator of the service runs.
const Operator = "operator"

// Entries is the retention kind of the entries of the log; their time is Entry.At.
const Entries retention.Kind = "audit.entries"

// Keep is the time for which entries are stored.
const Keep = 365 * 24 * time.Hour

// Entry is one entry of the log. It contains no personal data but ids, so that only an id
// remains of a deleted account.
type Entry struct {
	ID     string
	At     time.Time
	Action Action
	// Actor is the id of a user, or Operator. It is empty for an attempt to sign in to an
	// account that does not exist.
	Actor string
	// OrganizationID is the organization whose admins can read the entry, or empty.
	OrganizationID string
	// Network is the network of the client (see Network), empty for a command.
	Network string
	// Object is the id of the user, organization or other object of the action.
	Object string
	// Detail qualifies the action, for example the new role or plan.
	Detail string
}

// By returns an entry for an action of a signed-in user. The object is an id.
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
	// Record appends an entry, in the transaction of ctx if there is one. If the entry has
	// no id, Record sets its id, its time, and the network of ctx (see WithAddress). Record
	// ignores an entry whose id is already in the log.
	Record(ctx context.Context, e Entry) error
}

// Filter selects entries that match all of its fields. A zero field matches every entry.
type Filter struct {
	OrganizationID string
	Actor          string
	// About matches entries whose actor or object has this id.
	About  string
	Action Action
	// From is inclusive and To exclusive.
	From, To time.Time
}

// Log reads the log.
type Log interface {
	// List returns the matching entries, the newest first. A cursor is the id of the last
	// entry of a page.
	List(ctx context.Context, f Filter, r page.Request) (page.Result[Entry], error)
}

type networkKey struct{}

// WithAddress returns a context with the network of the client's address. Entries that are
// recorded with the context get this network.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, networkKey{}, Network(address))
}

// NetworkOf returns the network that WithAddress stored, or an empty string.
func NetworkOf(ctx context.Context) string {
	network, _ := ctx.Value(networkKey{}).(string)
	return network
}

// Network returns the network of a client's address: the /24 of an IPv4 address, the /64 of
// an IPv6 address, or "unknown". An internet subscriber usually has a whole /64.
func Network(address string) string { return Prefix(address, 24, 64) }

// Prefix returns the network of an IP address, with a prefix of v4Bits for IPv4 and v6Bits
// for IPv6. It returns "unknown" if the address is not an IP address.
func Prefix(address string, v4Bits, v6Bits int) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}

	a = a.Unmap().WithZone("") // an IPv4 address may be written as an IPv6 address

	bits := v6Bits
	if a.Is4() {
		bits = v4Bits
	}

	network, _ := a.Prefix(bits) // the only error is a prefix that is too long

	return network.String()
}

package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Updates are optimistic: an entity has a version, which a write increments. If the
// stored version is another one, the write fails with an error for which the
// tx.Runner of the storage runs the transaction again.

// Users stores accounts. Except for Exists, no method returns a deleted account.
type Users interface {
	// Create stores a new user. If an invited user has the address, the row of that
	// user is replaced instead, and u takes its id and version. Create fails with
	// ErrEmailTaken if an active user has the address, also one that a concurrent
	// call creates.
	Create(ctx context.Context, u *User) error
	// GetForUpdate returns a user or fails with ErrUserNotFound. In a transaction,
	// concurrent updates of the user wait for its end.
	GetForUpdate(ctx context.Context, id string) (User, error)
	// GetByIDs returns the users that exist, in any order, in one statement.
	GetByIDs(ctx context.Context, ids []string) ([]User, error)
	// GetByEmail finds a user by User.EmailKey or fails with ErrUserNotFound.
	GetByEmail(ctx context.Context, emailKey string) (User, error)
	// Update stores the user if its version is current. It fails with ErrEmailTaken
	// if another user has the address.
	Update(ctx context.Context, u *User) error
	// RecordSignIn stores the time of a sign-in and the new verifier, which may equal
	// the old one. It is false, and nothing is stored, if the account is not active,
	// is locked or no longer has the old verifier: a password that was changed
	// concurrently opens no session. It does not change the user's version.
	RecordSignIn(ctx context.Context, id, oldVerifier, newVerifier string, at time.Time) (bool, error)
	// Exists reports whether there are users, including invited and deleted ones.
	Exists(ctx context.Context) (bool, error)
}

// Organizations stores employers.
type Organizations interface {
	// GetForUpdate returns an organization or fails with ErrOrganizationNotFound. In
	// a transaction, other transactions that call it for the organization wait for
	// its end and then see its changes.
	GetForUpdate(ctx context.Context, id string) (Organization, error)
	// GetByIDs returns the organizations that exist, in any order, in one statement.
	GetByIDs(ctx context.Context, ids []string) ([]Organization, error)
	// Upsert stores an organization: a new one with version 0, otherwise if its
	// version is current.
	Upsert(ctx context.Context, o *Organization) error
}

// Members stores memberships of organizations and invitations to them.
type Members interface {
	// Get returns a member or an invited user with the name and address that the
	// organization may see: of an invited user those of the invitation, otherwise
	// those of the account. It fails with ErrNotInTeam.
	Get(ctx context.Context, organizationID, userID string) (Member, error)
	// GetByUser returns the user's active membership with SecondFactorMissing, or nil
	// without one.
	GetByUser(ctx context.Context, userID string) (*Membership, error)
	// List returns members and invited users as Get does, in the order in which they
	// were added. The cursor is the id of the last membership.
	List(ctx context.Context, organizationID string, f MemberFilter, r page.Request) (page.Result[Member], error)
	// Upsert stores a membership: a new one with version 0, otherwise if its version
	// is current. If a new one exists already, or its user was deleted concurrently,
	// the transaction runs again. A second active membership of a user is an error.
	Upsert(ctx context.Context, m *Membership) error
	// Delete deletes the memberships and invitations of the users in the
	// organization, with the mail tokens of the invitations. A user with the status
	// invited is deleted with the last invitation.
	Delete(ctx context.Context, organizationID string, userIDs []string) error
	// MergeInvited moves the invitations of an invited user, with their mail tokens,
	// to an account and deletes the invited user. Invitations of organizations that
	// have the account in their team are deleted. A user with another status is not
	// changed.
	MergeInvited(ctx context.Context, invitedID, userID string) error
}

// MemberFilter selects members; a zero field selects all.
type MemberFilter struct {
	UserIDs []string
	Role    OrgRole
	Status  MemberStatus
}

// Sessions stores sign-ins with their refresh tokens or cookies, of which only
// hashes are stored.
type Sessions interface {
	// Create stores a session and its refresh tokens.
	Create(ctx context.Context, s Session, tokens ...RefreshToken) error
	// GetPrincipal returns a session with its user and active membership, in one
	// query. It fails with ErrSessionNotFound, also if the user is deleted or locked.
	// It returns ended and expired sessions.
	GetPrincipal(ctx context.Context, k SessionKey) (Principal, error)
	// GetRefreshToken finds a token by its hash or fails with ErrSessionNotFound.
	GetRefreshToken(ctx context.Context, hash string) (RefreshToken, error)
	// List returns the user's sessions that can be used at the time, considering
	// LiveCutoffs, the newest first. The cursor is the id of the last session.
	List(ctx context.Context, userID string, now time.Time, r page.Request) (page.Result[Session], error)
	// Update stores LastUsedAt and EndedAt of the user's session, new refresh tokens
	// and UsedAt of existing ones. It fails with ErrSessionNotFound if the session has
	// ended. In a transaction, concurrent updates of the session wait for its end.
	Update(ctx context.Context, s Session, tokens ...RefreshToken) error
	// EndByUsers ends the sessions of the users except one (empty for none). Sessions
	// that have ended keep their EndedAt.
	EndByUsers(ctx context.Context, userIDs []string, except string, at time.Time) error
}

// SessionKey identifies a session by one of its fields; the other one is empty.
type SessionKey struct{ ID, CookieHash string }

// MailTokens stores the secrets that are sent by mail.
type MailTokens interface {
	// Create stores a token. It fails with ErrUserNotFound if the user's account is
	// deleted, also by a concurrent transaction.
	Create(ctx context.Context, t MailToken) error
	// Get fails with ErrTokenNotFound, also if the token has another purpose.
	Get(ctx context.Context, hash string, p Purpose) (MailToken, error)
	// MarkUsed sets UsedAt of the user's unused tokens that the filter selects and
	// returns their number. A token is marked by one of any number of callers.
	MarkUsed(ctx context.Context, userID string, f MailTokenFilter, at time.Time) (int, error)
}

// MailTokenFilter selects tokens; a zero field selects all.
type MailTokenFilter struct {
	Hash           string
	Purpose        Purpose
	OrganizationID string
}

// EmailChanges stores requested and former addresses of accounts. Callers hold the
// user with Users.GetForUpdate, or update it, in the transaction of an Upsert.
type EmailChanges interface {
	// Get returns the history of the account, an empty one if nothing is stored.
	Get(ctx context.Context, userID string) (EmailHistory, error)
	// Upsert stores the history in place of the stored one.
	Upsert(ctx context.Context, h EmailHistory) error
	// IsReserved reports whether another account than the user's can restore the
	// address at the time.
	IsReserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error)
}

// SecondFactors stores authenticator apps and recovery codes.
type SecondFactors interface {
	// Get returns the user's second factor or fails with ErrNoSecondFactor. In a
	// transaction, other transactions that call it for the user wait for its end and
	// then see its changes.
	Get(ctx context.Context, userID string) (SecondFactor, error)
	// Upsert stores the factor with its recovery codes in place of the user's earlier
	// one.
	Upsert(ctx context.Context, f SecondFactor) error
	// Delete deletes the user's factor with its recovery codes.
	Delete(ctx context.Context, userID string) error
}

// EmployerSettingsStore stores the settings of members of organizations.
type EmployerSettingsStore interface {
	// Get returns the user's settings, DefaultSettings if none are stored.
	Get(ctx context.Context, userID string) (EmployerSettings, error)
	// Upsert stores the settings: new ones with version 0, otherwise if their version
	// is current.
	Upsert(ctx context.Context, s *EmployerSettings) error
}

// OptOuts stores hashes of the mailboxes that receive no invitations.
type OptOuts interface {
	// Create stores a mailbox. A second call changes nothing.
	Create(ctx context.Context, mailbox string, at time.Time) error
	// Exists reports whether the mailbox is stored.
	Exists(ctx context.Context, mailbox string) (bool, error)
}

// PersonalData deletes accounts.
type PersonalData interface {
	// DeleteByUser deletes everything that this module stores of a user except the
	// user and the audit log: memberships, invitations, sessions, mail tokens, the
	// email history, settings and the second factor.
	DeleteByUser(ctx context.Context, userID string) error
}

// The rows that expire, by the time that counts.
const (
	// SessionKind is the sessions by ExpiresAt, with their refresh tokens and cookies.
	SessionKind retention.Kind = "identity.sessions"
	// RefreshTokenKind is the refresh tokens by ExpiresAt.
	RefreshTokenKind retention.Kind = "identity.refresh_tokens"
	// MailTokenKind is the mail tokens by ExpiresAt.
	MailTokenKind retention.Kind = "identity.mail_tokens"
	// EmailChangeKind is the requested addresses by RequestedAt.
	EmailChangeKind retention.Kind = "identity.email_changes"
	// EmailUndoKind is the former addresses by ExpiresAt.
	EmailUndoKind retention.Kind = "identity.email_undos"
	// InvitationKind is the invitations by InvitedUntil. A user with the status
	// invited is deleted with the last invitation.
	InvitationKind retention.Kind = "identity.invitations"
)

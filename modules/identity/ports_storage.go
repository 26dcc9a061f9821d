package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Updates are optimistic: each write increments the version of the entity. If the stored
// version differs, the write fails with tx.ErrStale, after which the tx.Runner repeats the
// transaction. Below, "its version is current" means that the stored version is equal.

// Users stores accounts. Except for Exists, no method returns a deleted account.
type Users interface {
	// Create stores a new user. If an invited user has the address, Create replaces the row of
	// that user, and sets the id and version of u. It fails with ErrEmailTaken if an active
	// user has the address. Concurrent calls do not create two users with the address.
	Create(ctx context.Context, u *User) error
	// GetForUpdate returns a user or fails with ErrUserNotFound. Inside a transaction, the row
	// is locked until the transaction ends.
	GetForUpdate(ctx context.Context, id string) (User, error)
	// GetByIDs returns the users that exist, in any order, in one statement.
	GetByIDs(ctx context.Context, ids []string) ([]User, error)
	// GetByEmail finds a user by User.EmailKey or fails with ErrUserNotFound.
	GetByEmail(ctx context.Context, emailKey string) (User, error)
	// Update stores the user if its version is current. It fails with ErrEmailTaken
	// if another user has the address.
	Update(ctx context.Context, u *User) error
	// RecordSignIn stores the time of a sign-in and the new verifier, which may equal the old
	// one. It returns false, and stores nothing, if the account is not active, is locked or
	// does not have the old verifier any more, because the password was changed concurrently.
	// It does not change the user's version.
	RecordSignIn(ctx context.Context, id, oldVerifier, newVerifier string, at time.Time) (bool, error)
	// Exists reports whether there are users, including invited and deleted ones.
	Exists(ctx context.Context) (bool, error)
}

// Organizations stores employers.
type Organizations interface {
	// GetForUpdate returns an organization or fails with ErrOrganizationNotFound. Inside a
	// transaction, the row is locked until the transaction ends.
	GetForUpdate(ctx context.Context, id string) (Organization, error)
	// GetByIDs returns the organizations that exist, in any order, in one statement.
	GetByIDs(ctx context.Context, ids []string) ([]Organization, error)
	// Upsert stores an organization. A new organization has version 0. A stored organization is
	// replaced if its version is current.
	Upsert(ctx context.Context, o *Organization) error
}

// Members stores memberships of organizations and invitations to them.
type Members interface {
	// Get returns a member or invited user, or fails with ErrNotInTeam. The name and address come
	// from the account or, for an invited user, from the invitation.
	Get(ctx context.Context, organizationID, userID string) (Member, error)
	// GetByUser returns the user's active membership, with SecondFactorMissing, or nil.
	GetByUser(ctx context.Context, userID string) (*Membership, error)
	// List returns members and invited users like Get, in the order in which they were added. A
	// cursor is the id of the last membership of a page.
	List(ctx context.Context, organizationID string, f MemberFilter, r page.Request) (page.Result[Member], error)
	// Upsert stores a membership. A new membership has version 0. A stored membership is replaced
	// if its version is current. If a new membership exists already, or its user was deleted
	// concurrently, the transaction runs again. A second active membership of a user is an error.
	Upsert(ctx context.Context, m *Membership) error
	// Delete deletes the memberships and invitations of the users in the organization, with the
	// mail tokens of the invitations. An invited user, who has no account, is deleted with the
	// last invitation.
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

// Sessions stores sign-ins with hashes of their refresh tokens or cookies.
type Sessions interface {
	// Create stores a session and its refresh tokens.
	Create(ctx context.Context, s Session, tokens ...RefreshToken) error
	// GetPrincipal returns a session with its user and active membership, in one query. It fails
	// with ErrSessionNotFound if there is no such session, or if its user is deleted or locked. It
	// also returns sessions that have ended or expired.
	GetPrincipal(ctx context.Context, k SessionKey) (Principal, error)
	// GetPrincipals is GetPrincipal for several ids of sessions, in one query. It omits
	// those for which GetPrincipal fails.
	GetPrincipals(ctx context.Context, sessionIDs []string) ([]Principal, error)
	// GetRefreshToken finds a token by its hash or fails with ErrSessionNotFound.
	GetRefreshToken(ctx context.Context, hash string) (RefreshToken, error)
	// List returns the user's sessions that have neither ended nor expired, the newest first. A
	// session has also expired if it was not used after the time that LiveCutoffs returns for its
	// kind (API client or browser). A cursor is the id of the last session of a page.
	List(ctx context.Context, userID string, now time.Time, r page.Request) (page.Result[Session], error)
	// Update stores LastUsedAt and EndedAt of the user's session. It also stores new refresh
	// tokens, and UsedAt of existing refresh tokens. It fails with ErrSessionNotFound if the
	// session has ended. In a transaction, concurrent updates of the session wait for its end.
	Update(ctx context.Context, s Session, tokens ...RefreshToken) error
	// EndByUsers ends the sessions of the users, except the session with the id except. If except
	// is empty, it ends all of them. Sessions that have ended already keep their EndedAt.
	EndByUsers(ctx context.Context, userIDs []string, except string, at time.Time) error
}

// SessionKey identifies a session by one of its fields; the other one is empty.
type SessionKey struct{ ID, CookieHash string }

// MailTokens stores the secrets that are sent by mail.
type MailTokens interface {
	// Create stores a token. It fails with ErrUserNotFound if the user's account was deleted, even
	// if a concurrent transaction has deleted it.
	Create(ctx context.Context, t MailToken) error
	// Get finds a token by its hash. It fails with ErrTokenNotFound if there is no such token, or
	// if the token has another purpose. It also returns used and expired tokens.
	Get(ctx context.Context, hash string, p Purpose) (MailToken, error)
	// MarkUsed sets UsedAt of the user's unused tokens that match the filter, and returns their
	// number. If several callers mark the same token concurrently, only one of them counts it.
	MarkUsed(ctx context.Context, userID string, f MailTokenFilter, at time.Time) (int, error)
}

// MailTokenFilter selects tokens; a zero field selects all.
type MailTokenFilter struct {
	Hash           string
	Purpose        Purpose
	OrganizationID string
}

// EmailChanges stores requested and former addresses of accounts. Before an Upsert, the
// transaction has locked the user with Users.GetForUpdate or updated it.
type EmailChanges interface {
	// Get returns the history of the account. It is empty if nothing is stored.
	Get(ctx context.Context, userID string) (EmailHistory, error)
	// Upsert replaces the history of the account.
	Upsert(ctx context.Context, h EmailHistory) error
	// IsReserved reports whether another account can still restore the address at the time now,
	// because it is a former address of that account. The account of the user does not count.
	IsReserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error)
}

// SecondFactors stores authenticator apps and recovery codes.
type SecondFactors interface {
	// Get returns the user's second factor or fails with ErrNoSecondFactor. Inside a
	// transaction, the row is locked until the transaction ends.
	Get(ctx context.Context, userID string) (SecondFactor, error)
	// Upsert stores the factor with its recovery codes and replaces an earlier factor of the
	// user.
	Upsert(ctx context.Context, f SecondFactor) error
	// Delete deletes the user's factor with its recovery codes.
	Delete(ctx context.Context, userID string) error
}

// EmployerSettingsStore stores the settings of members of organizations.
type EmployerSettingsStore interface {
	// Get returns the user's settings, DefaultSettings if none are stored.
	Get(ctx context.Context, userID string) (EmployerSettings, error)
	// Upsert stores the settings. New settings have version 0. Stored settings are replaced if
	// their version is current.
	Upsert(ctx context.Context, s *EmployerSettings) error
}

// OptOuts stores the mailboxes that receive no invitations. They are identified by a hash.
type OptOuts interface {
	// Create stores the hash of a mailbox. A second call changes nothing.
	Create(ctx context.Context, mailbox string, at time.Time) error
	// Exists reports whether the hash of the mailbox is stored.
	Exists(ctx context.Context, mailbox string) (bool, error)
}

// PersonalData deletes the data of deleted accounts.
type PersonalData interface {
	// DeleteByUser deletes the memberships, invitations, sessions, mail tokens, e-mail history,
	// settings and second factor of a user. It does not delete the user and the audit log.
	DeleteByUser(ctx context.Context, userID string) error
}

// The retention kinds of the module. Each selects rows whose time is before a given time. The comment
// of each names this time.
const (
	// SessionKind selects sessions by ExpiresAt, with their refresh tokens and cookies.
	SessionKind retention.Kind = "identity.sessions"
	// RefreshTokenKind selects refresh tokens by ExpiresAt.
	RefreshTokenKind retention.Kind = "identity.refresh_tokens"
	// MailTokenKind selects mail tokens by ExpiresAt.
	MailTokenKind retention.Kind = "identity.mail_tokens"
	// EmailChangeKind selects requested addresses by RequestedAt.
	EmailChangeKind retention.Kind = "identity.email_changes"
	// EmailUndoKind selects former addresses by ExpiresAt.
	EmailUndoKind retention.Kind = "identity.email_undos"
	// InvitationKind selects invitations by InvitedUntil. An invited user is deleted with the
	// last invitation.
	InvitationKind retention.Kind = "identity.invitations"
)

package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// PasswordHasher turns passwords into verifiers. Hashing is expensive on
// purpose, so an implementation bounds how many run at once: a call waits its
// turn for at most 5 s and then fails with fault.ErrUnavailable.
type PasswordHasher interface {
	// Hash returns a self-describing verifier (a PHC string) with a fresh salt.
	Hash(ctx context.Context, password string) (string, error)
	// Verify compares in constant time. An empty verifier stands for an account
	// that is not there: it costs the same work and is never ok. stale asks the
	// caller to store a new Hash because the parameters have moved on.
	Verify(ctx context.Context, verifier, password string) (ok, stale bool, err error)
}

// OneTimeCodes makes and checks the codes of authenticator apps (RFC 6238).
type OneTimeCodes interface {
	// NewSecret returns a secret in base 32 and its otpauth:// address, which
	// names the account.
	NewSecret(account string) (secret, url string, err error)
	// Match returns the time step that the code belongs to, which is that of now
	// or one beside it. It is false for every other code.
	Match(secret, code string, now time.Time) (step int64, ok bool)
}

// SecondFactors stores authenticator apps and recovery codes.
type SecondFactors interface {
	// Get fails with ErrNoSecondFactor. In a transaction the row is locked until
	// its end.
	Get(ctx context.Context, userID string) (SecondFactor, error)
	// Upsert stores the factor in place of the user's earlier one.
	Upsert(ctx context.Context, f SecondFactor) error
	// AdvanceStep sets LastStep. It is false if a code of the step or of a later
	// one was used: of any number of callers one gets true.
	AdvanceStep(ctx context.Context, userID string, step int64) (bool, error)
	// ReplaceRecoveryCodes stores the hashes in place of the user's earlier ones.
	ReplaceRecoveryCodes(ctx context.Context, userID string, hashes []string) error
	// UseRecoveryCode deletes a recovery code. Of any number of callers one gets
	// true.
	UseRecoveryCode(ctx context.Context, userID, hash string) (bool, error)
	CountRecoveryCodes(ctx context.Context, userID string) (int, error)
	// Delete deletes the user's factor with its recovery codes.
	Delete(ctx context.Context, userID string) error
}

// AccessTokens signs and checks the portal's access tokens (JWT, RFC 7519).
type AccessTokens interface {
	Issue(c AccessClaims) (string, error)
	// Verify checks signature, issuer, audience and times. Any failure is
	// fault.ErrUnauthorized with the reason as its cause.
	Verify(token string) (AccessClaims, error)
}

// AccessClaims is what an access token says. Role and OrganizationID are for
// display by clients only: what a caller may do is read from the database.
type AccessClaims struct {
	UserID         string
	SessionID      string
	Role           auth.Role
	OrganizationID string
	IssuedAt       time.Time
	ExpiresAt      time.Time
}

// Subscriptions tells where users' plans stand.
type Subscriptions interface {
	// Status is the user's: active, or past_due while a payment is missing.
	Status(ctx context.Context, userID string) (string, error)
}

// Program is one means by which a program acts for an account: an application,
// an API key, a webhook or a consent.
type Program struct{ Kind, Name string }

// Programs knows the programs of accounts.
type Programs interface {
	// List returns the applications, keys, active webhooks and consents of the
	// account.
	List(ctx context.Context, userID string) ([]Program, error)
	// SignOut revokes the keys, grants and consents of the account, pauses its
	// webhooks, and returns them.
	SignOut(ctx context.Context, userID string, now time.Time) ([]Program, error)
}

// Mailboxes recognizes addresses that name the same mailbox.
type Mailboxes interface {
	// Key returns the form of the address that is the same for all its spellings:
	// upper and lower case, composed and decomposed letters, and both forms of an
	// internationalized domain. Tags and dots count.
	Key(email string) string
}

// Users stores accounts. Reads by id or address know no deleted accounts.
type Users interface {
	// Add stores a new account, or turns the row that holds the place of an
	// invited person with this address into it: then u takes that row's id.
	// ErrEmailTaken if the address has an account, also one that a concurrent
	// call is adding.
	Add(ctx context.Context, u *User) error
	// Invite is the id of whoever has u's address, invited, active or deleted;
	// if nobody has, u is stored and it is u's.
	Invite(ctx context.Context, u User) (id string, err error)
	// Exist reports whether there is or was any user, invited and deleted ones
	// included.
	Exist(ctx context.Context) (bool, error)
	// Find fails with ErrUserNotFound.
	Find(ctx context.Context, id string) (User, error)
	// FindByEmail finds by User.EmailKey and fails with ErrUserNotFound.
	FindByEmail(ctx context.Context, emailKey string) (User, error)
	// Save writes what changed since the user was read, if nobody else has
	// written in between; otherwise the transaction runs again.
	Save(ctx context.Context, u *User) error
	// SignIn fails for a locked account. It notes a sign-in and replaces the verifier (often by the same one),
	// if the account still has the one that the password was checked against:
	// a password that was changed meanwhile opens no session.
	SignIn(ctx context.Context, id, verifier, newVerifier string, at time.Time) (bool, error)
	// People reads several users at once; unknown ids and deleted accounts are
	// left out.
	People(ctx context.Context, ids []string) ([]User, error)
	// Absorb hands the invitations of an invited person without an account, and
	// their tokens, over to the account, and removes that person. Invitations of
	// an organization that has the account in its team already are dropped.
	Absorb(ctx context.Context, invitedID, userID string) error
}

// EmailChanges stores the addresses that accounts are to have. Each account has
// one at most.
type EmailChanges interface {
	// Put stores the change in place of an earlier one.
	Put(ctx context.Context, c EmailChange) error
	// Find fails with ErrNoEmailChange.
	Find(ctx context.Context, userID string) (EmailChange, error)
	// Remove forgets the user's change, if there is one.
	Remove(ctx context.Context, userID string) error
	// Forget removes at most n that were asked for before the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// EmailUndos stores the addresses that accounts had and can get back.
type EmailUndos interface {
	// Create stores an address that the account has left.
	Create(ctx context.Context, u EmailUndo) error
	// Get returns the address that the user's account left at the time, or
	// ErrNoEmailChange. Inside a transaction the row is locked until its end.
	Get(ctx context.Context, userID string, changedAt time.Time) (EmailUndo, error)
	// Find returns the first address with the key that the user's account left and
	// can still get back, or ErrNoEmailChange. Inside a transaction the row is locked
	// until its end.
	Find(ctx context.Context, userID, emailKey string, now time.Time) (EmailUndo, error)
	// Reserved reports whether another account than the user's can still get the
	// address back.
	Reserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error)
	// DeleteSince removes the addresses that the account left at the time or later.
	DeleteSince(ctx context.Context, userID string, since time.Time) error
	// DeleteBefore removes at most n that expired before the time.
	DeleteBefore(ctx context.Context, before time.Time, n int) (int, error)
}

// EmployerSettingsStore keeps what people on the employers' side have set.
type EmployerSettingsStore interface {
	// Find is DefaultSettings for who has set nothing.
	Find(ctx context.Context, userID string) (EmployerSettings, error)
	// Save is Users.Save for settings, the first ones included.
	Save(ctx context.Context, s *EmployerSettings) error
	// Remove forgets what the user has set.
	Remove(ctx context.Context, userID string) error
}

// Organizations stores employers and their members.
type Organizations interface {
	// Found stores a new organization with its first member.
	Found(ctx context.Context, o Organization, founder Membership) error
	// Find fails with ErrOrganizationNotFound.
	Find(ctx context.Context, id string) (Organization, error)
	// Many returns those of the ids that exist, in one statement and any order.
	Many(ctx context.Context, ids []string) ([]Organization, error)
	// Save is Users.Save for an organization.
	Save(ctx context.Context, o *Organization) error
	// Lock makes the transaction wait for every other that holds the lock of
	// the organization, and see what they did: changes of admins happen one
	// after the other.
	Lock(ctx context.Context, id string) error
	// Invite stores an invitation, also in place of one that ran out before
	// now. False if the person is a member or has an open invitation.
	Invite(ctx context.Context, m Membership, now time.Time) (bool, error)
	// Member fails with ErrNotInTeam. The answer carries the name and address
	// that the organization may see.
	Member(ctx context.Context, organizationID, userID string) (Member, error)
	// Members returns those of the users who are in the organization's team, as
	// Member does, in any order.
	Members(ctx context.Context, organizationID string, userIDs []string) ([]Member, error)
	// MembershipOf is the user's active membership, nil without one, with
	// SecondFactorMissing.
	MembershipOf(ctx context.Context, userID string) (*Membership, error)
	// SaveMember is Users.Save for a membership.
	SaveMember(ctx context.Context, m *Membership) error
	// RemoveMember ends a membership.
	RemoveMember(ctx context.Context, organizationID, userID string) error
	// DismissMember ends a membership or withdraws an invitation, with its tokens:
	// it ends the sessions of an active member, who is a jobseeker from then on if
	// the account was made for the organization alone, and deletes a person who was
	// only invited, and by no other organization. Nothing happens if the user is
	// neither.
	DismissMember(ctx context.Context, organizationID, userID string, at time.Time) error
	// RemoveMemberships ends what the user has in every organization, open
	// invitations included.
	RemoveMemberships(ctx context.Context, userID string) error
	// Dissolve ends the sessions of the organization's members, their
	// memberships and its open invitations. Whoever was only invited, and by
	// nobody else, is forgotten. Members on the employers' side who never
	// registered are jobseekers from then on.
	Dissolve(ctx context.Context, organizationID string, at time.Time) error
	// ForgetInvitations removes at most n invitations that ran out before the
	// moment. Whoever was only invited, and by nobody else, is forgotten with
	// them.
	ForgetInvitations(ctx context.Context, before time.Time, n int) (int, error)
	// HasOtherAdmin reports whether an active admin other than the user is left.
	HasOtherAdmin(ctx context.Context, organizationID, userID string) (bool, error)
	// Admins are the ids of at most n active admins, in the order in which they
	// were added.
	Admins(ctx context.Context, organizationID string, n int) ([]string, error)
	// Team lists the members, invited ones included, in the order in which they
	// were added. The cursor is the last one's membership id.
	Team(ctx context.Context, organizationID string, r page.Request) (page.Result[Member], error)
}

// Sessions stores sign-ins and their refresh tokens.
type Sessions interface {
	// Open stores a session with its first refresh token.
	Open(ctx context.Context, s Session, t RefreshToken) error
	// Principal reads a session with its user and active membership in one
	// query by the session's id. It fails with ErrSessionNotFound, also when the
	// user is deleted; whether the session lives is for the caller to judge.
	Principal(ctx context.Context, sessionID string) (Principal, error)
	// ListLive lists the user's sessions that can still be used at now, by
	// LiveCutoffs too, the newest first. The cursor is the last one's id.
	ListLive(ctx context.Context, userID string, now time.Time, r page.Request) (page.Result[Session], error)
	// Use notes a refresh and holds the session until the transaction ends.
	// False if it does not live any more.
	Use(ctx context.Context, sessionID string, at time.Time) (bool, error)
	// Hold reports whether the user's account and session are active, and keeps
	// Users.Save from changing the account until the transaction ends. With an
	// empty sessionID the account alone counts.
	Hold(ctx context.Context, userID, sessionID string) (bool, error)
	// End ends the user's session; one that has ended stays as it is.
	End(ctx context.Context, userID, sessionID string, at time.Time) error
	// EndAll ends all of the user's sessions but one ("" for none).
	EndAll(ctx context.Context, userID, except string, at time.Time) error
	// Remove removes all of the user's sessions with their tokens.
	Remove(ctx context.Context, userID string) error
	// FindRefresh fails with ErrSessionNotFound.
	FindRefresh(ctx context.Context, hash string) (RefreshToken, error)
	// AddRefresh stores a further token of a session.
	AddRefresh(ctx context.Context, t RefreshToken) error
	// SpendRefresh marks the token as used. Of any number of callers one hears
	// true.
	SpendRefresh(ctx context.Context, hash string, at time.Time) (bool, error)
	// Forget removes at most n sessions that expired before the moment, with
	// their tokens, and as many tokens of other sessions that did. It returns how
	// many went.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Browsers stores the sessions of those who signed in on a page and hold a
// cookie, of which only a hash is stored. They end as all sessions do.
type Browsers interface {
	// Open stores a session under the hash.
	Open(ctx context.Context, s Session, hash string) error
	// Principal reads the session with the hash as Sessions.Principal does, in
	// one query.
	Principal(ctx context.Context, hash string) (Principal, error)
}

// MailTokens stores the secrets that were sent by mail.
type MailTokens interface {
	// Add fails with ErrUserNotFound if the user's account is deleted, also by a
	// concurrent call.
	Add(ctx context.Context, t MailToken) error
	// Find fails with ErrTokenNotFound, also when the token is for something
	// else.
	Find(ctx context.Context, hash string, p Purpose) (MailToken, error)
	// Spend marks the token as used. Of any number of callers one hears true.
	Spend(ctx context.Context, userID, hash string, at time.Time) (bool, error)
	// SpendAll makes every open token of the user for the purpose useless;
	// organizationID narrows invitations to one organization's ("" for all).
	SpendAll(ctx context.Context, userID string, p Purpose, organizationID string, at time.Time) error
	// Remove removes all of the user's tokens.
	Remove(ctx context.Context, userID string) error
	// Forget removes at most n that expired before the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// OptOuts stores the mailboxes that take no invitations, without their addresses.
type OptOuts interface {
	// Create stores the mailbox; a second call changes nothing.
	Create(ctx context.Context, mailbox string, at time.Time) error
	Exists(ctx context.Context, mailbox string) (bool, error)
}

// What repositories answer for absence, and what callers hear.
var (
	ErrUserNotFound         = fault.New(fault.NotFound, "user_not_found", "User not found")
	ErrOrganizationNotFound = fault.New(fault.NotFound, "organization_not_found", "Organization not found")
	ErrSessionNotFound      = fault.New(fault.NotFound, "session_not_found", "Session not found")
	ErrTokenNotFound        = fault.New(fault.NotFound, "token_not_found", "Token not found")
	ErrNoSecondFactor       = fault.New(fault.NotFound, "no_second_factor", "The account has no second factor")
	ErrNoEmailChange        = fault.New(fault.NotFound, "no_email_change", "No e-mail change is waiting")

	ErrEmailTaken           = fault.New(fault.Conflict, "email_taken", "Email already registered")
	ErrBadCredentials       = fault.New(fault.Unauthenticated, "invalid_credentials", "Invalid email or password")
	ErrSecondFactorRequired = fault.New(fault.Unauthenticated, "second_factor_required", "Enter the code of your authenticator app")
	ErrSecondFactorInvalid  = fault.New(fault.Unauthenticated, "second_factor_invalid", "Invalid authentication code")
	ErrSecondFactorEnabled  = fault.New(fault.Conflict, "second_factor_enabled", "The second factor is already enabled")
	ErrNotEnrolled          = fault.New(fault.Conflict, "not_enrolled", "The account has no second factor")
	ErrBadRefreshToken      = fault.New(fault.Unauthenticated, "invalid_refresh_token", "Invalid or expired refresh token")
	ErrNotInTeam            = fault.New(fault.Forbidden, "not_in_team", "Team member not in your organization")
	ErrAlreadyInTeam        = fault.New(fault.Conflict, "already_in_team", "Already a team member or invited")
	ErrLastAdmin            = fault.New(fault.Conflict, "last_admin", "An organization needs at least one admin")
	ErrSignInToAccept       = fault.New(fault.Unauthenticated, "sign_in_required", "Sign in to accept this invitation")
	ErrSomebodyElses        = fault.New(fault.Forbidden, "not_your_invitation", "This invitation is for another account")
)

package identity

import (
	"cmp"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/text"
)

// Kind is the side of the job board that an account was created for.
type Kind string

// The kinds. A jobseeker who joins an organization keeps KindJobseeker. An account that was
// created by accepting an invitation gets KindJobseeker when its membership ends.
const (
	KindJobseeker Kind = "jobseeker"
	KindEmployer  Kind = "employer"
)

// UserStatus is the status of an account.
type UserStatus string

// The statuses of an account; see the package comment.
const (
	UserInvited UserStatus = "invited"
	UserActive  UserStatus = "active"
	UserDeleted UserStatus = "deleted"
)

// User is a person who has an account, or was invited to create one.
type User struct {
	ID    string
	Email string
	// Key is the unique form of the address (Mailboxes.Key): addresses with the same key
	// belong to the same account. It may be empty in rows of earlier versions; use EmailKey.
	Key    string
	Name   string
	Kind   Kind
	Status UserStatus
	// Registered is false for a user who was invited, even after the user has created the account
	// by accepting. It stays true for users who registered as employers.
	Registered bool
	// PasswordHash is empty for an invited or deleted user, and never for an active one.
	PasswordHash string
	// EmailVerifiedAt is zero until the address is verified.
	EmailVerifiedAt time.Time
	// LockedAt is the time at which the account was locked, or zero.
	LockedAt time.Time
	// ModeratorSince is the time at which an operator made the user a moderator, or zero.
	ModeratorSince time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        int64
}

// NewUser returns an active account. The caller has validated the values.
func NewUser(id, email, name string, kind Kind, passwordHash string, now time.Time) User {
	return User{
		ID:           id,
		Email:        email,
		Name:         name,
		Kind:         kind,
		Status:       UserActive,
		Registered:   true,
		PasswordHash: passwordHash,
		CreatedAt:    now,
		UpdatedAt:    now,
		Version:      1,
	}
}

// NewInvited returns an invited user, who has no account yet.
func NewInvited(id, email, name string, now time.Time) User {
	const noPassword = ""

	u := NewUser(id, email, name, KindEmployer, noPassword, now)
	u.Status, u.Registered = UserInvited, false

	return u
}

// EmailKey returns the unique form of the user's address.
func (u *User) EmailKey() string { return cmp.Or(u.Key, LowerCaseKey(u.Email)) }

// FirstName returns the name in the greeting of e-mails.
func (u *User) FirstName() string {
	first, _, _ := strings.Cut(u.Name, " ")
	return first
}

// Claim makes the account of an invited user active. The user has received the invitation, so
// the address is verified.
func (u *User) Claim(name, passwordHash string, now time.Time) {
	u.Name = name
	u.PasswordHash = passwordHash
	u.Status = UserActive
	u.CreatedAt = now
	u.Verify(now)
}

// Verify records that the user receives e-mail at the address.
func (u *User) Verify(now time.Time) {
	if u.EmailVerifiedAt.IsZero() {
		u.EmailVerifiedAt = now
	}

	u.UpdatedAt = now
}

// SetPassword replaces the hash of the password.
func (u *User) SetPassword(hash string, now time.Time) { u.PasswordHash, u.UpdatedAt = hash, now }

// Lock makes the account unusable until Unlock.
func (u *User) Lock(now time.Time) {
	if u.LockedAt.IsZero() {
		u.LockedAt = now
	}

	u.UpdatedAt = now
}

// Unlock makes a locked account usable again.
func (u *User) Unlock(now time.Time) { u.LockedAt, u.UpdatedAt = time.Time{}, now }

// IsModerator reports whether the user is a moderator.
func (u *User) IsModerator() bool { return !u.ModeratorSince.IsZero() }

// GrantModerator makes the user a moderator.
func (u *User) GrantModerator(now time.Time) {
	if u.ModeratorSince.IsZero() {
		u.ModeratorSince = now
	}

	u.UpdatedAt = now
}

// RevokeModerator ends the user's role as a moderator.
func (u *User) RevokeModerator(now time.Time) { u.ModeratorSince, u.UpdatedAt = time.Time{}, now }

// Rename changes the name of the user. The caller has validated the name.
func (u *User) Rename(name string, now time.Time) { u.Name, u.UpdatedAt = name, now }

// Move replaces the address of the account with a verified one. The key is its Mailboxes.Key.
func (u *User) Move(email, key string, now time.Time) {
	u.Email = email
	u.Key = key
	u.EmailVerifiedAt = now
	u.UpdatedAt = now
}

// Erase deletes the personal data of the account. The row remains, so that its id is never
// used again. The address becomes available: it is replaced with a random one, which no
// account can have already.
func (u *User) Erase(now time.Time) {
	u.Status = UserDeleted
	u.Email = auth.NewSecret("", secretChars) + "@" + text.DeletedDomain
	u.Name = DeletedName
	u.PasswordHash = ""
	u.Key = ""
	u.EmailVerifiedAt = time.Time{}
	u.ModeratorSince = time.Time{}
	u.UpdatedAt = now
}

// DeletedName is the name of deleted accounts.
const DeletedName = "Deleted user"

// LowerCaseKey returns a key of an address that ignores only its upper and lower case. Mailboxes.Key
// also recognizes other spellings. Rows of earlier versions have the LowerCaseKey as User.Key.
func LowerCaseKey(email string) string { return strings.ToLower(email) }

// DemoDomain is the domain of the addresses of demo accounts. It is reserved and receives no
// e-mail (RFC 2606). Demo accounts cannot sign in if the service has an https URL.
const DemoDomain = "locum.example"

// isDisabledDemo reports whether the account is a demo account that cannot sign in. Demo accounts
// cannot sign in to a service with an https URL, because it may be public and their passwords are
// known.
func (s *Service) isDisabledDemo(u User) bool {
	isDemo := strings.HasSuffix(u.EmailKey(), "@"+DemoDomain)
	return isDemo && strings.HasPrefix(s.PublicURL, "https:")
}

// maxPassword is the maximum size of a password in bytes. Longer passwords are no safer, but
// take longer to hash.
const maxPassword = 1024

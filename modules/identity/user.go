package identity

import (
	"cmp"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/text"
)

// Kind is the side of the job board that an account was made for.
type Kind string

// The kinds. An account of kind Jobseeker keeps its jobseeker side for good,
// also when it joins an organization. One that was made for an organization
// alone becomes of that kind when the organization is closed.
const (
	KindJobseeker Kind = "jobseeker"
	KindEmployer  Kind = "employer"
)

// UserStatus is where an account stands.
type UserStatus string

// The statuses of an account; see the package comment.
const (
	UserInvited UserStatus = "invited"
	UserActive  UserStatus = "active"
	UserDeleted UserStatus = "deleted"
)

// User is a person with an account, or one who was invited to make one.
type User struct {
	ID    string
	Email string
	// Key makes the address unique (Mailboxes.Key). It is empty where that is
	// EmailKey of the address.
	Key    string
	Name   string
	Kind   Kind
	Status UserStatus
	// Registered is false for a user who was invited, also after the user has created the
	// account by accepting. It stays true for users who registered as employers.
	Registered bool
	// PasswordHash is empty exactly for an invited person.
	PasswordHash string
	// EmailVerifiedAt is zero until the address is proven.
	EmailVerifiedAt time.Time
	// LockedAt is when an operator locked the account, zero if it is not locked.
	LockedAt  time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
	Version   int64
}

// NewUser makes an active account. The caller has checked name and password.
func NewUser(id, email, name string, kind Kind, passwordHash string, now time.Time) User {
	return User{ID: id, Email: email, Name: name, Kind: kind, Status: UserActive, Registered: true, PasswordHash: passwordHash, CreatedAt: now, UpdatedAt: now, Version: 1}
}

// NewInvited holds the place of a person without an account.
func NewInvited(id, email, name string, now time.Time) User {
	u := NewUser(id, email, name, KindEmployer, "", now)
	u.Status, u.Registered = UserInvited, false
	return u
}

// EmailKey is the unique form of the user's address.
func (u *User) EmailKey() string { return cmp.Or(u.Key, EmailKey(u.Email)) }

// FirstName is how a mail greets the user.
func (u *User) FirstName() string {
	first, _, _ := strings.Cut(u.Name, " ")
	return first
}

// Claim turns an invited person into an account. The invitation came by mail,
// so the address is proven with it.
func (u *User) Claim(name, passwordHash string, now time.Time) {
	u.Name, u.PasswordHash, u.Status, u.CreatedAt = name, passwordHash, UserActive, now
	u.Verify(now)
}

// Verify notes that the user reads mail at the address.
func (u *User) Verify(now time.Time) {
	if u.EmailVerifiedAt.IsZero() {
		u.EmailVerifiedAt = now
	}
	u.UpdatedAt = now
}

// SetPassword replaces the password's verifier.
func (u *User) SetPassword(hash string, now time.Time) { u.PasswordHash, u.UpdatedAt = hash, now }

// Lock makes the account unusable until Unlock.
func (u *User) Lock(now time.Time) {
	if u.LockedAt.IsZero() {
		u.LockedAt = now
	}
	u.UpdatedAt = now
}

// Unlock undoes Lock.
func (u *User) Unlock(now time.Time) { u.LockedAt, u.UpdatedAt = time.Time{}, now }

// Rename gives the user another name, which the caller has checked.
func (u *User) Rename(name string, now time.Time) { u.Name, u.UpdatedAt = name, now }

// Move makes a proven address the account's.
func (u *User) Move(email, key string, now time.Time) {
	u.Email, u.Key, u.EmailVerifiedAt, u.UpdatedAt = email, key, now, now
}

// Erase deletes the personal data of the account. The row remains, so that its id is
// never used again; the address becomes available. The replacements are unpredictable, so
// that no other account can have them already.
func (u *User) Erase(now time.Time) {
	u.Status, u.Email, u.Name, u.PasswordHash = UserDeleted, auth.NewSecret("", secretChars)+"@"+deletedDomain, DeletedName, ""
	u.Key, u.EmailVerifiedAt, u.UpdatedAt = "", time.Time{}, now
}

// DeletedName is the name of deleted accounts.
const DeletedName = "Deleted user"

// deletedDomain is the domain of the addresses of deleted accounts. It never receives
// mail (RFC 2606), and no account can have an address in it.
const deletedDomain = "deleted.invalid"

// EmailKey is an address in lower case. Addresses with the same one are the same;
// Mailboxes.Key also recognizes other spellings.
func EmailKey(email string) string { return strings.ToLower(email) }

// ParseEmail reads a bare address (RFC 5322 addr-spec, at most the 254 octets
// that RFC 5321 lets through) and lower-cases its domain.
func ParseEmail(s string) (email string, ok bool) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s || len(s) > 254 || hasControl(s) {
		return "", false // also whatever is only an address after unquoting
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], strings.ToLower(s[at+1:])
	if len(local) > 64 || strings.ContainsAny(local, "\" ") || !hostName(domain) || domain == deletedDomain || strings.ContainsFunc(local, posesAsASCII) {
		return "", false
	}
	return local + "@" + domain, true
}

// posesAsASCII reports a letter that EmailKey could not tell from an ASCII one.
func posesAsASCII(r rune) bool { return r > unicode.MaxASCII && unicode.ToLower(r) <= unicode.MaxASCII }

// hostName reports whether mail can be routed to the name: labels with at least
// one dot between them, in any script (RFC 5890).
func hostName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for _, r := range l {
			if r != '-' && !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd) {
				return false
			}
		}
	}
	return len(labels) > 1
}

// Bounds of what people type.
const (
	maxName     = 200
	maxPassword = 1024 // bytes: more would only be work for the hasher
	minPassword = 8
)

// passwordFault returns what a password lacks, or an empty string. The rule for
// jobseekers (mixed) also requires upper case, lower case and digits.
func passwordFault(p string, mixed bool) string {
	var upper, lower, digit bool
	for _, r := range p {
		upper = upper || unicode.IsUpper(r)
		lower = lower || unicode.IsLower(r)
		digit = digit || unicode.IsDigit(r)
	}
	switch {
	case p == "":
		return "is required"
	case len(p) > maxPassword:
		return "must have at most 1024 bytes"
	case utf8.RuneCountInString(p) < minPassword:
		return "must have at least 8 characters"
	case mixed && (!upper || !lower || !digit):
		return "must contain an upper case letter, a lower case letter and a digit"
	}
	return ""
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s)
}

// checks collects every fault of an input, in the documented order.
type checks []fault.Field

func (c *checks) bad(field, message string) {
	*c = append(*c, fault.Field{Name: field, Message: message})
}

func (c *checks) email(s string) string {
	email, ok := ParseEmail(s)
	switch {
	case s == "":
		c.bad("email", "is required")
	case !ok:
		c.bad("email", "must be a valid email address")
	}
	return email
}

func (c *checks) password(field, p string, mixed bool) {
	if f := passwordFault(p, mixed); f != "" {
		c.bad(field, f)
	}
}

// line checks one line of text and returns it as text.Name does.
func (c *checks) line(field, s string, required bool) string {
	s = text.Name(s)
	switch {
	case s == "" && required:
		c.bad(field, "is required")
	case utf8.RuneCountInString(s) > maxName:
		c.bad(field, "must have at most 200 characters")
	case hasControl(s):
		c.bad(field, "must not contain control characters")
	}
	return s
}

func (c *checks) err() error {
	if len(*c) == 0 {
		return nil
	}
	return fault.ErrInvalid.WithFields(*c...)
}

package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Deps are the collaborators and settings of the service.
type Deps struct {
	Tx               tx.Runner
	Events           event.Recorder
	Audit            audit.Recorder
	AuditLog         audit.Log
	Clock            clock.Clock
	NewID            id.Source
	Users            Users
	Organizations    Organizations
	VerifiedNames    VerifiedNames
	Members          Members
	Sessions         Sessions
	MailTokens       MailTokens
	EmailChanges     EmailChanges
	EmployerSettings EmployerSettingsStore
	PersonalData     PersonalData
	// Retention may be nil; then nothing expires.
	Retention     retention.Store
	Tasks         task.Adder
	Hasher        PasswordHasher
	AccessTokens  AccessTokens
	Limiter       limit.Limiter
	Mailer        mail.Mailer
	Subscriptions Subscriptions
	Programs      Programs
	Mailboxes     Mailboxes
	Sealer        auth.Sealer
	OptOuts       OptOuts
	SecondFactors SecondFactors
	OneTimeCodes  OneTimeCodes
	Vault         auth.Vault
	// HoldNewOrganizations holds the jobs of every new organization until a moderator
	// decides.
	HoldNewOrganizations bool
	// PublicURL is the base of the links in mails, without a trailing slash.
	PublicURL string
}

// Service implements the use cases of the module.
type Service struct {
	Deps
	gate gate
}

// New returns the service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Account is a user with the data that the user sees.
type Account struct {
	User
	Role auth.Role
	// SubscriptionStatus is the status of the user's plan; the free plan is active.
	SubscriptionStatus string
}

// SignedIn is the result of opening a session.
type SignedIn struct {
	AccessToken  string
	RefreshToken string
	Account      Account
}

// user returns the account or fails with ErrUserNotFound. In contrast to
// Users.GetForUpdate it locks nothing.
func (s *Service) user(ctx context.Context, userID string) (User, error) {
	found, err := s.Users.GetByIDs(ctx, []string{userID})
	return list.First(found, err, ErrUserNotFound)
}

// caller is user for the caller of a request. It fails with fault.ErrUnauthorized if the
// account was deleted since the request began.
func (s *Service) caller(ctx context.Context, userID string) (User, error) {
	u, err := s.user(ctx, userID)
	return u, fault.IfNotFound(err, fault.ErrUnauthorized.WithCause(err))
}

// organization returns the organization or fails with ErrOrganizationNotFound.
func (s *Service) organization(ctx context.Context, id string) (Organization, error) {
	found, err := s.Organizations.GetByIDs(ctx, []string{id})
	return list.First(found, err, ErrOrganizationNotFound)
}

// findByEmail finds the account or invited user with the mailbox, or fails with
// ErrUserNotFound. Rows that were stored before Mailboxes recognized other spellings
// have the key EmailKey.
func (s *Service) findByEmail(ctx context.Context, email string) (User, error) {
	key, typed := s.Mailboxes.Key(email), EmailKey(email)
	u, err := s.Users.GetByEmail(ctx, key)
	if key != typed && errors.Is(err, ErrUserNotFound) {
		u, err = s.Users.GetByEmail(ctx, typed)
	}
	return u, err
}

// openFunc opens a session of the user in the transaction of ctx.
type openFunc func(ctx context.Context, userID string, now time.Time) error

// openInto returns a function that calls Service.open and stores its result.
func (s *Service) openInto(out *SignedIn, from Client) openFunc {
	return func(ctx context.Context, userID string, now time.Time) (err error) {
		*out, err = s.open(ctx, userID, from, now)
		return err
	}
}

// open opens a session in the transaction of ctx.
func (s *Service) open(ctx context.Context, userID string, from Client, now time.Time) (SignedIn, error) {
	session := NewSession(s.NewID(), userID, from, now)
	token, secret := session.NewRefreshToken(now)
	if err := s.createSession(ctx, session, token); err != nil {
		return SignedIn{}, err
	}
	p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: session.ID})
	if err != nil {
		return SignedIn{}, err
	}
	out, err := s.tokens(p, secret, now)
	if err != nil {
		return SignedIn{}, err
	}
	out.Account.SubscriptionStatus, err = s.Subscriptions.Status(ctx, userID)
	return out, err
}

// createSession stores and audits a session.
func (s *Service) createSession(ctx context.Context, session Session, tokens ...RefreshToken) error {
	if err := s.Sessions.Create(ctx, session, tokens...); err != nil {
		return err
	}
	return s.auditUser(ctx, session.UserID, audit.SignInSucceeded, session.ID)
}

// tokens signs an access token for the principal.
func (s *Service) tokens(p Principal, refresh string, now time.Time) (SignedIn, error) {
	a := p.Actor()
	access, err := s.AccessTokens.Issue(AccessClaims{
		UserID: a.UserID, SessionID: a.SessionID, Role: a.Role, OrganizationID: a.OrganizationID,
		IssuedAt: now, ExpiresAt: now.Add(AccessLife),
	})
	return SignedIn{AccessToken: access, RefreshToken: refresh, Account: Account{User: p.User, Role: a.Role}}, err
}

// Authenticate returns the caller with the access token. The token identifies a
// session; its validity and the permissions of its user are read from the storage.
// Authenticate fails with fault.ErrUnauthorized if the token or session is invalid.
func (s *Service) Authenticate(ctx context.Context, accessToken string) (auth.Actor, error) {
	claims, err := s.AccessTokens.Verify(accessToken)
	if err != nil {
		return auth.Actor{}, err
	}
	if !id.Valid(claims.SessionID) {
		return auth.Actor{}, fault.ErrUnauthorized
	}
	p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: claims.SessionID})
	switch {
	case err != nil:
		return auth.Actor{}, fault.IfNotFound(err, fault.ErrUnauthorized.WithCause(err))
	case !p.Session.Alive(s.Clock.Now()) || p.User.ID != claims.UserID:
		return auth.Actor{}, fault.ErrUnauthorized
	}
	return p.Actor(), nil
}

// ActorFor returns the account as an actor, for programs that act for it without a
// session. It fails with fault.ErrUnauthorized if the account is deleted or locked.
func (s *Service) ActorFor(ctx context.Context, userID string) (auth.Actor, error) {
	u, err := s.caller(ctx, userID)
	switch {
	case err != nil:
		return auth.Actor{}, err
	case u.Status != UserActive, !u.LockedAt.IsZero():
		return auth.Actor{}, fault.ErrUnauthorized
	}
	m, err := s.Members.GetByUser(ctx, userID)
	return Principal{User: u, Membership: m}.Actor(), err
}

// HoldSession fails with fault.ErrUnauthorized if the actor's session or account
// has ended. It locks the account: until the end of the transaction, a new password
// ends neither. For an actor without a session only the account counts.
func (s *Service) HoldSession(ctx context.Context, by auth.Actor) error {
	u, err := s.Users.GetForUpdate(ctx, by.UserID)
	if err == nil && u.Status != UserActive {
		err = fault.ErrUnauthorized
	}
	if err != nil || by.SessionID == "" {
		return fault.IfNotFound(err, fault.ErrUnauthorized)
	}
	// Read after the lock was acquired, to see what was committed before.
	p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: by.SessionID})
	if err == nil && (p.User.ID != by.UserID || !p.Session.EndedAt.IsZero()) {
		err = fault.ErrUnauthorized
	}
	return fault.IfNotFound(err, fault.ErrUnauthorized)
}

// Me returns the caller's account.
func (s *Service) Me(ctx context.Context, a auth.Actor) (Account, error) {
	if err := a.RequireUser(); err != nil {
		return Account{}, err
	}
	u, err := s.caller(ctx, a.UserID)
	if err != nil {
		return Account{}, err
	}
	status, err := s.Subscriptions.Status(ctx, a.UserID)
	return Account{User: u, Role: a.Role, SubscriptionStatus: status}, err
}

// OrganizationsOf returns organizations by their ids. Unknown ids are left out.
func (s *Service) OrganizationsOf(ctx context.Context, ids []string) (map[string]Organization, error) {
	if len(ids) == 0 {
		return map[string]Organization{}, nil
	}
	found, err := s.Organizations.GetByIDs(ctx, ids)
	return list.ToMap(found, func(o Organization) (string, Organization) { return o.ID, o }), err
}

// Person is a user as other modules may show it.
type Person struct{ ID, Name, Email string }

// People returns users by their ids. Unknown ids are left out.
func (s *Service) People(ctx context.Context, ids []string) (map[string]Person, error) {
	if len(ids) == 0 {
		return map[string]Person{}, nil
	}
	users, err := s.Users.GetByIDs(ctx, ids)
	return list.ToMap(users, func(u User) (string, Person) { return u.ID, Person{u.ID, u.Name, u.Email} }), err
}

// OrganizationName returns the name of an organization.
func (s *Service) OrganizationName(ctx context.Context, organizationID string) (string, error) {
	o, err := s.organization(ctx, organizationID)
	return o.Name, err
}

// MemberMay reports whether the user is an active member of the organization with
// the permission.
func (s *Service) MemberMay(ctx context.Context, organizationID, userID string, p auth.Permission) (bool, error) {
	m, err := s.Members.GetByUser(ctx, userID)
	if err != nil || m == nil || m.OrganizationID != organizationID || m.SecondFactorMissing {
		return false, err
	}
	return auth.Actor{OrganizationID: organizationID, Permissions: m.Grants()}.May(p), nil
}

// Admins returns the ids of at most n active admins of an organization, in the order
// in which they were added.
func (s *Service) Admins(ctx context.Context, organizationID string, n int) ([]string, error) {
	found, err := s.Members.List(ctx, organizationID, MemberFilter{Role: Admin, Status: MemberActive}, page.After("", n))
	return list.Map(found.Items, func(m Member) string { return m.UserID }), err
}

// The time for which expired rows are kept, for support. The name and address of an
// invited user are kept for as long as the team list shows them.
const (
	expiredFor    = 7 * 24 * time.Hour
	unacceptedFor = 30 * 24 * time.Hour
)

// Forget deletes sessions, tokens, changes of address and invitations that have
// expired.
func (s *Service) Forget(ctx context.Context) error {
	const batchSize = 1000
	now := s.Clock.Now()
	for _, kind := range []retention.Kind{SessionKind, RefreshTokenKind, MailTokenKind, EmailChangeKind, EmailUndoKind} {
		if err := retention.DeleteAllBefore(ctx, s.Retention, kind, now.Add(-expiredFor), batchSize); err != nil {
			return err
		}
	}
	return retention.DeleteAllBefore(ctx, s.Retention, InvitationKind, now.Add(-unacceptedFor), batchSize)
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "identity.forget", Every: time.Hour, Do: s.Forget, Timeout: 5 * time.Minute}}
}

package identity

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/batch"
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
	// Retention may be nil; then no data is deleted because of its age.
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
	// PublicURL is the URL of the service. The links in e-mails begin with it. It has no trailing
	// slash.
	PublicURL string
	// Contact is the e-mail address for questions, which e-mails about suspensions name. It may
	// be empty.
	Contact string
}

// Service implements the use cases of the module.
type Service struct {
	Deps
	gate gate
	// organizationChanges is the number of transactions that may have changed an organization.
	organizationChanges atomic.Uint64
	// sessions reads the principal of a session id. It combines the queries of concurrent requests.
	sessions *batch.Batcher[string, *Principal]
}

// The limits of the queries for the sessions of requests.
const (
	maxSessionQueries  = 2 // concurrently
	maxSessionsInQuery = 100
	// sessionTimeout is so short that a query that hangs ends before the requests that wait for
	// the next query time out.
	sessionTimeout = 4 * time.Second
)

// New returns the service.
func New(d Deps) *Service {
	s := &Service{Deps: d}
	s.sessions = batch.New(maxSessionQueries, maxSessionsInQuery, batch.Unweighted, s.listPrincipals)
	return s
}

// listPrincipals returns the principals of the sessions (each is the session with its user and
// membership), in the order of the ids. It returns nil for a session that does not exist.
func (s *Service) listPrincipals(ctx context.Context, sessionIDs []string) ([]*Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()

	distinctIDs := list.Distinct(sessionIDs, func(id string) string { return id })

	found, err := s.Sessions.GetPrincipals(ctx, distinctIDs)
	if err != nil {
		return nil, err
	}

	byID := list.ToMap(found, func(p Principal) (string, *Principal) { return p.Session.ID, &p })

	return list.Map(sessionIDs, func(id string) *Principal { return byID[id] }), nil
}

// OrganizationChanges returns the number of transactions of this process that may have changed the
// name, the profile or the standing of an organization. A cached page is outdated if the number has
// changed since the page was rendered.
func (s *Service) OrganizationChanges() uint64 { return s.organizationChanges.Load() }

// countOrganizationChange counts a transaction that may have changed an organization, unless it
// has failed with err. It returns err.
func (s *Service) countOrganizationChange(err error) error {
	if err == nil {
		s.organizationChanges.Add(1)
	}

	return err
}

// Account is a user with the data that the user sees.
type Account struct {
	User
	Role auth.Role
	// SubscriptionStatus is the status of the user's plan; the free plan is active.
	SubscriptionStatus string
}

// SignedIn is a new session: its tokens and its account.
type SignedIn struct {
	AccessToken  string
	RefreshToken string
	Account      Account
}

// getUser returns the user or fails with ErrUserNotFound. It does not lock the row.
func (s *Service) getUser(ctx context.Context, userID string) (User, error) {
	found, err := s.Users.GetByIDs(ctx, []string{userID})
	return list.First(found, err, ErrUserNotFound)
}

// getCaller returns the account of the caller of a request. It fails with fault.ErrUnauthorized if
// the account was deleted after the request began.
func (s *Service) getCaller(ctx context.Context, userID string) (User, error) {
	u, err := s.getUser(ctx, userID)
	return u, fault.IfNotFound(err, fault.ErrUnauthorized.WithCause(err))
}

// getOrganization returns the organization or fails with ErrOrganizationNotFound. It does not
// lock the row.
func (s *Service) getOrganization(ctx context.Context, id string) (Organization, error) {
	found, err := s.Organizations.GetByIDs(ctx, []string{id})
	return list.First(found, err, ErrOrganizationNotFound)
}

// findByEmail returns the account or invited user with the address in any spelling, or fails with
// ErrUserNotFound. A row of an earlier version has the key that LowerCaseKey returns, because that
// version did not recognize other spellings.
func (s *Service) findByEmail(ctx context.Context, email string) (User, error) {
	key, earlierKey := s.Mailboxes.Key(email), LowerCaseKey(email)

	u, err := s.Users.GetByEmail(ctx, key)
	if key != earlierKey && errors.Is(err, ErrUserNotFound) {
		u, err = s.Users.GetByEmail(ctx, earlierKey)
	}

	return u, err
}

// openSessionFunc opens a session of the user in the transaction of ctx. There is one function for API
// clients (openSessionInto) and one for browsers (openBrowser).
type openSessionFunc func(ctx context.Context, userID string, now time.Time) error

// openSessionInto returns a function that opens a session of an API client and stores its tokens and
// account in signedIn.
func (s *Service) openSessionInto(signedIn *SignedIn, from Client) openSessionFunc {
	return func(ctx context.Context, userID string, now time.Time) (err error) {
		*signedIn, err = s.openSession(ctx, userID, from, now)
		return err
	}
}

// openSession opens a session of an API client in the transaction of ctx.
func (s *Service) openSession(ctx context.Context, userID string, from Client, now time.Time) (SignedIn, error) {
	session := NewSession(s.NewID(), userID, from, now)

	refreshToken, refreshSecret := session.NewRefreshToken(now)
	if err := s.createSession(ctx, session, refreshToken); err != nil {
		return SignedIn{}, err
	}

	// Read the session with the user and membership, because the access token contains the role of
	// the membership.
	principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: session.ID})
	if err != nil {
		return SignedIn{}, err
	}

	signedIn, err := s.issueTokens(principal, refreshSecret, now)
	if err != nil {
		return SignedIn{}, err
	}

	signedIn.Account.SubscriptionStatus, err = s.Subscriptions.Status(ctx, userID)

	return signedIn, err
}

// createSession stores a session with its refresh tokens (none for a browser) and records it in the
// audit log.
func (s *Service) createSession(ctx context.Context, session Session, tokens ...RefreshToken) error {
	if err := s.Sessions.Create(ctx, session, tokens...); err != nil {
		return err
	}

	return s.auditUser(ctx, session.UserID, audit.SignInSucceeded, session.ID)
}

// issueTokens issues an access token for the principal. It returns the token with the account and the
// given secret of the refresh token.
func (s *Service) issueTokens(p Principal, refreshSecret string, now time.Time) (SignedIn, error) {
	actor := p.Actor()
	access, err := s.AccessTokens.Issue(AccessClaims{
		UserID:         actor.UserID,
		SessionID:      actor.SessionID,
		Role:           actor.Role,
		OrganizationID: actor.OrganizationID,
		IssuedAt:       now,
		ExpiresAt:      now.Add(AccessLife),
	})

	account := Account{User: p.User, Role: actor.Role}

	return SignedIn{AccessToken: access, RefreshToken: refreshSecret, Account: account}, err
}

// Authenticate returns the caller with the access token, or fails with fault.ErrUnauthorized.
// The token only identifies a session: whether the session is valid, and the permissions of
// the user, are read from the database.
func (s *Service) Authenticate(ctx context.Context, accessToken string) (auth.Actor, error) {
	claims, err := s.AccessTokens.Verify(accessToken)
	if err != nil {
		return auth.Actor{}, err
	}

	if !id.Valid(claims.SessionID) {
		return auth.Actor{}, fault.ErrUnauthorized
	}

	principal, err := s.sessions.Read(ctx, claims.SessionID)
	switch {
	case ctx.Err() != nil: // the request has timed out or was cancelled
		return auth.Actor{}, fault.ErrUnavailable.WithCause(ctx.Err()).WithRetryAfter(time.Second)
	case err != nil:
		return auth.Actor{}, err
	case principal == nil:
		return auth.Actor{}, fault.ErrUnauthorized.WithCause(ErrSessionNotFound)
	case !principal.Session.IsAlive(s.Clock.Now()), principal.User.ID != claims.UserID:
		return auth.Actor{}, fault.ErrUnauthorized
	}

	return principal.Actor(), nil
}

// ActorFor returns the account as an actor, for programs that act for it without a
// session. It fails with fault.ErrUnauthorized if the account is deleted or locked.
func (s *Service) ActorFor(ctx context.Context, userID string) (auth.Actor, error) {
	user, err := s.getCaller(ctx, userID)
	if err != nil {
		return auth.Actor{}, err
	}

	isLocked := !user.LockedAt.IsZero()
	if user.Status != UserActive || isLocked {
		return auth.Actor{}, fault.ErrUnauthorized
	}

	membership, err := s.Members.GetByUser(ctx, userID)

	return Principal{User: user, Membership: membership}.Actor(), err
}

// HoldSession is called in a transaction that gives a program access to the actor's account. It fails
// with fault.ErrUnauthorized if the actor's session has ended or the account is not active. It locks
// the account until the transaction ends, so that a concurrent change of the password, which ends
// sessions and the access of programs, waits. If the actor has no session, HoldSession checks only
// the account.
func (s *Service) HoldSession(ctx context.Context, actor auth.Actor) error {
	user, err := s.Users.GetForUpdate(ctx, actor.UserID)
	if err != nil {
		return fault.IfNotFound(err, fault.ErrUnauthorized)
	}

	if user.Status != UserActive {
		return fault.ErrUnauthorized
	}

	if actor.SessionID == "" {
		return nil
	}

	// Read the session after locking the account, to see all changes committed before.
	principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: actor.SessionID})
	if err != nil {
		return fault.IfNotFound(err, fault.ErrUnauthorized)
	}

	hasEnded := !principal.Session.EndedAt.IsZero()
	if principal.User.ID != actor.UserID || hasEnded {
		return fault.ErrUnauthorized
	}

	return nil
}

// Me returns the caller's account.
func (s *Service) Me(ctx context.Context, actor auth.Actor) (Account, error) {
	if err := actor.RequireUser(); err != nil {
		return Account{}, err
	}

	user, err := s.getCaller(ctx, actor.UserID)
	if err != nil {
		return Account{}, err
	}

	status, err := s.Subscriptions.Status(ctx, actor.UserID)

	return Account{User: user, Role: actor.Role, SubscriptionStatus: status}, err
}

// OrganizationsOf returns organizations by id. It omits unknown ids.
func (s *Service) OrganizationsOf(ctx context.Context, ids []string) (map[string]Organization, error) {
	if len(ids) == 0 {
		return map[string]Organization{}, nil
	}

	organizations, err := s.Organizations.GetByIDs(ctx, ids)

	return list.ToMap(organizations, func(o Organization) (string, Organization) { return o.ID, o }), err
}

// Person is the part of a user that other modules need.
type Person struct{ ID, Name, Email string }

// People returns users by id. It omits unknown ids.
func (s *Service) People(ctx context.Context, ids []string) (map[string]Person, error) {
	if len(ids) == 0 {
		return map[string]Person{}, nil
	}

	users, err := s.Users.GetByIDs(ctx, ids)

	return list.ToMap(users, func(user User) (string, Person) {
		return user.ID, Person{ID: user.ID, Name: user.Name, Email: user.Email}
	}), err
}

// OrganizationName returns the name of an organization.
func (s *Service) OrganizationName(ctx context.Context, organizationID string) (string, error) {
	o, err := s.getOrganization(ctx, organizationID)
	return o.Name, err
}

// MemberMay reports whether the user is an active member of the organization with
// the permission. It returns false for a locked account.
func (s *Service) MemberMay(ctx context.Context, organizationID, userID string, p auth.Permission) (bool, error) {
	actor, err := s.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) {
		return false, nil
	}

	if err != nil {
		return false, err
	}

	return actor.OrganizationID == organizationID && actor.May(p), nil
}

// Admins returns the ids of at most n active admins of an organization, in the order
// in which they were added.
func (s *Service) Admins(ctx context.Context, organizationID string, n int) ([]string, error) {
	found, err := s.Members.List(ctx, organizationID, MemberFilter{Role: Admin, Status: MemberActive}, page.After("", n))
	return list.Map(found.Items, func(m Member) string { return m.UserID }), err
}

const (
	// keepExpired is the time for which expired sessions, tokens and changes of address are kept.
	// Operators may need them to answer questions of users.
	keepExpired = 7 * 24 * time.Hour
	// keepInvitations is the time for which expired invitations are kept. The team list shows them
	// until they are deleted.
	keepInvitations = 30 * 24 * time.Hour
)

// Forget deletes sessions, tokens, changes of address and invitations some time after they have
// expired.
func (s *Service) Forget(ctx context.Context) error {
	const batchSize = 1000

	now := s.Clock.Now()

	expiring := []retention.Kind{SessionKind, RefreshTokenKind, MailTokenKind, EmailChangeKind, EmailUndoKind}
	for _, kind := range expiring {
		if err := retention.DeleteAllBefore(ctx, s.Retention, kind, now.Add(-keepExpired), batchSize); err != nil {
			return err
		}
	}

	return retention.DeleteAllBefore(ctx, s.Retention, InvitationKind, now.Add(-keepInvitations), batchSize)
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "identity.forget", Every: time.Hour, Do: s.Forget, Timeout: 5 * time.Minute}}
}

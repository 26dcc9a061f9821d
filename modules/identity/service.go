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
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Needs is what the module is plugged into.
type Needs struct {
	Tx               tx.Runner
	Events           event.Recorder
	Audit            audit.Recorder
	AuditLog         audit.Log
	Clock            clock.Clock
	NewID            id.Source
	Users            Users
	Organizations    Organizations
	Sessions         Sessions
	Browsers         Browsers
	MailTokens       MailTokens
	EmailChanges     EmailChanges
	EmailUndos       EmailUndos
	EmployerSettings EmployerSettingsStore
	Tasks            task.Adder
	Hasher           PasswordHasher
	AccessTokens     AccessTokens
	Limiter          limit.Limiter
	Mailer           mail.Mailer
	Subscriptions    Subscriptions
	Programs         Programs
	Mailboxes        Mailboxes
	Sealer           auth.Sealer
	OptOuts          OptOuts
	SecondFactors    SecondFactors
	OneTimeCodes     OneTimeCodes
	Vault            auth.Vault
	// PublicURL begins every link in a mail, without a slash at its end.
	PublicURL string
}

// Service holds the module's use cases.
type Service struct {
	Needs
	gate gate
}

// New makes the service.
func New(n Needs) *Service { return &Service{Needs: n} }

// Account is a user as the user sees it.
type Account struct {
	User
	Role auth.Role
	// SubscriptionStatus is where the user's plan stands, active for the one that
	// everybody has.
	SubscriptionStatus string
}

// SignedIn is the answer to whatever opens a session.
type SignedIn struct {
	AccessToken  string
	RefreshToken string
	Account      Account
}

// RegisterInput makes an account.
type RegisterInput struct {
	Email    string `json:"email" validate:"required,max=254,email"`
	Password string `json:"password" validate:"required,min=8,max=1024,password"`
	Name     string `json:"name" validate:"required,notblank,max=200"`
	UserType string `json:"userType" validate:"required,oneof=jobseeker employer"`
}

// Register makes an account of either type and signs it in. An employer's
// organization bears the user's name until they complete it.
func (s *Service) Register(ctx context.Context, in RegisterInput, from Client) (SignedIn, error) {
	r, err := in.checked()
	if err != nil {
		return SignedIn{}, err
	}
	return s.registerAndOpen(ctx, r, from)
}

// registration is what an account is made of, checked.
type registration struct {
	email, password, name string
	kind                  Kind
	organization          Organization // of an employer
}

func (in RegisterInput) checked() (registration, error) {
	var c checks
	r := registration{email: c.email(in.Email), password: in.Password}
	c.password("password", in.Password, true)
	r.name = c.line("name", in.Name, true)
	r.kind = Kind(in.UserType)
	switch {
	case in.UserType == "":
		c.bad("userType", "is required")
	case r.kind != KindJobseeker && r.kind != KindEmployer:
		c.bad("userType", "must be one of: jobseeker, employer")
	}
	if r.kind == KindEmployer {
		r.organization.Name = r.name
	}
	return r, c.err()
}

// RegisterEmployerInput makes an account and its organization.
type RegisterEmployerInput struct {
	Email       string `json:"email" validate:"required,max=254,email"`
	Password    string `json:"password" validate:"required,min=8,max=1024"`
	Name        string `json:"name" validate:"required,notblank,max=200"`
	CompanyName string `json:"companyName" validate:"required,notblank,max=200"`
	Industry    string `json:"industry" validate:"max=200"`
	CompanySize string `json:"companySize" validate:"max=200"`
}

// RegisterEmployer makes an organization and the account of its first admin.
func (s *Service) RegisterEmployer(ctx context.Context, in RegisterEmployerInput, from Client) (SignedIn, error) {
	r, err := in.checked()
	if err != nil {
		return SignedIn{}, err
	}
	return s.registerAndOpen(ctx, r, from)
}

func (in RegisterEmployerInput) checked() (registration, error) {
	var c checks
	r := registration{email: c.email(in.Email), password: in.Password, kind: KindEmployer}
	c.password("password", in.Password, false)
	r.name = c.line("name", in.Name, true)
	r.organization = Organization{
		Name:     c.line("companyName", in.CompanyName, true),
		Industry: c.line("industry", in.Industry, false),
		Size:     c.line("companySize", in.CompanySize, false),
	}
	return r, c.err()
}

func (s *Service) registerAndOpen(ctx context.Context, r registration, from Client) (out SignedIn, err error) {
	err = s.register(ctx, r, from, func(ctx context.Context, userID string, now time.Time) (err error) {
		out, err = s.open(ctx, userID, from, now)
		return err
	})
	return out, err
}

// register makes the account and opens what it opens, in one transaction.
func (s *Service) register(ctx context.Context, r registration, from Client, open func(ctx context.Context, userID string, now time.Time) error) error {
	// Looking first spares the hash for an address that is taken; the unique
	// index decides among those who look at the same time.
	key := s.Mailboxes.Key(r.email)
	switch u, err := s.findByEmail(ctx, r.email); {
	case err == nil && u.Status == UserActive:
		return ErrEmailTaken
	case err == nil: // the row of an invited person, which becomes the account
		key = u.EmailKey()
	case !errors.Is(err, ErrUserNotFound):
		return err
	}
	leave, err := s.gate.enter(from.Address, "")
	if err != nil {
		return err
	}
	hash, err := s.Hasher.Hash(ctx, r.password)
	leave()
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		u := NewUser(s.NewID(), r.email, r.name, r.kind, hash, now)
		u.Key = key
		if err := s.Users.Add(ctx, &u); err != nil {
			return err
		}
		if err := s.notReserved(ctx, &u, now); err != nil {
			return err
		}
		if r.kind == KindEmployer {
			o := r.organization
			org, founder := Found(s.NewID(), s.NewID(), u.ID, o.Name, o.Industry, o.Size, now)
			if err := s.Organizations.Found(ctx, org, founder); err != nil {
				return err
			}
		}
		if err := s.Events.Record(ctx, event.UserRegistered{UserID: u.ID}); err != nil {
			return err
		}
		return open(ctx, u.ID, now)
	})
}

// findByEmail finds the account or invited person with the mailbox, or fails with
// ErrUserNotFound. Rows from before other spellings were recognized have the key
// that their owners type.
func (s *Service) findByEmail(ctx context.Context, email string) (User, error) {
	key, typed := s.Mailboxes.Key(email), EmailKey(email)
	u, err := s.Users.FindByEmail(ctx, key)
	if key != typed && errors.Is(err, ErrUserNotFound) {
		u, err = s.Users.FindByEmail(ctx, typed)
	}
	return u, err
}

// open starts a session in the transaction of ctx.
func (s *Service) open(ctx context.Context, userID string, from Client, now time.Time) (SignedIn, error) {
	session := NewSession(s.NewID(), userID, from, now)
	token, secret := session.NewRefreshToken(now)
	if err := s.Sessions.Open(ctx, session, token); err != nil {
		return SignedIn{}, err
	}
	p, err := s.Sessions.Principal(ctx, session.ID)
	if err != nil {
		return SignedIn{}, err
	}
	if err := s.auditUser(ctx, userID, audit.SignInSucceeded, session.ID); err != nil {
		return SignedIn{}, err
	}
	out, err := s.tokens(p, secret, now)
	if err != nil {
		return SignedIn{}, err
	}
	out.Account.SubscriptionStatus, err = s.Subscriptions.Status(ctx, userID)
	return out, err
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

// Authenticate finds the caller behind an access token: the token names a
// session, and the rows of this moment say whether it lives and what its user
// may do. fault.ErrUnauthorized for whatever is not so.
func (s *Service) Authenticate(ctx context.Context, accessToken string) (auth.Actor, error) {
	claims, err := s.AccessTokens.Verify(accessToken)
	if err != nil {
		return auth.Actor{}, err
	}
	if !id.Valid(claims.SessionID) {
		return auth.Actor{}, fault.ErrUnauthorized
	}
	p, err := s.Sessions.Principal(ctx, claims.SessionID)
	switch {
	case errors.Is(err, ErrSessionNotFound):
		return auth.Actor{}, fault.ErrUnauthorized.WithCause(err)
	case err != nil:
		return auth.Actor{}, err
	case !p.Session.Alive(s.Clock.Now()) || p.User.ID != claims.UserID:
		return auth.Actor{}, fault.ErrUnauthorized
	}
	return p.Actor(), nil
}

// ActorFor is what the account may do at this moment, for what acts in its name
// without a session. Unauthorized if there is no such account any more.
func (s *Service) ActorFor(ctx context.Context, userID string) (auth.Actor, error) {
	u, err := s.Users.Find(ctx, userID)
	switch {
	case errors.Is(err, ErrUserNotFound):
		return auth.Actor{}, fault.ErrUnauthorized.WithCause(err)
	case err != nil:
		return auth.Actor{}, err
	case u.Status != UserActive, !u.LockedAt.IsZero():
		return auth.Actor{}, fault.ErrUnauthorized
	}
	m, err := s.Organizations.MembershipOf(ctx, userID)
	return Principal{User: u, Membership: m}.Actor(), err
}

// HoldSession fails with fault.ErrUnauthorized if the actor's session or account
// has ended. Until the end of the transaction neither is ended by a new password.
func (s *Service) HoldSession(ctx context.Context, by auth.Actor) error {
	active, err := s.Sessions.Hold(ctx, by.UserID, by.SessionID)
	if err == nil && !active {
		return fault.ErrUnauthorized
	}
	return err
}

// Me is the caller's own account.
func (s *Service) Me(ctx context.Context, a auth.Actor) (Account, error) {
	u, err := s.Users.Find(ctx, a.UserID)
	if errors.Is(err, ErrUserNotFound) {
		return Account{}, fault.ErrUnauthorized // deleted since the request began
	}
	if err != nil {
		return Account{}, err
	}
	status, err := s.Subscriptions.Status(ctx, a.UserID)
	return Account{User: u, Role: a.Role, SubscriptionStatus: status}, err
}

// OrganizationsOf reads several organizations at once; unknown ids are left out.
func (s *Service) OrganizationsOf(ctx context.Context, ids []string) (map[string]Organization, error) {
	out := make(map[string]Organization, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	found, err := s.Organizations.Many(ctx, ids)
	for _, o := range found {
		out[o.ID] = o
	}
	return out, err
}

// Person is what other modules may show of a user.
type Person struct{ ID, Name, Email string }

// People reads several users at once; unknown ids are left out.
func (s *Service) People(ctx context.Context, ids []string) (map[string]Person, error) {
	if len(ids) == 0 {
		return map[string]Person{}, nil
	}
	users, err := s.Users.People(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Person, len(users))
	for _, u := range users {
		out[u.ID] = Person{ID: u.ID, Name: u.Name, Email: u.Email}
	}
	return out, nil
}

// OrganizationName is the name of an organization.
func (s *Service) OrganizationName(ctx context.Context, organizationID string) (string, error) {
	o, err := s.Organizations.Find(ctx, organizationID)
	return o.Name, err
}

// MemberMay reports whether the user is an active member of the organization who
// holds the permission.
func (s *Service) MemberMay(ctx context.Context, organizationID, userID string, p auth.Permission) (bool, error) {
	m, err := s.Organizations.MembershipOf(ctx, userID)
	if err != nil || m == nil || m.OrganizationID != organizationID || m.SecondFactorMissing {
		return false, err
	}
	return auth.Actor{OrganizationID: organizationID, Permissions: m.Grants()}.May(p), nil
}

// Admins are the ids of at most n active admins of an organization.
func (s *Service) Admins(ctx context.Context, organizationID string, n int) ([]string, error) {
	return s.Organizations.Admins(ctx, organizationID, n)
}

// How long what has expired is kept, for who asks what happened. Of invited
// people there is a name and an address, in the team list too.
const (
	expiredFor    = 7 * 24 * time.Hour
	unacceptedFor = 30 * 24 * time.Hour
)

// Forget removes sessions, tokens, changes of address and invitations that have
// expired.
func (s *Service) Forget(ctx context.Context) error {
	const atOnce = 1000
	now := s.Clock.Now()
	for _, old := range []struct {
		forget func(context.Context, time.Time, int) (int, error)
		after  time.Duration
	}{
		{s.Sessions.Forget, expiredFor}, {s.MailTokens.Forget, expiredFor}, {s.EmailChanges.Forget, expiredFor}, {s.EmailUndos.DeleteBefore, expiredFor},
		{s.Organizations.ForgetInvitations, unacceptedFor},
	} {
		for {
			n, err := old.forget(ctx, now.Add(-old.after), atOnce)
			if err != nil {
				return err
			}
			if n < atOnce {
				break
			}
		}
	}
	return nil
}

// Periodic is what the module does by the clock.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "identity.forget", Every: time.Hour, Do: s.Forget, Longest: 5 * time.Minute}}
}

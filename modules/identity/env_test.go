package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/adapters/mailboxes"
	"github.com/locumhq/locum/adapters/totp"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// testEnv is the module on a real database, with a clock, a hasher and a mailer that tests
// can inspect.
type testEnv struct {
	*identity.Service
	t      *testing.T
	clock  *kit.Clock
	store  adapters.Storage
	hasher *countingHasher
	mailer *stubMailer
	work   kit.Work
	// deleted contains the recorded events about deleted accounts.
	deleted *eventRecorder[event.AccountDeleted]
}

// officeClient is the client of most requests: one network, no known device.
var officeClient = identity.Client{Address: "198.51.100.7", UserAgent: "test"}

// password fulfills the rules for the passwords of jobseekers.
const password = "Passw0rd-1"

// plainSealer is a sealer whose tokens are readable.
type plainSealer struct{}

func (plainSealer) Seal(p auth.Purpose, subject string, _ time.Time) (string, error) {
	return string(p) + ":" + subject, nil
}

func (plainSealer) Unseal(p auth.Purpose, token string) (string, error) {
	subject, ok := strings.CutPrefix(token, string(p)+":")
	if !ok {
		return "", fault.ErrUnauthorized
	}
	return subject, nil
}

// activeSubscriptions reports an active subscription for every account.
type activeSubscriptions struct{}

func (activeSubscriptions) Status(context.Context, string) (string, error) { return "active", nil }

// noPrograms reports that no account has programs.
type noPrograms struct{}

func (noPrograms) List(context.Context, string) ([]identity.Program, error) { return nil, nil }

func (noPrograms) SignOut(context.Context, string, time.Time) ([]identity.Program, error) {
	return nil, nil
}

// newTestEnv returns the module with a storage that on opens. Access tokens, sealed tokens and
// the vault are stubs with readable values; the limiter and the one-time codes are real.
func newTestEnv(t *testing.T, on func(testing.TB, clock.Clock) adapters.Storage) *testEnv {
	t.Helper()
	clk := kit.NewClock()
	env := &testEnv{
		t:       t,
		clock:   clk,
		store:   on(t, clk),
		hasher:  &countingHasher{},
		mailer:  &stubMailer{},
		deleted: &eventRecorder[event.AccountDeleted]{},
	}
	env.Service = identity.New(identity.Deps{
		Tx:               env.store.Identity.Tx,
		Events:           env.store.Identity.Events,
		Audit:            env.store.Identity.Audit,
		AuditLog:         env.store.Identity.AuditLog,
		Clock:            clk,
		NewID:            stores.NewID,
		Users:            env.store.Identity.Users,
		Organizations:    env.store.Identity.Organizations,
		VerifiedNames:    env.store.Identity.VerifiedNames,
		Members:          env.store.Identity.Members,
		Sessions:         env.store.Identity.Sessions,
		MailTokens:       env.store.Identity.MailTokens,
		EmailChanges:     env.store.Identity.EmailChanges,
		PersonalData:     env.store.Identity.PersonalData,
		Retention:        env.store.Identity.Retention,
		EmployerSettings: env.store.Identity.EmployerSettings,
		OptOuts:          env.store.Identity.OptOuts,
		Tasks:            env.store.Identity.Tasks,
		Hasher:           env.hasher,
		AccessTokens:     plainTokens{clk},
		Limiter:          locallimit.New(clk),
		Mailer:           env.mailer,
		Subscriptions:    activeSubscriptions{},
		Programs:         noPrograms{},
		Mailboxes:        mailboxes.Keys{},
		Sealer:           plainSealer{},
		SecondFactors:    env.store.Identity.SecondFactors,
		OneTimeCodes:     totp.Codes{},
		Vault:            plainVault{},
		PublicURL:        "https://locum.example",
	})
	env.work = kit.NewWork(t, env.store, clk, []event.Subscription{
		event.On("a", env.OnUserRegistered), event.On("again", env.OnVerificationRequested), event.On("b", env.OnPasswordResetRequested), event.On("c", env.OnPasswordChanged),
		event.On("d", env.OnSessionReuseDetected), event.On("e", env.OnMemberInvited),
		event.On("f", env.OnEmailChangeRequested), event.On("second-factor", env.OnSecondFactorChanged), event.On("g", env.deleted.record),
	}, env.Handlers()...)
	return env
}

// newSQLiteEnv returns the module on SQLite, for a test of rules that do not depend on the
// database. The test runs in parallel with others.
func newSQLiteEnv(t *testing.T) *testEnv {
	t.Parallel()
	return newTestEnv(t, stores.SQLite)
}

// onEach runs the test on SQLite and on Postgres.
func onEach(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, on func(testing.TB, clock.Clock) adapters.Storage) { test(t, newTestEnv(t, on)) })
}

// jobseeker registers a jobseeker named Jo Seeker.
func (e *testEnv) jobseeker(email string) identity.SignedIn {
	e.t.Helper()
	out, err := e.Register(e.t.Context(),
		identity.RegisterInput{Email: email, Password: password, Name: "Jo Seeker", UserType: "jobseeker"},
		officeClient)
	require.NoError(e.t, err)
	return out
}

// employer registers Em Ployer, the founder and first admin of the organization St Mary's.
func (e *testEnv) employer(email string) identity.SignedIn {
	e.t.Helper()
	out, err := e.Register(e.t.Context(),
		identity.RegisterEmployerInput{Email: email, Password: password, Name: "Em Ployer", CompanyName: "St Mary's"},
		officeClient)
	require.NoError(e.t, err)
	return out
}

// actor returns the caller of a request with the access token.
func (e *testEnv) actor(s identity.SignedIn) auth.Actor {
	e.t.Helper()
	a, err := e.Authenticate(e.t.Context(), s.AccessToken)
	require.NoError(e.t, err)
	return a
}

// requireSignedOut requires that neither the access token nor the refresh token is valid.
func (e *testEnv) requireSignedOut(s identity.SignedIn) {
	e.t.Helper()
	_, err := e.Authenticate(e.t.Context(), s.AccessToken)
	require.ErrorIs(e.t, err, fault.ErrUnauthorized)
	_, err = e.Refresh(e.t.Context(), identity.RefreshInput{RefreshToken: s.RefreshToken})
	require.ErrorIs(e.t, err, identity.ErrBadRefreshToken)
}

// mailsTo relays the outbox and returns the messages to the address.
func (e *testEnv) mailsTo(to string) []mail.Message {
	e.t.Helper()
	_, err := e.work.Relay.Drain(e.t.Context())
	require.NoError(e.t, err)
	return e.mailer.sentTo(to)
}

// mailTokenPattern matches a mailed token, which is alone on a line of the text part.
var mailTokenPattern = regexp.MustCompile(`(?m)^loc_mt_[0-9A-Za-z]{43}$`)

// mailToken returns the token in the newest message to the address.
func (e *testEnv) mailToken(to string) string {
	e.t.Helper()
	all := e.mailsTo(to)
	require.NotEmpty(e.t, all, "no mail to %s", to)
	found := mailTokenPattern.FindString(all[len(all)-1].Text)
	require.NotEmpty(e.t, found, "no token in %s", all[len(all)-1].Text)
	return found
}

// addMember invites the address and accepts the invitation.
func (e *testEnv) addMember(admin auth.Actor, email, role string) identity.SignedIn {
	e.t.Helper()
	require.NoError(e.t, e.Invite(e.t.Context(), admin, identity.InviteInput{Name: "Me Mber", Email: email, Role: role}))
	out, err := e.AcceptInvitation(e.t.Context(), auth.Actor{},
		identity.AcceptInvitationInput{Token: e.mailToken(email), Password: password}, officeClient)
	require.NoError(e.t, err)
	return out
}

// concurrently calls fn n times concurrently and returns the errors.
func concurrently(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errs
}

// countErrors returns how many errors match the target. The target nil counts successes.
func countErrors(errs []error, target error) (n int) {
	for _, err := range errs {
		if target == nil && err == nil || target != nil && errors.Is(err, target) {
			n++
		}
	}
	return n
}

// countingHasher counts hashes and is fast: tests count hashes instead of measuring time.
type countingHasher struct{ hashed, verified atomic.Int64 }

func (c *countingHasher) Hash(_ context.Context, password string) (string, error) {
	c.hashed.Add(1)
	return c.sum(password), nil
}

func (c *countingHasher) Verify(_ context.Context, verifier, password string) (ok, stale bool, err error) {
	c.verified.Add(1)
	stale = strings.HasPrefix(verifier, "old:") // a test adds the prefix to simulate outdated parameters
	return verifier != "" && strings.TrimPrefix(verifier, "old:") == c.sum(password), stale, nil
}

func (*countingHasher) sum(s string) string {
	b := sha256.Sum256([]byte(s))
	return hex.EncodeToString(b[:])
}

// plainTokens issues unsigned access tokens. Signatures are tested in jwttokens.
type plainTokens struct{ clock clock.Clock }

func (plainTokens) Issue(c identity.AccessClaims) (string, error) {
	return strings.Join([]string{c.UserID, c.SessionID, string(c.Role), c.OrganizationID, c.ExpiresAt.Format(time.RFC3339Nano)}, "|"), nil
}

func (p plainTokens) Verify(token string) (identity.AccessClaims, error) {
	part := strings.Split(token, "|")
	if len(part) != 5 {
		return identity.AccessClaims{}, fault.ErrUnauthorized
	}
	expires, err := time.Parse(time.RFC3339Nano, part[4])
	if err != nil || !p.clock.Now().Before(expires) {
		return identity.AccessClaims{}, fault.ErrUnauthorized
	}
	return identity.AccessClaims{
		UserID:         part[0],
		SessionID:      part[1],
		Role:           auth.Role(part[2]),
		OrganizationID: part[3],
		ExpiresAt:      expires,
	}, nil
}

// eventRecorder records the events that it handles.
type eventRecorder[E any] struct {
	mu     sync.Mutex
	events []E
}

func (t *eventRecorder[E]) record(_ context.Context, e E) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	return nil
}

// stubMailer stores the messages instead of sending them.
type stubMailer struct {
	mu             sync.Mutex
	sent           []mail.Message
	refusedAddress string // an address for which Send fails
}

func (b *stubMailer) Send(_ context.Context, message mail.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if message.To.Email == b.refusedAddress {
		return mail.ErrRefused
	}
	b.sent = append(b.sent, message)
	return nil
}

func (b *stubMailer) sentTo(email string) (out []mail.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.sent {
		if m.To.Email == email {
			out = append(out, m)
		}
	}
	return out
}

// plainVault stores secrets as they are.
type plainVault struct{}

func (plainVault) Encrypt(secret, _ string) (string, error) { return secret, nil }

func (plainVault) Decrypt(ciphertext, _ string) (string, error) { return ciphertext, nil }

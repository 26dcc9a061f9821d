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
// can inspect. The use cases of the module are methods of the embedded Service.
//
// A use case sends no mail itself: it records an event, and the handler of the event sends the mail.
// mailsTo, newestMail and mailToken first handle the recorded events. Other tests call handleEvents.
type testEnv struct {
	*identity.Service // the use cases

	t       *testing.T
	clock   *kit.Clock
	store   adapters.Storage
	hasher  *countingHasher
	mailer  *stubMailer
	work    kit.Work                             // handles the events and tasks of the module
	deleted *eventRecorder[event.AccountDeleted] // the events about deleted accounts
}

// officeClient is the client of most requests: one network, no known device.
var officeClient = identity.Client{Address: "198.51.100.7", UserAgent: "test"}

// guest is the caller of a request without a session.
var guest auth.Actor

// unknownID is an id in the right format that no row has.
const unknownID = "0190a3a0-0000-7000-8000-000000000000"

// The passwords of accounts. They fulfill the rules for the passwords of jobseekers.
const (
	password      = "Passw0rd-1"      // of a new account
	newPassword   = "Better-passw0rd" // after a change
	wrongPassword = "Wr0ng-passw0rd"  // of no account
)

// allowedFailures is how many consecutive wrong passwords or codes the module accepts from one network
// before it refuses further attempts.
const allowedFailures = 10

// failureWindow is the time after which the module accepts attempts again.
const failureWindow = 15 * time.Minute

// plainSealer implements auth.Sealer. The token is PURPOSE:SUBJECT and never expires.
type plainSealer struct{}

func (plainSealer) Seal(p auth.Purpose, subject string, _ time.Time) (string, error) {
	return string(p) + ":" + subject, nil
}

func (plainSealer) Unseal(p auth.Purpose, token string) (string, error) {
	subject, found := strings.CutPrefix(token, string(p)+":")
	if !found {
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

// openStorage opens a database for a test.
type openStorage = func(testing.TB, clock.Clock) adapters.Storage

// newTestEnv returns the module on the storage. Access tokens, sealed tokens and the vault are
// stubs with readable values; the limiter and the one-time codes are real.
func newTestEnv(t *testing.T, open openStorage) *testEnv {
	t.Helper()

	clk := kit.NewClock()
	env := &testEnv{
		t:       t,
		clock:   clk,
		store:   open(t, clk),
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
	subscriptions := []event.Subscription{
		event.On("registered", env.OnUserRegistered),
		event.On("verification", env.OnVerificationRequested),
		event.On("password-reset", env.OnPasswordResetRequested),
		event.On("password-changed", env.OnPasswordChanged),
		event.On("session-reuse", env.OnSessionReuseDetected),
		event.On("member-invited", env.OnMemberInvited),
		event.On("email-change", env.OnEmailChangeRequested),
		event.On("second-factor", env.OnSecondFactorChanged),
		event.On("account-deleted", env.deleted.record),
	}
	env.work = kit.NewWork(t, env.store, clk, subscriptions, env.Handlers()...)

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
	stores.Each(t, func(t *testing.T, open openStorage) { test(t, newTestEnv(t, open)) })
}

// jobseeker registers a jobseeker named Jo Seeker.
func (e *testEnv) jobseeker(email string) identity.SignedIn {
	e.t.Helper()

	signedIn, err := e.Register(e.t.Context(),
		identity.RegisterInput{Email: email, Password: password, Name: "Jo Seeker", UserType: "jobseeker"},
		officeClient)
	require.NoError(e.t, err)

	return signedIn
}

// employer registers Em Ployer, the founder and first admin of the organization St Mary's.
func (e *testEnv) employer(email string) identity.SignedIn {
	e.t.Helper()

	signedIn, err := e.Register(e.t.Context(),
		identity.RegisterEmployerInput{Email: email, Password: password, Name: "Em Ployer", CompanyName: "St Mary's"},
		officeClient)
	require.NoError(e.t, err)

	return signedIn
}

// employerWithoutCompany registers Ann Practitioner without a company name. Her organization has her
// name.
func (e *testEnv) employerWithoutCompany(email string) identity.SignedIn {
	e.t.Helper()

	signedIn, err := e.Register(e.t.Context(),
		identity.RegisterInput{Email: email, Password: password, Name: "Ann Practitioner", UserType: "employer"},
		officeClient)
	require.NoError(e.t, err)

	return signedIn
}

// actor returns the caller of a request with the access token of the session. It requires that the
// session is valid.
func (e *testEnv) actor(s identity.SignedIn) auth.Actor {
	e.t.Helper()

	actor, err := e.Authenticate(e.t.Context(), s.AccessToken)
	require.NoError(e.t, err)

	return actor
}

// verifyEmail confirms an address with the token that was mailed to it.
func (e *testEnv) verifyEmail(token string) error {
	return e.VerifyEmail(e.t.Context(), identity.VerifyEmailInput{Token: token})
}

// requireSignedOut requires that neither the access token nor the refresh token is valid.
func (e *testEnv) requireSignedOut(s identity.SignedIn) {
	e.t.Helper()

	_, err := e.Authenticate(e.t.Context(), s.AccessToken)
	require.ErrorIs(e.t, err, fault.ErrUnauthorized)

	_, err = e.Refresh(e.t.Context(), identity.RefreshInput{RefreshToken: s.RefreshToken})
	require.ErrorIs(e.t, err, identity.ErrBadRefreshToken)
}

// mailsTo handles the recorded events, which sends their messages, and returns all messages to
// the address.
func (e *testEnv) mailsTo(email string) []mail.Message {
	e.t.Helper()
	e.handleEvents()
	return e.mailer.sentTo(email)
}

// handleEvents calls the handlers of all recorded events, which send the mails about them. It
// returns when the handlers have returned.
func (e *testEnv) handleEvents() {
	e.t.Helper()

	_, err := e.work.Relay.Drain(e.t.Context())
	require.NoError(e.t, err)
}

// newestMail handles the recorded events and returns the newest message to the address. It requires
// that there is one.
func (e *testEnv) newestMail(email string) mail.Message {
	e.t.Helper()

	messages := e.mailsTo(email)
	require.NotEmpty(e.t, messages, "no mail to %s", email)

	return messages[len(messages)-1]
}

// mailTokenPattern matches a mailed token, which is alone on a line of the text part.
var mailTokenPattern = regexp.MustCompile(`(?m)^loc_mt_[0-9A-Za-z]{43}$`)

// mailToken handles the recorded events and returns the token in the newest message to the address.
// It requires that there is one.
func (e *testEnv) mailToken(email string) string {
	e.t.Helper()

	newest := e.newestMail(email)
	token := mailTokenPattern.FindString(newest.Text)
	require.NotEmpty(e.t, token, "no token in %s", newest.Text)

	return token
}

// addMember invites the address to the admin's organization and accepts the invitation with a new
// account.
func (e *testEnv) addMember(admin auth.Actor, email, role string) identity.SignedIn {
	e.t.Helper()
	require.NoError(e.t, e.Invite(e.t.Context(), admin, identity.InviteInput{Name: "Me Mber", Email: email, Role: role}))

	signedIn, err := e.accept(guest, e.mailToken(email))
	require.NoError(e.t, err)

	return signedIn
}

// atOnce calls different functions concurrently and waits for all of them.
func atOnce(functions ...func()) {
	var calls sync.WaitGroup
	for _, function := range functions {
		calls.Go(function)
	}

	calls.Wait()
}

// concurrently calls fn n times concurrently, with the number of the call (from 0), and returns the
// errors of the calls.
func concurrently(n int, fn func(i int) error) []error {
	errs := make([]error, n)

	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { errs[i] = fn(i) })
	}

	calls.Wait()

	return errs
}

// countErrors returns how many errors match the target. The target nil counts successes.
func countErrors(errs []error, target error) (n int) {
	for _, err := range errs {
		if errors.Is(err, target) { // true if both are nil
			n++
		}
	}

	return n
}

// outdatedPrefix marks a verifier of countingHasher that a sign-in has to replace.
const outdatedPrefix = "old:"

// countingHasher implements identity.PasswordHasher with a fast hash and counts its calls:
// tests count hashes instead of measuring time.
type countingHasher struct{ hashed, verified atomic.Int64 }

func (c *countingHasher) Hash(_ context.Context, password string) (string, error) {
	c.hashed.Add(1)
	return c.sum(password), nil
}

func (c *countingHasher) Verify(_ context.Context, verifier, password string) (ok, stale bool, err error) {
	c.verified.Add(1)

	// TestLogin_OldVerifier_IsRehashed adds outdatedPrefix to simulate outdated parameters.
	sum, stale := strings.CutPrefix(verifier, outdatedPrefix)
	hasPassword := verifier != "" // an invited user has none

	return hasPassword && sum == c.sum(password), stale, nil
}

func (*countingHasher) sum(s string) string {
	b := sha256.Sum256([]byte(s))
	return hex.EncodeToString(b[:])
}

// plainTokens issues unsigned access tokens: the claims, separated by |. Signatures are tested
// in adapters/jwttokens.
type plainTokens struct{ clock clock.Clock }

func (plainTokens) Issue(c identity.AccessClaims) (string, error) {
	expires := c.ExpiresAt.Format(time.RFC3339Nano)
	return strings.Join([]string{c.UserID, c.SessionID, string(c.Role), c.OrganizationID, expires}, "|"), nil
}

func (p plainTokens) Verify(token string) (identity.AccessClaims, error) {
	const claimsOfToken = 5 // those that Issue joins

	claims := strings.Split(token, "|")
	if len(claims) != claimsOfToken {
		return identity.AccessClaims{}, fault.ErrUnauthorized
	}

	expires, err := time.Parse(time.RFC3339Nano, claims[4])
	if err != nil || !p.clock.Now().Before(expires) {
		return identity.AccessClaims{}, fault.ErrUnauthorized
	}

	return identity.AccessClaims{
		UserID:         claims[0],
		SessionID:      claims[1],
		Role:           auth.Role(claims[2]),
		OrganizationID: claims[3],
		ExpiresAt:      expires,
	}, nil
}

// eventRecorder records the events that it handles.
type eventRecorder[E any] struct {
	mu     sync.Mutex
	events []E
}

func (r *eventRecorder[E]) record(_ context.Context, e E) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.events = append(r.events, e)

	return nil
}

// stubMailer stores the messages instead of sending them.
type stubMailer struct {
	mu             sync.Mutex
	sent           []mail.Message
	refusedAddress string // an address for which Send fails
}

// Send implements mail.Mailer.
func (m *stubMailer) Send(_ context.Context, message mail.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if message.To.Email == m.refusedAddress {
		return mail.ErrRefused
	}

	m.sent = append(m.sent, message)

	return nil
}

// sentTo returns the messages to the address, oldest first.
func (m *stubMailer) sentTo(email string) (messages []mail.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()

	for _, message := range m.sent {
		if message.To.Email == email {
			messages = append(messages, message)
		}
	}

	return messages
}

// plainVault stores secrets as they are.
type plainVault struct{}

func (plainVault) Encrypt(secret, _ string) (string, error) { return secret, nil }

func (plainVault) Decrypt(ciphertext, _ string) (string, error) { return ciphertext, nil }

// ptr returns a pointer to v, for the optional fields of inputs.
func ptr[T any](v T) *T { return &v }

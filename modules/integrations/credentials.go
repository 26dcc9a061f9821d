package integrations

import (
	"context"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// The prefixes of the module's secrets.
const (
	keyPrefix    = "loc_live_"
	secretPrefix = "loc_cs_"
)

// The lengths of the parts of secrets, in characters of base 62.
const (
	keyRandom       = 32 // 190 bits
	keyCheck        = 6  // a CRC-32
	keyPrefixLength = 13 // the part of a key that is displayed
	secretLength    = 43 // 256 bits
)

// newKey returns a random API key. The key ends with a checksum. By the checksum, the service and
// secret scanners recognize a mistyped or made-up key without a look-up.
func newKey() string {
	body := auth.NewSecret(keyPrefix, keyRandom)
	return body + checksum(body)
}

// checksum returns the CRC-32 (IEEE) as six characters of base 62.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))

	// Write the digits from the last to the first.
	digits := make([]byte, keyCheck)
	base := uint32(len(auth.Base62))

	for i := keyCheck - 1; i >= 0; i-- {
		digits[i] = auth.Base62[sum%base]
		sum /= base
	}

	return string(digits)
}

// isWellFormedKey reports whether the text has the form of an API key, with a correct
// checksum.
func isWellFormedKey(key string) bool {
	if len(key) != len(keyPrefix)+keyRandom+keyCheck || !strings.HasPrefix(key, keyPrefix) {
		return false
	}

	body := key[:len(key)-keyCheck]

	return checksum(body) == key[len(body):]
}

// LooksLikeKey reports whether the text begins as an API key does.
func LooksLikeKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }

// KeyInput names a key.
type KeyInput struct {
	Name string `json:"name" validate:"required,notblank,max=100,line" sample:"Production"`
}

// CreateKey creates an API key of one of the caller's applications. It returns the key, of
// which only a hash is stored. The caller must be confirmed.
func (s *Service) CreateKey(ctx context.Context, by auth.Actor, appID string, in KeyInput) (key Key, secret string, err error) {
	if err := valid.Check("", in); err != nil {
		return key, "", err
	}

	secret = newKey()
	key = Key{
		ID:        s.NewID(),
		Name:      text.Name(in.Name),
		Prefix:    secret[:keyPrefixLength],
		Hash:      auth.HashSecret(secret),
		CreatedAt: s.Clock.Now(),
	}
	err = s.createCredential(ctx, by, audit.APIKeyCreated, key.ID, func(ctx context.Context) error {
		keys, err := s.MyKeys(ctx, by, appID)
		if err != nil {
			return err
		}

		if len(keys) >= maxKeys {
			return ErrTooManyKeys
		}

		key.AppID, _ = id.Canonical(appID)

		return s.Keys.Create(ctx, by.UserID, key)
	})

	return key, secret, err
}

// MyKeys returns the keys of one of the caller's applications, the newest first.
func (s *Service) MyKeys(ctx context.Context, by auth.Actor, appID string) ([]Key, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return nil, err
	}

	return s.Keys.List(ctx, by.UserID, a.ID)
}

// DeleteKey deletes a key of one of the caller's applications.
func (s *Service) DeleteKey(ctx context.Context, by auth.Actor, appID, keyID string) error {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return err
	}

	keyID, ok := id.Canonical(keyID)
	if !ok {
		return ErrKeyNotFound
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		n, err := s.Keys.Delete(ctx, by.UserID, KeyFilter{AppID: a.ID, ID: keyID})
		if err == nil && n == 0 {
			err = ErrKeyNotFound
		}

		if err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(by, audit.APIKeyDeleted, keyID))
	})
}

// Caller is the caller of the developer API, identified by an API key or an access token.
type Caller struct {
	App App
	// UserID is the owner of the application if the caller uses an API key, and the user who
	// has consented if the caller uses a token.
	UserID string
	KeyID  string  // empty for a token
	Scopes []Scope // of a token, empty for an API key
}

// keyScopes are the scopes of API keys, which only read.
var keyScopes = []Scope{JobsRead, ApplicationsRead}

// May reports whether the caller has the scope.
func (c Caller) May(scope Scope) bool { return slices.Contains(c.scopes(), scope) }

// scopes returns the scopes of the key or token.
func (c Caller) scopes() []Scope {
	if c.KeyID != "" {
		return keyScopes
	}

	return c.Scopes
}

// Actor returns the user as an actor for whom the app acts. The actor has no role and no
// permissions: a use case that needs them gets the actor from Identity.ActorFor, limited by
// Limit.
func (c Caller) Actor() auth.Actor { return c.Limit(auth.Actor{UserID: c.UserID}) }

// Limit returns the actor restricted to what the app may do for the actor.
func (c Caller) Limit(a auth.Actor) auth.Actor {
	a.AppID, a.Scopes = c.App.ID, c.scopes()
	return a
}

// AuthenticateKey returns the caller with the API key, or fault.ErrUnauthorized.
func (s *Service) AuthenticateKey(ctx context.Context, key string) (Caller, error) {
	if !isWellFormedKey(key) {
		return Caller{}, fault.ErrUnauthorized
	}

	stored, app, err := s.Keys.GetByHash(ctx, auth.HashSecret(key))
	if err == nil {
		err = s.requireActive(ctx, app.OwnerID)
	}

	if err != nil {
		return Caller{}, fault.IfNotFound(err, fault.ErrUnauthorized)
	}

	return Caller{App: app, UserID: app.OwnerID, KeyID: stored.ID}, nil
}

// tokenPrefixes are the prefixes of tokens, by which secret scanners recognize them.
var tokenPrefixes = map[TokenKind]string{Code: "loc_ac_", Access: "loc_at_", Refresh: "loc_rt_"}

// tokenLength is the length of a token without its prefix: 256 bits.
const tokenLength = 43

// NewToken returns a random token of 256 bits, with a prefix for its kind.
func NewToken(kind TokenKind) string { return auth.NewSecret(tokenPrefixes[kind], tokenLength) }

// HashToken returns the hash of a token, or "" if the text is not a token of the kind.
func HashToken(kind TokenKind, token string) string {
	if len(token) != len(tokenPrefixes[kind])+tokenLength || !strings.HasPrefix(token, tokenPrefixes[kind]) {
		return ""
	}

	return auth.HashSecret(token)
}

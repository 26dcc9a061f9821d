// Package jwttokens signs and verifies the portal's access tokens: JWTs in the profile of
// RFC 9068, signed with Ed25519 (RFC 8037). With the same keys it signs the tokens in links, and
// encrypts secrets.
package jwttokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/identity"
)

const (
	audience  = "locum-portal"
	tokenType = "at+jwt"
	leeway    = 30 * time.Second // tolerated difference between the clocks of two machines
	// maxToken is the maximum size of a token. The service's own tokens are much smaller.
	maxToken = 4096
)

// maxVerified is the number of verified tokens that are cached, at about 200 bytes each.
// Verifying a signature takes longer than the rest of a small request.
const maxVerified = 20_000

// tokenHash is the key of a token in the cache. The cache contains no tokens, so that a memory dump does
// not disclose them.
type tokenHash [sha256.Size]byte

// Tokens implements identity.AccessTokens, auth.Sealer and auth.Vault. Its keys are the ring.
type Tokens struct {
	ring   []key          // the first key signs and encrypts; the others only verify and decrypt
	byID   map[string]key // the keys of the ring
	issuer string
	now    func() time.Time
	parser *jwt.Parser // of access tokens
	// verified has the claims of tokens whose signature was verified.
	verified *otter.Cache[tokenHash, identity.AccessClaims]
}

// Open reads the keys from PEM files (PKCS #8, Ed25519) and from directories of such
// files (*.pem). The first key signs; in a directory, the file with the last name is the first.
// All keys verify. To rotate keys, add a new one in front. The old one can be removed
// when its last token has expired and no webhook secret is encrypted with it.
//
// issuer is the public URL of the service.
func Open(paths []string, issuer string, c clock.Clock) (*Tokens, error) {
	ring, err := load(paths)
	if err != nil {
		return nil, err
	}

	t := &Tokens{
		ring:     ring,
		byID:     map[string]key{},
		issuer:   issuer,
		now:      c.Now,
		verified: otter.Must(&otter.Options[tokenHash, identity.AccessClaims]{MaximumSize: maxVerified}),
	}

	t.parser = t.newParser(audience, jwt.WithIssuedAt(), jwt.WithLeeway(leeway))
	for _, k := range ring {
		t.byID[k.id] = k
	}

	return t, nil
}

// claims are the claims of an access token.
type claims struct {
	jwt.RegisteredClaims
	Session      string    `json:"sid"` // its id
	Role         auth.Role `json:"role,omitempty"`
	Organization string    `json:"org,omitempty"` // its id
}

// Issue implements identity.AccessTokens. It returns a signed token with the claims.
func (t *Tokens) Issue(c identity.AccessClaims) (string, error) {
	return t.sign(tokenType, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    t.issuer,
			Subject:   c.UserID,
			Audience:  jwt.ClaimStrings{audience},
			ID:        rand.Text(),
			IssuedAt:  jwt.NewNumericDate(c.IssuedAt),
			NotBefore: jwt.NewNumericDate(c.IssuedAt),
			ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
		Session:      c.SessionID,
		Role:         c.Role,
		Organization: c.OrganizationID,
	})
}

// sign returns a token of the type, signed with the first key.
func (t *Tokens) sign(kind string, c jwt.Claims) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	token.Header["typ"], token.Header["kid"] = kind, t.ring[0].id
	return token.SignedString(t.ring[0].private)
}

// newParser returns a parser for tokens with the audience. It refuses tokens with another issuer or
// algorithm, and those that have expired or never expire.
func (t *Tokens) newParser(audience string, options ...jwt.ParserOption) *jwt.Parser {
	return jwt.NewParser(append(
		options,
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(t.issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(t.now),
		jwt.WithStrictDecoding(),
	)...)
}

// parse verifies a token of the type with the parser, and stores its claims in c.
func (t *Tokens) parse(parser *jwt.Parser, kind, token string, c jwt.Claims) error {
	// Go's base64 decoder skips line breaks. If they were permitted, a token could be written in
	// several ways.
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") {
		return errors.New("not a token of ours")
	}

	_, err := parser.ParseWithClaims(token, c, t.keyOf(kind))

	return err
}

// Verify implements identity.AccessTokens. It uses the cached claims of a token that was verified before,
// as long as they have not expired.
func (t *Tokens) Verify(token string) (identity.AccessClaims, error) {
	hash := tokenHash(sha256.Sum256([]byte(token)))
	if c, ok := t.verified.GetIfPresent(hash); ok && t.isCurrent(c) {
		return c, nil
	}

	c, err := t.verify(token)
	if err != nil {
		return identity.AccessClaims{}, fault.ErrUnauthorized.WithCause(err)
	}

	t.verified.Set(hash, c)

	return c, nil
}

// isCurrent reports whether the time is in the validity of the claims, as the parser
// checks it.
func (t *Tokens) isCurrent(c identity.AccessClaims) bool {
	now := t.now()
	return now.Before(c.ExpiresAt.Add(leeway)) && !now.Before(c.IssuedAt.Add(-leeway))
}

// verify returns the claims of a valid access token. Its error says why a token is refused.
func (t *Tokens) verify(token string) (identity.AccessClaims, error) {
	var c claims
	if err := t.parse(t.parser, tokenType, token, &c); err != nil {
		return identity.AccessClaims{}, err
	}

	if c.Subject == "" || c.Session == "" || c.IssuedAt == nil {
		return identity.AccessClaims{}, errors.New("claims are missing")
	}

	return identity.AccessClaims{
		UserID:         c.Subject,
		SessionID:      c.Session,
		Role:           c.Role,
		OrganizationID: c.Organization,
		IssuedAt:       c.IssuedAt.UTC(),
		ExpiresAt:      c.ExpiresAt.UTC(),
	}, nil
}

// keyOf returns a function that returns the key with which a token of the type is verified. It only
// returns keys of the ring: the headers jku, jwk and x5u, by which a token could name its own key, are ignored.
func (t *Tokens) keyOf(kind string) jwt.Keyfunc {
	return func(unverified *jwt.Token) (any, error) {
		header := unverified.Header
		if header["typ"] != kind {
			return nil, errors.New("another type of token")
		}

		// RFC 7515 §4.1.11: an extension that is not understood must be refused.
		if _, hasExtension := header["crit"]; hasExtension {
			return nil, errors.New("critical extension")
		}

		id, _ := header["kid"].(string)

		key, isKnown := t.byID[id]
		if !isKnown {
			return nil, errors.New("unknown key")
		}

		return key.public, nil
	}
}

// JWKS returns the public keys of the ring as a JWK Set (RFC 7517), for
// /.well-known/jwks.json.
func (t *Tokens) JWKS() []byte {
	keys := list.Map(t.ring, func(k key) map[string]string {
		return map[string]string{
			"kty": "OKP",
			"crv": "Ed25519",
			"x":   base64.RawURLEncoding.EncodeToString(k.public),
			"kid": k.id,
			"use": "sig",
			"alg": "EdDSA",
		}
	})

	set, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err) // strings always marshal
	}

	return set
}

// sealType is the type of the tokens in links. It distinguishes them from access tokens, in addition to
// their audiences (RFC 8725 §3.11).
const sealType = "link+jwt"

// sealAudience returns the audience of the tokens in links for a purpose.
func sealAudience(p auth.Purpose) string { return "locum:" + string(p) }

// Seal implements auth.Sealer.
func (t *Tokens) Seal(p auth.Purpose, subject string, until time.Time) (string, error) {
	return t.sign(sealType, jwt.RegisteredClaims{
		Issuer:    t.issuer,
		Subject:   subject,
		Audience:  jwt.ClaimStrings{sealAudience(p)},
		ExpiresAt: jwt.NewNumericDate(until),
	})
}

// Unseal implements auth.Sealer.
func (t *Tokens) Unseal(p auth.Purpose, token string) (string, error) {
	var c jwt.RegisteredClaims
	if err := t.parse(t.newParser(sealAudience(p)), sealType, token, &c); err != nil {
		return "", fault.ErrUnauthorized.WithCause(err)
	}

	if c.Subject == "" {
		return "", fault.ErrUnauthorized.WithCause(errors.New("claims are missing"))
	}

	return c.Subject, nil
}

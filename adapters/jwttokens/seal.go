package jwttokens

import (
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// sealType distinguishes the tokens of links from access tokens, in addition to their
// audiences (RFC 8725 §3.11).
const sealType = "link+jwt"

func sealAudience(p auth.Purpose) string { return "locum:" + string(p) }

// Seal implements auth.Sealer.
func (t *Tokens) Seal(p auth.Purpose, subject string, until time.Time) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.RegisteredClaims{
		Issuer: t.issuer, Subject: subject, Audience: jwt.ClaimStrings{sealAudience(p)}, ExpiresAt: jwt.NewNumericDate(until),
	})
	token.Header["typ"] = sealType
	token.Header["kid"] = t.ring[0].id
	return token.SignedString(t.ring[0].private)
}

// Unseal implements auth.Sealer.
func (t *Tokens) Unseal(p auth.Purpose, token string) (string, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") {
		return "", fault.ErrUnauthorized.WithCause(errors.New("not a token of ours"))
	}
	var c jwt.RegisteredClaims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(t.issuer), jwt.WithAudience(sealAudience(p)), jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(t.now), jwt.WithStrictDecoding())
	if _, err := parser.ParseWithClaims(token, &c, t.keyOf(sealType)); err != nil {
		return "", fault.ErrUnauthorized.WithCause(err)
	}
	if c.Subject == "" {
		return "", fault.ErrUnauthorized.WithCause(errors.New("claims are missing"))
	}
	return c.Subject, nil
}

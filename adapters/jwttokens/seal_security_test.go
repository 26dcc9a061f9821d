package jwttokens

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/test/kit"
)

var _ auth.Sealer = (*Tokens)(nil)

// The tests of this file seal links. The token of a link permits one operation, its purpose, on one subject, such as the
// download of an export, to everyone who has the link. It is valid for an hour here.
const (
	linkSubject = "export-1"
	linkLife    = time.Hour
)

// TestSeal_Link_ValidForPurposeUntilExpiry checks that a token of a link cannot be used for
// another purpose than its own, nor after its expiry.
func TestSeal_Link_ValidForPurposeUntilExpiry(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	tokens := openTokens(t, clk)
	token, err := tokens.Seal(auth.ForDownload, linkSubject, clk.Now().Add(linkLife))
	require.NoError(t, err)
	require.NotRegexp(t, `[^A-Za-z0-9._-]`, token, "a token needs no escaping in a URL")

	subject, err := tokens.Unseal(auth.ForDownload, token)
	require.NoError(t, err)
	require.Equal(t, linkSubject, subject)

	_, err = tokens.Unseal(auth.ForUnsubscribe, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "another purpose")

	clk.Advance(linkLife)

	_, err = tokens.Unseal(auth.ForDownload, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "an expired token")
}

// TestSeal_ForgedLink_Refused checks that a link cannot be forged, and that access tokens and
// tokens of links are not accepted in place of each other, although the same key signs them.
func TestSeal_ForgedLink_Refused(t *testing.T) {
	t.Parallel()

	// tokens and foreignTokens are two services with different keys.
	clk := kit.NewClock()
	expiry := clk.Now().Add(linkLife)
	tokens, foreignTokens := openTokens(t, clk), openTokens(t, clk)

	// An access token, and tokens of links: a valid one, one of another service, one without a subject, and one that is
	// not signed.
	access, err := tokens.Issue(claimsAt(clk))
	require.NoError(t, err)

	link, err := tokens.Seal(auth.ForDownload, linkSubject, expiry)
	require.NoError(t, err)

	_, err = tokens.Verify(link)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "the token of a link is not an access token")

	foreign, err := foreignTokens.Seal(auth.ForDownload, linkSubject, expiry)
	require.NoError(t, err)

	withoutSubject, err := tokens.Seal(auth.ForDownload, "", expiry)
	require.NoError(t, err)

	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.RegisteredClaims{Subject: linkSubject}).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)

	// sign returns a valid token with some changed headers and claims, signed with the method and key.
	sign := func(method jwt.SigningMethod, key any, headers map[string]any, change func(*jwt.RegisteredClaims)) string {
		claims := jwt.RegisteredClaims{
			Issuer:    tokens.issuer,
			Subject:   linkSubject,
			Audience:  jwt.ClaimStrings{sealAudience(auth.ForDownload)},
			ExpiresAt: jwt.NewNumericDate(expiry),
		}
		change(&claims)

		token := jwt.NewWithClaims(method, claims)
		token.Header["typ"], token.Header["kid"] = sealType, signingKey(tokens).id
		maps.Copy(token.Header, headers)

		signed, err := token.SignedString(key)
		require.NoError(t, err)

		return signed
	}

	// withKey, withHeader and withClaim return a token that is valid but for the key, one header or one claim.
	var validHeaders map[string]any

	validClaims := func(*jwt.RegisteredClaims) {}
	private, public := signingKey(tokens).private, signingKey(tokens).public
	withKey := func(method jwt.SigningMethod, key any) string { return sign(method, key, validHeaders, validClaims) }
	withHeader := func(name string, value any) string {
		return sign(jwt.SigningMethodEdDSA, private, map[string]any{name: value}, validClaims)
	}
	withClaim := func(change func(*jwt.RegisteredClaims)) string {
		return sign(jwt.SigningMethodEdDSA, private, validHeaders, change)
	}

	subject, err := tokens.Unseal(auth.ForDownload, withKey(jwt.SigningMethodEdDSA, private))
	require.NoError(t, err, "the unchanged token is valid")
	require.Equal(t, linkSubject, subject)

	// A token consists of a header, claims and a signature.
	parts := strings.Split(link, ".")
	header, claims, signature := parts[0], parts[1], parts[2]
	headerOfAccess, _, _ := strings.Cut(access, ".")

	for name, token := range map[string]string{
		"an access token":             access,
		"signed by another service":   foreign,
		"without a subject":           withoutSubject,
		"the algorithm none":          unsigned,
		"without a signature":         header + "." + claims + ".",
		"an HMAC with the public key": withKey(jwt.SigningMethodHS256, []byte(public)),
		"an HMAC with the key set":    withKey(jwt.SigningMethodHS256, tokens.JWKS()),
		"the type of access tokens":   withHeader("typ", tokenType),
		"without a type":              withHeader("typ", nil),
		"an unknown key":              withHeader("kid", "x"),
		"a critical extension":        withHeader("crit", []string{"exp"}),
		"without an expiry":           withClaim(func(c *jwt.RegisteredClaims) { c.ExpiresAt = nil }),
		"another issuer":              withClaim(func(c *jwt.RegisteredClaims) { c.Issuer = "https://evil.example" }),
		"without an audience":         withClaim(func(c *jwt.RegisteredClaims) { c.Audience = nil }),
		"the audience of the portal":  withClaim(func(c *jwt.RegisteredClaims) { c.Audience = jwt.ClaimStrings{audience} }),
		"an empty text":               "",
		"a line break":                link + "\n",
		"longer than a token":         strings.Repeat("a", maxToken+1),
		"the header of another token": headerOfAccess + "." + claims + "." + signature,
	} {
		_, err := tokens.Unseal(auth.ForDownload, token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
	}
}

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

// TestSeal_Link_ValidForPurposeUntilExpiry checks that a token of a link cannot be used for
// another purpose than its own, nor after its expiry.
func TestSeal_Link_ValidForPurposeUntilExpiry(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	tokens := openTokens(t, clk)
	token, err := tokens.Seal(auth.ForDownload, "e-1", clk.Now().Add(time.Hour))
	require.NoError(t, err)
	require.NotRegexp(t, `[^A-Za-z0-9._-]`, token, "a token needs no escaping in a URL")

	subject, err := tokens.Unseal(auth.ForDownload, token)
	require.NoError(t, err)
	require.Equal(t, "e-1", subject)

	_, err = tokens.Unseal(auth.ForUnsubscribe, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "another purpose")
	clk.Advance(time.Hour)

	_, err = tokens.Unseal(auth.ForDownload, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "an expired token")
}

// TestSeal_ForgedLink_Refused checks that a link cannot be forged, and that access tokens and
// tokens of links are not accepted in place of each other, although the same key signs them.
func TestSeal_ForgedLink_Refused(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	tokens, others := openTokens(t, clk), openTokens(t, clk)
	access, err := tokens.Issue(claimsAt(clk))
	require.NoError(t, err)

	link, err := tokens.Seal(auth.ForDownload, "e-1", clk.Now().Add(time.Hour))
	require.NoError(t, err)

	_, err = tokens.Verify(link)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "the token of a link is not an access token")

	foreign, err := others.Seal(auth.ForDownload, "e-1", clk.Now().Add(time.Hour))
	require.NoError(t, err)

	empty, err := tokens.Seal(auth.ForDownload, "", clk.Now().Add(time.Hour))
	require.NoError(t, err)

	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.RegisteredClaims{Subject: "e-1"}).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)

	// sign returns a valid token with some changed headers and claims, signed with the method and key.
	sign := func(method jwt.SigningMethod, key any, headers map[string]any, change func(*jwt.RegisteredClaims)) string {
		c := jwt.RegisteredClaims{
			Issuer:    tokens.issuer,
			Subject:   "e-1",
			Audience:  jwt.ClaimStrings{sealAudience(auth.ForDownload)},
			ExpiresAt: jwt.NewNumericDate(clk.Now().Add(time.Hour)),
		}
		if change != nil {
			change(&c)
		}

		token := jwt.NewWithClaims(method, c)
		token.Header["typ"], token.Header["kid"] = sealType, tokens.ring[0].id
		maps.Copy(token.Header, headers)

		signed, err := token.SignedString(key)
		require.NoError(t, err)

		return signed
	}

	private, public := tokens.ring[0].private, tokens.ring[0].public
	withHeader := func(name string, value any) string {
		return sign(jwt.SigningMethodEdDSA, private, map[string]any{name: value}, nil)
	}
	withClaim := func(change func(*jwt.RegisteredClaims)) string {
		return sign(jwt.SigningMethodEdDSA, private, nil, change)
	}

	subject, err := tokens.Unseal(auth.ForDownload, sign(jwt.SigningMethodEdDSA, private, nil, nil))
	require.NoError(t, err, "the unchanged token is valid")
	require.Equal(t, "e-1", subject)

	// A token consists of a header, claims and a signature.
	parts := strings.Split(link, ".")
	for name, token := range map[string]string{
		"an access token":             access,
		"signed by another service":   foreign,
		"without a subject":           empty,
		"the algorithm none":          none,
		"without a signature":         parts[0] + "." + parts[1] + ".",
		"an HMAC with the public key": sign(jwt.SigningMethodHS256, []byte(public), nil, nil),
		"an HMAC with the key set":    sign(jwt.SigningMethodHS256, tokens.JWKS(), nil, nil),
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
		"the header of another token": strings.Split(access, ".")[0] + "." + parts[1] + "." + parts[2],
	} {
		_, err := tokens.Unseal(auth.ForDownload, token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
	}
}

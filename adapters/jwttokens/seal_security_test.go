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

	// made returns a token with another key, header or claim than a valid one. Public values of
	// the service are not accepted as a secret, and a signed token has only one spelling.
	made := func(method jwt.SigningMethod, with any, headers map[string]any, change func(*jwt.RegisteredClaims)) string {
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

		signed, err := token.SignedString(with)
		require.NoError(t, err)

		return signed
	}

	ours := tokens.ring[0].private
	subject, err := tokens.Unseal(auth.ForDownload, made(jwt.SigningMethodEdDSA, ours, nil, nil))
	require.NoError(t, err, "the unchanged token is valid")
	require.Equal(t, "e-1", subject)

	parts := strings.Split(link, ".")
	for name, token := range map[string]string{
		"an access token":            access,
		"somebody else's":            foreign,
		"of nothing":                 empty,
		"unsigned":                   none,
		"cut":                        parts[0] + "." + parts[1] + ".",
		"signed with the public key": made(jwt.SigningMethodHS256, []byte(tokens.ring[0].public), nil, nil),
		"signed with the key set":    made(jwt.SigningMethodHS256, tokens.JWKS(), nil, nil),
		"of another type":            made(jwt.SigningMethodEdDSA, ours, map[string]any{"typ": tokenType}, nil),
		"of no type":                 made(jwt.SigningMethodEdDSA, ours, map[string]any{"typ": nil}, nil),
		"of an unknown key":          made(jwt.SigningMethodEdDSA, ours, map[string]any{"kid": "x"}, nil),
		"with an extension":          made(jwt.SigningMethodEdDSA, ours, map[string]any{"crit": []string{"exp"}}, nil),
		"without an end":             made(jwt.SigningMethodEdDSA, ours, nil, func(c *jwt.RegisteredClaims) { c.ExpiresAt = nil }),
		"of another house":           made(jwt.SigningMethodEdDSA, ours, nil, func(c *jwt.RegisteredClaims) { c.Issuer = "https://evil.example" }),
		"for nobody":                 made(jwt.SigningMethodEdDSA, ours, nil, func(c *jwt.RegisteredClaims) { c.Audience = nil }),
		"for signing in":             made(jwt.SigningMethodEdDSA, ours, nil, func(c *jwt.RegisteredClaims) { c.Audience = jwt.ClaimStrings{audience} }),
		"empty":                      "",
		"two lines":                  link + "\n",
		"long":                       strings.Repeat("a", 5000),
		"stitched":                   strings.Split(access, ".")[0] + "." + parts[1] + "." + parts[2],
	} {
		_, err := tokens.Unseal(auth.ForDownload, token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
	}
}

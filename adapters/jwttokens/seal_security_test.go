package jwttokens

import (
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

func TestASealedLinkOpensWhatItWasMadeForUntilItExpires(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	tokens := open(t, clk)
	token, err := tokens.Seal(auth.ForDownload, "e-1", clk.Now().Add(time.Hour))
	require.NoError(t, err)
	require.NotRegexp(t, `[^A-Za-z0-9._-]`, token, "it stands in a URL as it is")
	subject, err := tokens.Unseal(auth.ForDownload, token)
	require.NoError(t, err)
	require.Equal(t, "e-1", subject)
	_, err = tokens.Unseal(auth.ForUnsubscribe, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "another purpose")
	clk.Advance(time.Hour)
	_, err = tokens.Unseal(auth.ForDownload, token)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "too late")
}

func TestWhatIsNoSealedLinkOfOursOpensNothing(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	tokens, others := open(t, clk), open(t, clk)
	access, err := tokens.Issue(said(clk))
	require.NoError(t, err)
	link, err := tokens.Seal(auth.ForDownload, "e-1", clk.Now().Add(time.Hour))
	require.NoError(t, err)
	_, err = tokens.Verify(link)
	require.ErrorIs(t, err, fault.ErrUnauthorized, "a link signs nobody in")
	foreign, err := others.Seal(auth.ForDownload, "e-1", clk.Now().Add(time.Hour))
	require.NoError(t, err)
	empty, err := tokens.Seal(auth.ForDownload, "", clk.Now().Add(time.Hour))
	require.NoError(t, err)
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.RegisteredClaims{Subject: "e-1"}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	parts := strings.Split(link, ".")
	for name, token := range map[string]string{
		"an access token": access, "somebody else's": foreign, "of nothing": empty, "unsigned": none, "cut": parts[0] + "." + parts[1] + ".",
		"empty": "", "two lines": link + "\n", "long": strings.Repeat("a", 5000), "stitched": strings.Split(access, ".")[0] + "." + parts[1] + "." + parts[2],
	} {
		_, err := tokens.Unseal(auth.ForDownload, token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
	}
}

package jwttokens

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit"
)

var _ identity.AccessTokens = (*Tokens)(nil)

const issuer = "https://jobs.example.org"

// openTokens returns the tokens of a new key.
func openTokens(t *testing.T, clk *kit.Clock) *Tokens {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, Generate(dir))

	tokens, err := Open([]string{dir}, issuer, clk)
	require.NoError(t, err)

	return tokens
}

// claimsAt returns claims that are valid for 15 minutes from now.
func claimsAt(clk *kit.Clock) identity.AccessClaims {
	return identity.AccessClaims{
		UserID:         "u-1",
		SessionID:      "s-1",
		Role:           auth.Employer,
		OrganizationID: "o-1",
		IssuedAt:       clk.Now(),
		ExpiresAt:      clk.Now().Add(15 * time.Minute),
	}
}

// TestVerify_UntilExpiry_Accepted checks that a token is valid until its expiry plus the leeway
// for clocks that differ, and that the client does not learn why a token is refused.
func TestVerify_UntilExpiry_Accepted(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	tokens := openTokens(t, clk)
	token, err := tokens.Issue(claimsAt(clk))
	require.NoError(t, err)

	got, err := tokens.Verify(token)
	require.NoError(t, err)
	require.Equal(t, claimsAt(clk), got)

	clk.Advance(15*time.Minute + leeway - time.Second)

	_, err = tokens.Verify(token)
	require.NoError(t, err)
	clk.Advance(time.Second)

	_, err = tokens.Verify(token)
	require.ErrorIs(t, err, fault.ErrUnauthorized)
	require.ErrorIs(t, err, jwt.ErrTokenExpired, "the error wraps the reason for the log")
	require.Equal(t, "Unauthorized", fault.Of(err).Message)
}

// TestIssue_Claims checks the header and the claims of a token (RFC 9068). It has no claim about
// the person but the id.
func TestIssue_Claims(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	tokens := openTokens(t, clk)
	token, err := tokens.Issue(claimsAt(clk))
	require.NoError(t, err)

	decode := func(part string) (fields map[string]any) {
		text, err := base64.RawURLEncoding.DecodeString(part)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &fields))

		return fields
	}

	parts := strings.Split(token, ".")
	header := decode(parts[0])
	require.Equal(t, map[string]any{"typ": "at+jwt", "alg": "EdDSA", "kid": tokens.ring[0].id}, header)

	claims := decode(parts[1])
	require.NotEmpty(t, claims["jti"])
	delete(claims, "jti")

	now := float64(clk.Now().Unix())
	const quarterHour = 900
	require.Equal(t, map[string]any{
		"iss":  issuer,
		"aud":  []any{"locum-portal"},
		"sub":  "u-1",
		"sid":  "s-1",
		"role": "EMPLOYER",
		"org":  "o-1",
		"iat":  now,
		"nbf":  now,
		"exp":  now + quarterHour,
	}, claims)
}

// forge returns a token that is valid but for the change of its header and claims: it is signed
// with the key of tokens.
func forge(t *testing.T, tokens *Tokens, clk *kit.Clock, change func(header, claims map[string]any)) string {
	t.Helper()

	claims := jwt.MapClaims{
		"iss": issuer,
		"aud": "locum-portal",
		"sub": "u-1",
		"sid": "s-1",
		"jti": "j",
		"iat": clk.Now().Unix(),
		"nbf": clk.Now().Unix(),
		"exp": clk.Now().Add(time.Minute).Unix(),
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["typ"] = tokenType
	token.Header["kid"] = tokens.ring[0].id
	change(token.Header, claims)

	signed, err := token.SignedString(tokens.ring[0].private)
	require.NoError(t, err)

	return signed
}

// TestVerify_ForgedToken_Refused checks that each attack on JWTs that is known, and each token
// with one wrong claim, is refused (RFC 8725). Forged tokens are signed correctly where
// possible, so that nothing else is wrong with them.
func TestVerify_ForgedToken_Refused(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	tokens := openTokens(t, clk)
	honest := forge(t, tokens, clk, func(_, _ map[string]any) {})
	_, err := tokens.Verify(honest)
	require.NoError(t, err, "a forged token without changes is valid")

	strange, strangePrivate, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)

	strangeJWK := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(strange)}

	// signedWith returns a token with valid claims that is signed with another method or key.
	signedWith := func(method jwt.SigningMethod, key any, header map[string]any) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims{
			"iss": issuer,
			"aud": "locum-portal",
			"sub": "u-1",
			"sid": "s-1",
			"iat": clk.Now().Unix(),
			"exp": clk.Now().Add(time.Minute).Unix(),
		})
		token.Header["typ"] = tokenType
		token.Header["kid"] = tokens.ring[0].id
		maps.Copy(token.Header, header)

		s, err := token.SignedString(key)
		require.NoError(t, err)

		return s
	}

	// changed returns a token that is signed with the right key after the change.
	changed := func(change func(header, claims map[string]any)) string { return forge(t, tokens, clk, change) }
	spki, err := x509.MarshalPKIXPublicKey(tokens.ring[0].public)
	require.NoError(t, err)

	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})
	parts := strings.Split(honest, ".")
	seconds := func(d time.Duration) int64 { return clk.Now().Add(d).Unix() }

	for name, token := range map[string]string{
		"nothing":                   "",
		"two dots":                  "..",
		"one part":                  parts[0],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"a fourth part":             honest + ".x",
		"line end in the signature": honest + "\n",
		"padding":                   honest + "=",
		"claims are exchanged":      parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"admin"}`)) + "." + parts[2],
		"alg none":                  signedWith(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"HS256 with the public key": signedWith(jwt.SigningMethodHS256, []byte(tokens.ring[0].public), nil),
		"HS256 with the public PEM": signedWith(jwt.SigningMethodHS256, publicPEM, nil),
		"a stranger's key":          signedWith(jwt.SigningMethodEdDSA, strangePrivate, nil),
		"a stranger's kid":          signedWith(jwt.SigningMethodEdDSA, strangePrivate, map[string]any{"kid": thumbprint(strange)[:16]}),
		"a key in the header":       signedWith(jwt.SigningMethodEdDSA, strangePrivate, map[string]any{"jwk": strangeJWK}),
		"a key URL": signedWith(jwt.SigningMethodEdDSA, strangePrivate, map[string]any{
			"jku": "https://evil.example/jwks",
			"x5u": "https://evil.example/c",
		}),
		"kid is a path":              changed(func(h, _ map[string]any) { h["kid"] = "../../../dev/null" }),
		"kid is no string":           changed(func(h, _ map[string]any) { h["kid"] = []string{tokens.ring[0].id} }),
		"no kid":                     changed(func(h, _ map[string]any) { delete(h, "kid") }),
		"crit":                       changed(func(h, _ map[string]any) { h["crit"] = []string{"b64"}; h["b64"] = true }),
		"another kind of token":      changed(func(h, _ map[string]any) { h["typ"] = "JWT" }),
		"no kind":                    changed(func(h, _ map[string]any) { delete(h, "typ") }),
		"expired":                    changed(func(_, c map[string]any) { c["exp"] = seconds(-leeway) }),
		"without end":                changed(func(_, c map[string]any) { delete(c, "exp") }),
		"end is no number":           changed(func(_, c map[string]any) { c["exp"] = "tomorrow" }),
		"not yet":                    changed(func(_, c map[string]any) { c["nbf"] = seconds(leeway + time.Second) }),
		"from the future":            changed(func(_, c map[string]any) { c["iat"] = seconds(leeway + time.Second) }),
		"another issuer":             changed(func(_, c map[string]any) { c["iss"] = issuer + "/" }),
		"no issuer":                  changed(func(_, c map[string]any) { delete(c, "iss") }),
		"the developers' audience":   changed(func(_, c map[string]any) { c["aud"] = "locum-developer" }),
		"no audience":                changed(func(_, c map[string]any) { delete(c, "aud") }),
		"no user":                    changed(func(_, c map[string]any) { delete(c, "sub") }),
		"no session":                 changed(func(_, c map[string]any) { delete(c, "sid") }),
		"sixteen kilobytes":          changed(func(_, c map[string]any) { c["x"] = strings.Repeat("x", 16<<10) }),
		"sixteen kilobytes of dots":  strings.Repeat(".", 16<<10),
		"a deep header":              base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 2000))) + ".e30.e30",
		"bits after the last letter": honest[:len(honest)-1] + string(honest[len(honest)-1]+1),
	} {
		got, err := tokens.Verify(token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
		require.Zero(t, got, name)
	}

	// References to keys in the header are ignored.
	_, err = tokens.Verify(changed(func(h, _ map[string]any) { h["jku"] = "https://evil.example/jwks"; h["jwk"] = strangeJWK }))
	require.NoError(t, err)
}

// TestKeys_Rotation checks that tokens of the previous key stay valid after a new key is added,
// which key signs, and that the key set for other programs has only public keys.
func TestKeys_Rotation(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	dir := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, Generate(dir))

	old, err := Open([]string{dir}, issuer, clk)
	require.NoError(t, err)

	before, err := old.Issue(claimsAt(clk))
	require.NoError(t, err)

	// Add a second key to the folder. It signs new tokens, and tokens of both keys are valid.
	other := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, Generate(other))
	require.NoError(t, os.Rename(filepath.Join(other, firstKey), filepath.Join(dir, "0002.pem")))

	both, err := Open([]string{dir}, issuer, clk)
	require.NoError(t, err)

	after, err := both.Issue(claimsAt(clk))
	require.NoError(t, err)

	for _, token := range []string{before, after} {
		_, err = both.Verify(token)
		require.NoError(t, err)
	}

	_, err = old.Verify(after)
	require.Error(t, err, "the newest key of the directory signs")

	// In a list of files, the first key signs instead.
	listed, err := Open([]string{filepath.Join(dir, firstKey), filepath.Join(dir, "0002.pem")}, issuer, clk)
	require.NoError(t, err)
	require.Equal(t, old.ring[0].id, listed.ring[0].id, "the first key of a list signs")

	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	// The key set has the public halves of both keys, each with its id.
	require.NoError(t, json.Unmarshal(both.JWKS(), &set))
	require.Len(t, set.Keys, 2)

	for _, k := range set.Keys {
		require.NotContains(t, k, "d", "only the public half")
		require.Equal(t, "OKP", k["kty"])

		x, err := base64.RawURLEncoding.DecodeString(k["x"])
		require.NoError(t, err)
		require.Equal(t, thumbprint(x)[:16], k["kid"])
	}
}

// TestThumbprint checks the example of RFC 8037, appendix A.3.
func TestThumbprint(t *testing.T) {
	t.Parallel()

	x, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	require.NoError(t, err)
	require.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", thumbprint(x))
}

// TestKeys_ConcurrentStart_ShareOneKey checks that 20 processes that start at the same time in
// one folder create one key, which only their user can read.
func TestKeys_ConcurrentStart_ShareOneKey(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "data", "keys")

	var processes sync.WaitGroup
	for range 20 {
		processes.Go(func() { require.NoError(t, Generate(dir)) })
	}

	processes.Wait()

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	info, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	// A later start uses the key that exists.
	before, err := load([]string{dir})
	require.NoError(t, err)
	require.NoError(t, Generate(dir))

	after, err := load([]string{dir})
	require.NoError(t, err)
	require.Equal(t, before, after, "a second start creates no key")
}

// TestKeys_Unusable_AreNamed checks that the error of a key names its file and what is wrong
// with it. A key that other users of the host can read is refused.
func TestKeys_Unusable_AreNamed(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	write := func(name string, mode os.FileMode, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		require.NoError(t, os.Chmod(path, mode))

		return path
	}

	pkcs8 := func(k any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(k)
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}

	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)

	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)

	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)

	good := pkcs8(ed)
	for path, complaint := range map[string]string{
		filepath.Join(dir, "absent"):                                        "no such file",
		write("world.pem", 0o644, good):                                     "mode 0644): chmod 600",
		write("group.pem", 0o660, good):                                     "chmod 600",
		write("empty.pem", 0o600, nil):                                      "not a PEM file",
		write("secret.txt", 0o600, []byte("correct horse")):                 "not a PEM file",
		write("rsa.pem", 0o600, pkcs8(rsaKey)):                              "*rsa.PrivateKey, not an Ed25519 key",
		write("ec.pem", 0o600, pkcs8(ecKey)):                                "*ecdsa.PrivateKey, not an Ed25519 key",
		write("two.pem", 0o600, append(append([]byte{}, good...), good...)): "more than one key",
		write("short.pem", 0o600, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("short")})): "too short",
		write("public.pem", 0o600, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: ed[:32]})):         `"PUBLIC KEY"`,
	} {
		_, err := Open([]string{path}, issuer, kit.NewClock())
		require.ErrorContains(t, err, complaint)
		require.ErrorContains(t, err, filepath.Base(path), "the file is named")
	}

	_, err = Open([]string{t.TempDir()}, issuer, kit.NewClock())
	require.ErrorContains(t, err, "no *.pem key")

	_, err = Open([]string{write("good.pem", 0o640, good)}, issuer, kit.NewClock())
	require.NoError(t, err, "group-readable files are accepted: secrets are often mounted that way")
}

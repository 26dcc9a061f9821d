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
	"slices"
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

const (
	issuer = "https://jobs.example.org"
	// kidLength is the number of characters of a thumbprint that are the id of a key. The header kid of a token has the
	// id of the key that signed it.
	kidLength = 16
)

// signingKey returns the key that signs new tokens. It is the first of the ring, the list of all keys; the others only
// verify older tokens.
func signingKey(tokens *Tokens) key { return tokens.ring[0] }

// openTokens returns the tokens of a new key.
func openTokens(t *testing.T, clk *kit.Clock) *Tokens {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, Generate(dir))

	tokens, err := Open([]string{dir}, issuer, clk)
	require.NoError(t, err)

	return tokens
}

// claimsLife is the time for which the tokens of these tests are valid.
const claimsLife = 15 * time.Minute

// claimsAt returns claims that are valid for claimsLife from the time of the clock.
func claimsAt(clk *kit.Clock) identity.AccessClaims {
	return identity.AccessClaims{
		UserID:         "u-1",
		SessionID:      "s-1",
		Role:           auth.Employer,
		OrganizationID: "o-1",
		IssuedAt:       clk.Now(),
		ExpiresAt:      clk.Now().Add(claimsLife),
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

	claims, err := tokens.Verify(token)
	require.NoError(t, err)
	require.Equal(t, claimsAt(clk), claims)

	// One second before the end of the leeway, the token is valid.
	clk.Advance(claimsLife + leeway - time.Second)

	_, err = tokens.Verify(token)
	require.NoError(t, err)

	// At the end of the leeway, it is expired.
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

	// A token consists of a header, claims and a signature. The first two are JSON objects in base64.
	parts := strings.Split(token, ".")
	decode := func(part string) (fields map[string]any) {
		text, err := base64.RawURLEncoding.DecodeString(part)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &fields))

		return fields
	}

	header, claims := decode(parts[0]), decode(parts[1])
	require.Equal(t, map[string]any{"typ": "at+jwt", "alg": "EdDSA", "kid": signingKey(tokens).id}, header)

	// The id of the token is random.
	require.NotEmpty(t, claims["jti"])
	delete(claims, "jti")

	now := float64(clk.Now().Unix()) // JSON has no other numbers
	require.Equal(t, map[string]any{
		"iss":  issuer,
		"aud":  []any{"locum-portal"},
		"sub":  "u-1",
		"sid":  "s-1",
		"role": "EMPLOYER",
		"org":  "o-1",
		"iat":  now,
		"nbf":  now,
		"exp":  now + claimsLife.Seconds(),
	}, claims)
}

// forge returns a token that is valid but for the change of its header and claims. It is signed with the key of tokens
// after the change.
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
	token.Header["kid"] = signingKey(tokens).id
	change(token.Header, claims)

	signed, err := token.SignedString(signingKey(tokens).private)
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
	unchanged := func(_, _ map[string]any) {}
	honest := forge(t, tokens, clk, unchanged)
	_, err := tokens.Verify(honest)
	require.NoError(t, err, "a forged token without changes is valid")

	// A key of an attacker, and its description as a header would have it.
	strangePublic, strangePrivate, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)

	strangeJWK := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(strangePublic)}
	strangeID := thumbprint(strangePublic)[:kidLength]

	// signedWith returns a token with valid claims that is signed with the method and the key. The header fields are
	// added to those of a valid token, or replace them.
	signedWith := func(method jwt.SigningMethod, key any, headerFields map[string]any) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims{
			"iss": issuer,
			"aud": "locum-portal",
			"sub": "u-1",
			"sid": "s-1",
			"iat": clk.Now().Unix(),
			"exp": clk.Now().Add(time.Minute).Unix(),
		})
		token.Header["typ"] = tokenType
		token.Header["kid"] = signingKey(tokens).id
		maps.Copy(token.Header, headerFields)

		signed, err := token.SignedString(key)
		require.NoError(t, err)

		return signed
	}

	var noHeaderFields map[string]any

	_, err = tokens.Verify(signedWith(jwt.SigningMethodEdDSA, signingKey(tokens).private, noHeaderFields))
	require.NoError(t, err, "with the right method and key, the token is valid")

	// withHeader and withClaim return a token with one other header field or claim, signed with the right key.
	withHeader := func(change func(header map[string]any)) string {
		return forge(t, tokens, clk, func(header, _ map[string]any) { change(header) })
	}
	withClaim := func(change func(claims map[string]any)) string {
		return forge(t, tokens, clk, func(_, claims map[string]any) { change(claims) })
	}

	// The public key of the service in two encodings. Everyone knows it, so that it must not be accepted as a secret.
	public := signingKey(tokens).public
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)

	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})

	// The parts of a valid token. Its last character has some bits that are not used.
	parts := strings.Split(honest, ".")
	header, claims, signature := parts[0], parts[1], parts[2]
	lastCharacter := honest[len(honest)-1]

	const aboveMaximum = 4 * maxToken // bytes

	inBase64 := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	timeIn := func(d time.Duration) int64 { return clk.Now().Add(d).Unix() }

	for name, token := range map[string]string{
		// malformed tokens, and parts of a valid one
		"nothing":                    "",
		"two dots":                   "..",
		"one part":                   header,
		"no signature":               header + "." + claims + ".",
		"a fourth part":              honest + ".x",
		"line end in the signature":  honest + "\n",
		"padding":                    honest + "=",
		"bits after the last letter": strings.TrimSuffix(honest, string(lastCharacter)) + string(lastCharacter+1),
		"claims are exchanged":       header + "." + inBase64(`{"sub":"admin"}`) + "." + signature,
		// another method or key
		"alg none":                  signedWith(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, noHeaderFields),
		"HS256 with the public key": signedWith(jwt.SigningMethodHS256, []byte(public), noHeaderFields),
		"HS256 with the public PEM": signedWith(jwt.SigningMethodHS256, publicPEM, noHeaderFields),
		"a stranger's key":          signedWith(jwt.SigningMethodEdDSA, strangePrivate, noHeaderFields),
		"a stranger's kid":          signedWith(jwt.SigningMethodEdDSA, strangePrivate, map[string]any{"kid": strangeID}),
		"a key in the header":       signedWith(jwt.SigningMethodEdDSA, strangePrivate, map[string]any{"jwk": strangeJWK}),
		"a key URL": signedWith(jwt.SigningMethodEdDSA, strangePrivate, map[string]any{
			"jku": "https://evil.example/jwks",
			"x5u": "https://evil.example/c",
		}),
		// another header
		"kid is a path":         withHeader(func(h map[string]any) { h["kid"] = "../../../dev/null" }),
		"kid is no string":      withHeader(func(h map[string]any) { h["kid"] = []string{signingKey(tokens).id} }),
		"no kid":                withHeader(func(h map[string]any) { delete(h, "kid") }),
		"crit":                  withHeader(func(h map[string]any) { h["crit"] = []string{"b64"}; h["b64"] = true }),
		"another kind of token": withHeader(func(h map[string]any) { h["typ"] = "JWT" }),
		"no kind":               withHeader(func(h map[string]any) { delete(h, "typ") }),
		// other claims
		"expired":                  withClaim(func(c map[string]any) { c["exp"] = timeIn(-leeway) }),
		"without end":              withClaim(func(c map[string]any) { delete(c, "exp") }),
		"end is no number":         withClaim(func(c map[string]any) { c["exp"] = "tomorrow" }),
		"not yet":                  withClaim(func(c map[string]any) { c["nbf"] = timeIn(leeway + time.Second) }),
		"from the future":          withClaim(func(c map[string]any) { c["iat"] = timeIn(leeway + time.Second) }),
		"another issuer":           withClaim(func(c map[string]any) { c["iss"] = issuer + "/" }),
		"no issuer":                withClaim(func(c map[string]any) { delete(c, "iss") }),
		"the developers' audience": withClaim(func(c map[string]any) { c["aud"] = "locum-developer" }),
		"no audience":              withClaim(func(c map[string]any) { delete(c, "aud") }),
		"no user":                  withClaim(func(c map[string]any) { delete(c, "sub") }),
		"no session":               withClaim(func(c map[string]any) { delete(c, "sid") }),
		// tokens that are costly to read
		"too long":          withClaim(func(c map[string]any) { c["x"] = strings.Repeat("x", aboveMaximum) }),
		"too long, of dots": strings.Repeat(".", aboveMaximum),
		"a deep header":     inBase64(strings.Repeat("[", 2000)) + ".e30.e30", // e30 is {}
	} {
		accepted, err := tokens.Verify(token)
		require.ErrorIs(t, err, fault.ErrUnauthorized, name)
		require.Zero(t, accepted, name)
	}

	// References to keys in the header are ignored: a token that is signed with the right key is valid despite them.
	_, err = tokens.Verify(withHeader(func(h map[string]any) { h["jku"] = "https://evil.example/jwks"; h["jwk"] = strangeJWK }))
	require.NoError(t, err)
}

// TestKeys_Rotation checks that tokens of the previous key stay valid after a new key is added,
// which key signs, and that the key set for other programs has only public keys.
func TestKeys_Rotation(t *testing.T) {
	t.Parallel()

	// Issue a token with the first key.
	clk := kit.NewClock()
	dir := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, Generate(dir))

	withOldKey, err := Open([]string{dir}, issuer, clk)
	require.NoError(t, err)

	oldToken, err := withOldKey.Issue(claimsAt(clk))
	require.NoError(t, err)

	// Add a second key to the folder. It signs new tokens, and tokens of both keys are valid.
	const secondKey = "0002.pem" // sorts after firstKey

	dirOfSecondKey := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, Generate(dirOfSecondKey))
	require.NoError(t, os.Rename(filepath.Join(dirOfSecondKey, firstKey), filepath.Join(dir, secondKey)))

	withBothKeys, err := Open([]string{dir}, issuer, clk)
	require.NoError(t, err)

	newToken, err := withBothKeys.Issue(claimsAt(clk))
	require.NoError(t, err)

	_, err = withBothKeys.Verify(oldToken)
	require.NoError(t, err)

	_, err = withBothKeys.Verify(newToken)
	require.NoError(t, err)

	_, err = withOldKey.Verify(newToken)
	require.Error(t, err, "the newest key of the directory signs")

	// In a list of files, the first key signs instead.
	fromList, err := Open([]string{filepath.Join(dir, firstKey), filepath.Join(dir, secondKey)}, issuer, clk)
	require.NoError(t, err)
	require.Equal(t, signingKey(withOldKey).id, signingKey(fromList).id, "the first key of a list signs")

	// The key set has the public halves of both keys, each with its id.
	var set struct {
		Keys []map[string]string `json:"keys"`
	}

	require.NoError(t, json.Unmarshal(withBothKeys.JWKS(), &set))
	require.Len(t, set.Keys, 2)

	for i, k := range set.Keys {
		require.NotContains(t, k, "d", "key %d: d is the private half", i)
		require.Equal(t, "OKP", k["kty"], "key %d", i)

		public, err := base64.RawURLEncoding.DecodeString(k["x"])
		require.NoError(t, err, "key %d", i)
		require.Equal(t, thumbprint(public)[:kidLength], k["kid"], "key %d", i)
	}
}

// TestThumbprint checks the example of RFC 8037, appendix A.3.
func TestThumbprint(t *testing.T) {
	t.Parallel()

	publicKey, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	require.NoError(t, err)
	require.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", thumbprint(publicKey))
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

	// There is one key, and no remains of the attempts of the others. Only its user has permissions.
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	const onlyUserReadsFile, onlyUserEntersFolder = os.FileMode(0o600), os.FileMode(0o700)

	keyFile, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, onlyUserReadsFile, keyFile.Mode().Perm())

	folder, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, onlyUserEntersFolder, folder.Mode().Perm())

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

	// write returns the path of a new file.
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, content []byte) (path string) {
		path = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		require.NoError(t, os.Chmod(path, mode)) // WriteFile does not set bits that the umask of the process clears

		return path
	}

	// inPEM and privatePEM return the content of a file with one key.
	inPEM := func(blockType string, key []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: key})
	}
	privatePEM := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)

		return inPEM("PRIVATE KEY", der)
	}

	// Generate a key that can be used, and two of other types.
	publicKey, privateKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)

	const rsaBits = 2048

	rsaKey, err := rsa.GenerateKey(rand.Reader, rsaBits)
	require.NoError(t, err)

	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)

	good := privatePEM(privateKey)
	for path, wantError := range map[string]string{
		filepath.Join(dir, "absent"):                                     "no such file",
		write("world.pem", 0o644, good):                                  "mode 0644): chmod 600",
		write("group.pem", 0o660, good):                                  "chmod 600",
		write("empty.pem", 0o600, nil):                                   "not a PEM file",
		write("secret.txt", 0o600, []byte("correct horse")):              "not a PEM file",
		write("rsa.pem", 0o600, privatePEM(rsaKey)):                      "*rsa.PrivateKey, not an Ed25519 key",
		write("ec.pem", 0o600, privatePEM(ecKey)):                        "*ecdsa.PrivateKey, not an Ed25519 key",
		write("two.pem", 0o600, slices.Concat(good, good)):               "more than one key",
		write("short.pem", 0o600, inPEM("PRIVATE KEY", []byte("short"))): "too short",
		write("public.pem", 0o600, inPEM("PUBLIC KEY", publicKey)):       `"PUBLIC KEY"`,
	} {
		_, err := Open([]string{path}, issuer, kit.NewClock())
		require.ErrorContains(t, err, wantError)
		require.ErrorContains(t, err, filepath.Base(path), "the file is named")
	}

	emptyFolder := t.TempDir()
	_, err = Open([]string{emptyFolder}, issuer, kit.NewClock())
	require.ErrorContains(t, err, "no *.pem key")

	groupReadable := write("good.pem", 0o640, good)
	_, err = Open([]string{groupReadable}, issuer, kit.NewClock())
	require.NoError(t, err, "group-readable files are accepted: secrets are often mounted that way")
}

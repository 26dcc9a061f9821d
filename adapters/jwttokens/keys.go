package jwttokens

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// key is a signing key of the ring.
type key struct {
	id      string // the beginning of the thumbprint
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

// idLength is the length of the id of a key.
const idLength = 16

// firstKey is the name of a generated key. Keys in a directory are sorted by name, so
// that adding 0002.pem rotates them.
const firstKey = "0001.pem"

// Generate creates the directory (mode 0700) and a key in it (mode 0600), unless the directory
// contains a key. Concurrent processes create only one key.
func Generate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	if found, err := filepath.Glob(filepath.Join(dir, "*.pem")); err != nil || len(found) > 0 {
		return err
	}

	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}

	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}

	part, err := os.CreateTemp(dir, ".part-") // mode 0600
	if err != nil {
		return err
	}

	defer func() { _ = os.Remove(part.Name()) }()

	err = pem.Encode(part, &pem.Block{Type: "PRIVATE KEY", Bytes: der})

	err = errors.Join(err, part.Sync(), part.Close())
	if err != nil {
		return err
	}

	// A link is created atomically and never replaces an existing file, such as the key of another
	// process.
	if err := os.Link(part.Name(), filepath.Join(dir, firstKey)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}

	return nil
}

// load reads the ring, beginning with the signing key.
func load(paths []string) ([]key, error) {
	var ring []key
	for _, path := range paths {
		files := []string{path}

		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}

		if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.pem")); err != nil {
				return nil, err
			}

			slices.Reverse(files) // newest first; Glob sorts by name
		}

		for _, file := range files {
			k, err := readKey(file)
			if err != nil {
				return nil, err
			}

			if !slices.ContainsFunc(ring, func(other key) bool { return other.id == k.id }) {
				ring = append(ring, k)
			}
		}
	}

	if len(ring) == 0 {
		return nil, fmt.Errorf("no *.pem key in %q", paths)
	}

	return ring, nil
}

// readKey reads a signing key. It refuses a file that other users can read. Its errors say how to correct
// each mistake.
func readKey(path string) (key, error) {
	const advice = "make one with: openssl genpkey -algorithm ed25519 -out KEY.pem"

	info, err := os.Stat(path)
	if err != nil {
		return key{}, err
	}

	const forbidden = 0o027 // write by the group, anything by others
	if info.Mode().Perm()&forbidden != 0 {
		return key{}, fmt.Errorf("%s can be read or written by others (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}

	text, err := os.ReadFile(path)
	if err != nil {
		return key{}, err
	}

	block, rest := pem.Decode(text)
	if block == nil {
		return key{}, fmt.Errorf("%s is not a PEM file; %s", path, advice)
	}

	if more, _ := pem.Decode(rest); more != nil {
		return key{}, fmt.Errorf("%s holds more than one key; give each a file of its own", path)
	}

	if block.Type != "PRIVATE KEY" {
		return key{}, fmt.Errorf("%s holds a %q, not a PKCS #8 \"PRIVATE KEY\"; %s", path, block.Type, advice)
	}

	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return key{}, fmt.Errorf("%s holds a damaged key or one that is too short; %s", path, advice)
	}

	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return key{}, fmt.Errorf("%s holds a %T, not an Ed25519 key; %s", path, parsed, advice)
	}

	public := private.Public().(ed25519.PublicKey)

	return key{id: thumbprint(public)[:idLength], private: private, public: public}, nil
}

// thumbprint returns the hash that identifies a key: the hash of its JWK with the members of RFC 8037 §2
// in alphabetic order (RFC 7638 §3).
func thumbprint(k ed25519.PublicKey) string {
	jwk := `{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(k) + `"}`
	sum := sha256.Sum256([]byte(jwk))

	return base64.RawURLEncoding.EncodeToString(sum[:])
}

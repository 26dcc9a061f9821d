package kit

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Mail is a received message.
type Mail struct {
	From, To string // of the envelope
	Header   netmail.Header
	// Parts are the decoded bodies by media type.
	Parts map[string]string
	Raw   string
}

// Text returns the plain text part.
func (m *Mail) Text() string { return m.Parts["text/plain"] }

// parseMail parses a message with all of its parts.
func parseMail(raw []byte) (Mail, error) {
	message, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return Mail{}, err
	}
	m := Mail{Header: message.Header, Parts: map[string]string{}, Raw: string(raw)}
	return m, m.read(message.Header.Get("Content-Type"), message.Header.Get("Content-Transfer-Encoding"), message.Body)
}

// read decodes a body, which may consist of parts, into Parts. The method of a calendar (RFC
// 5546) is stored under the name "method".
func (m *Mail) read(contentType, encoding string, body io.Reader) error {
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	if boundary := parameters["boundary"]; boundary != "" {
		parts := multipart.NewReader(body, boundary)
		for {
			// NextPart would decode quoted-printable and remove the header.
			part, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := m.read(part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part); err != nil {
				return err
			}
		}
	}
	switch encoding {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	b, err := io.ReadAll(body)
	m.Parts[kind] = string(b)
	if method := parameters["method"]; method != "" {
		m.Parts["method"] = method
	}
	return err
}

// authority creates a certificate for the loopback addresses, and a file with it.
func authority(t testing.TB) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"localhost"},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

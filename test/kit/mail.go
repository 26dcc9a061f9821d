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
	// Parts are the decoded bodies by media type. The key "method" has the METHOD of a calendar
	// (RFC 5546) from the parameters of its media type.
	Parts map[string]string
	Raw   string // the message with its header, undecoded
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
	err = m.readBody(message.Header.Get("Content-Type"), message.Header.Get("Content-Transfer-Encoding"), message.Body)

	return m, err
}

// readBody decodes a body, which may consist of parts, into Parts.
func (m *Mail) readBody(contentType, encoding string, body io.Reader) error {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}

	if boundary := parameters["boundary"]; boundary != "" {
		parts := multipart.NewReader(body, boundary)
		for {
			// NextPart would decode quoted-printable and remove the Content-Transfer-Encoding.
			part, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return nil
			}

			if err != nil {
				return err
			}

			err = m.readBody(part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part)
			if err != nil {
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

	decoded, err := io.ReadAll(body)

	m.Parts[mediaType] = string(decoded)
	if method := parameters["method"]; method != "" {
		m.Parts["method"] = method
	}

	return err
}

// newCertificate creates a self-signed certificate for the loopback addresses, and a PEM file
// with which clients verify it.
func newCertificate(t testing.TB) (certificate tls.Certificate, caFile string) {
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

	caFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, caFile
}

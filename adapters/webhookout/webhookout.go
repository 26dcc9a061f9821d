// Package webhookout sends webhooks to URLs that clients choose. It refuses addresses that are
// not on the public internet, so that clients cannot reach internal services.
package webhookout

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/locumhq/locum/modules/integrations"
)

const (
	connectTimeout = 5 * time.Second

	// Limits of a response, in bytes.
	maxBody            = 16 << 10
	maxStoredBody      = 1 << 10 // the part of the body that is returned
	maxResponseHeaders = 16 << 10
)

// Sender implements integrations.Sender.
type Sender struct {
	client  *http.Client
	timeout time.Duration
}

// Options are the settings of a Sender.
type Options struct {
	// Private permits every network and port, also addresses that are not on the public internet.
	Private bool
	// Roots are the trusted certificate authorities, nil for the system's.
	Roots *x509.CertPool
}

// New returns a sender. It uses no proxy, follows no redirects, and checks the resolved
// address when it connects.
func New(o Options) *Sender {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	if !o.Private {
		dialer.Control = publicAddressesOnly()
	}

	return &Sender{timeout: integrations.AnswerWithin, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
			TLSHandshakeTimeout:    connectTimeout,
			ResponseHeaderTimeout:  integrations.AnswerWithin,
			MaxResponseHeaderBytes: maxResponseHeaders,
			MaxIdleConns:           1_000,
			MaxIdleConnsPerHost:    100,
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errPort is the error of a connection to a port that web servers do not use.
var errPort = errors.New("prohibited port")

// publicAddressesOnly returns a dialer control that refuses connections to addresses that are
// not public. Both the list of the library and the list that the registration of webhooks uses
// must permit an address.
func publicAddressesOnly() func(network, address string, c syscall.RawConn) error {
	public := ssrf.New(ssrf.WithAnyPort())

	return func(network, address string, c syscall.RawConn) error {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}

		if !integrations.IsPublicPort(port) {
			return errPort
		}

		if !integrations.PublicHost(host) {
			return ssrf.ErrProhibitedIP
		}

		return public.Safe(network, address, c)
	}
}

// Post implements integrations.Sender. It sends the request and returns the answer of the receiver or,
// if there is none, the class of the error.
func (s *Sender) Post(ctx context.Context, post integrations.Post) (answer integrations.Answer) {
	begun := time.Now()
	defer func() { answer.Took = time.Since(begun) }()

	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, post.URL, strings.NewReader(post.Body))
	if err != nil {
		return integrations.Answer{Error: "bad_address"}
	}

	host := strings.ToLower(strings.TrimSuffix(request.URL.Hostname(), "."))
	if strings.HasSuffix(host, ".invalid") { // such names never resolve (RFC 6761 §6.4)
		return integrations.Answer{Error: "dns"}
	}

	for name, value := range post.Headers {
		request.Header.Set(name, value)
	}

	response, err := s.client.Do(request)
	if err != nil {
		return integrations.Answer{Error: errorClass(err)}
	}

	defer func() { _ = response.Body.Close() }()

	// The body is read so that the connection can be reused. Only the status counts.
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxBody))

	return integrations.Answer{
		Status:     response.StatusCode,
		Body:       string(text[:min(len(text), maxStoredBody)]),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), begun),
	}
}

// retryAfter parses the header Retry-After (RFC 9110 §10.2.3): seconds or a date. It returns 0
// for other texts.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		const maxSeconds = 1 << 30 // more would overflow a duration
		return time.Duration(min(seconds, maxSeconds)) * time.Second
	}

	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}

	return 0
}

// errorClass returns the class of an error. The error itself may contain internal
// addresses.
func errorClass(err error) string {
	var unresolved *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError

	var network net.Error
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP),
		errors.Is(err, ssrf.ErrProhibitedNetwork),
		errors.Is(err, ssrf.ErrProhibitedPort),
		errors.Is(err, ssrf.ErrInvalidHostPort),
		errors.Is(err, errPort):
		return "refused_address"
	case errors.As(err, &unresolved):
		return "dns"
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert):
		return "tls"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "tls"
	}

	return "connection"
}

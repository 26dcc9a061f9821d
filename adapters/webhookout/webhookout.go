// Package webhookout sends webhooks to receivers that somebody else chose the
// address of, and so to the public internet alone.
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
	connectWithin = 5 * time.Second
	readMost      = 16 << 10 // of an answer's body
	keepMost      = 1 << 10
	headersMost   = 16 << 10
)

// Sender implements integrations.Sender.
type Sender struct {
	client *http.Client
	within time.Duration
}

// Options are how a Sender reaches receivers.
type Options struct {
	// Private lets it connect to every network and port.
	Private bool
	// Roots are the certificate authorities that it trusts, nil for the system's.
	Roots *x509.CertPool
}

// New makes a sender. It has connections of its own: no proxy, no redirects, and
// what an address stands for is judged at the moment of the connection, when it
// is known.
func New(o Options) *Sender {
	dialer := &net.Dialer{Timeout: connectWithin, KeepAlive: 30 * time.Second}
	if !o.Private {
		dialer.Control = guard()
	}
	return &Sender{within: integrations.AnswerWithin, client: &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
			TLSHandshakeTimeout: connectWithin, ResponseHeaderTimeout: integrations.AnswerWithin, MaxResponseHeaderBytes: headersMost,
			MaxIdleConns: 1_000, MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errPort is a connection to a port where no web server listens.
var errPort = errors.New("prohibited port")

// guard refuses connections to addresses that are not public. Two lists have to
// agree: the library's and the one that registrations are held against.
func guard() func(network, address string, c syscall.RawConn) error {
	public := ssrf.New(ssrf.WithAnyPort())
	return func(network, address string, c syscall.RawConn) error {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		if !integrations.Reachable(port) {
			return errPort
		}
		if !integrations.PublicHost(host) {
			return ssrf.ErrProhibitedIP
		}
		return public.Safe(network, address, c)
	}
}

// Post implements integrations.Sender.
func (s *Sender) Post(ctx context.Context, p integrations.Post) (a integrations.Answer) {
	begun := time.Now()
	defer func() { a.Took = time.Since(begun) }()
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, strings.NewReader(p.Body))
	if err != nil {
		return integrations.Answer{Error: "bad_address"}
	}
	if strings.HasSuffix(strings.ToLower(strings.TrimSuffix(request.URL.Hostname(), ".")), ".invalid") {
		return integrations.Answer{Error: "dns"} // there never is one, and nobody is asked (RFC 6761 §6.4)
	}
	for name, value := range p.Headers {
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return integrations.Answer{Error: class(err)}
	}
	defer func() { _ = response.Body.Close() }()
	// What is read to its end leaves a connection that can be used again. That the
	// status came is what counts.
	text, _ := io.ReadAll(io.LimitReader(response.Body, readMost))
	a = integrations.Answer{Status: response.StatusCode, Body: string(text[:min(len(text), keepMost)]), RetryAfter: retryAfter(response.Header.Get("Retry-After"), begun)}
	return a
}

// retryAfter reads the header (RFC 9110 §10.2.3): seconds or a date. 0 for what is
// neither.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(min(n, 1<<30)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// class says what sort of thing went wrong. The error itself may hold addresses
// of our network.
func class(err error) string {
	var unresolved *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var network net.Error
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrProhibitedPort), errors.Is(err, ssrf.ErrInvalidHostPort), errors.Is(err, errPort):
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

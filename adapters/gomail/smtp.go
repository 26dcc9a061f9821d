package gomail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
)

// The sum of the three timeouts is less than the time limit of a task.
const (
	// probeTimeout bounds the check of an idle connection.
	probeTimeout = 2 * time.Second
	// dialTimeout bounds the opening of a connection until the server is ready for a message.
	dialTimeout = 5 * time.Second
	// sendTimeout bounds the transfer of a message.
	sendTimeout = 12 * time.Second
	// maxIdle is the maximum number of idle connections.
	maxIdle = 4
	// maxIdleTime is how long an idle connection is kept. Servers close connections that are idle for
	// longer.
	maxIdleTime = 20 * time.Second
	// pingInterval is the time for which the result of a check is reused.
	pingInterval = time.Second
)

// SMTP is a mailer that sends messages to a mail server (RFC 5321).
type SMTP struct {
	writer
	server  server
	session *gomail.Client  // sends messages over connections
	idle    chan connection // holds the idle connections

	pingMu   sync.Mutex
	pingedAt time.Time
	pingErr  error // the result of the last check
}

// server is the address of a server with its connection settings.
type server struct {
	host     string
	options  []gomail.Option
	implicit *tls.Config // set for TLS from the first byte
}

// connection is a connection to the server on which the mailer has signed in.
type connection struct {
	*smtp.Client
	idleSince time.Time
}

// NewSMTP returns a mailer for a server. It does not connect.
//
//	smtp://[user:password@]host[:port]   port 587; STARTTLS is required
//	smtps://[user:password@]host[:port]  port 465; TLS from the first byte
//
// The option ?starttls=always|optional|never changes that, but a password is never sent
// without encryption. On a loopback address STARTTLS is optional and any certificate is
// accepted. ?ca=FILE names the certificates (PEM) of a private authority.
func NewSMTP(rawURL string, from mail.Address, c clock.Clock) (*SMTP, error) {
	w, err := newWriter(from, c)
	if err != nil {
		return nil, err
	}

	srv, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}

	srv.options = append(srv.options, gomail.WithHELO(w.host))
	s := &SMTP{writer: w, server: srv, idle: make(chan connection, maxIdle)}
	sendOptions := append(slices.Clone(srv.options), gomail.WithTimeout(sendTimeout))
	s.session, err = gomail.NewClient(srv.host, sendOptions...)

	return s, err
}

// The default ports for the submission of messages (RFC 8314 §7.3).
const (
	submissionPort  = 587 // with STARTTLS
	submissionsPort = 465 // with TLS from the first byte
)

// parseURL parses the URL of NewSMTP. Its errors do not contain the password.
func parseURL(rawURL string) (server, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		// The error of the parser would contain the password.
		return server{}, errors.New("want smtp://USER:PASSWORD@HOST:PORT or smtps://…, with special characters as %XX")
	}

	query := u.Query()
	for name := range query {
		if name != "starttls" && name != "ca" {
			return server{}, fmt.Errorf("unknown parameter %q; there are starttls and ca", name)
		}
	}

	host := u.Hostname()
	isLoopback := host == "localhost" || net.ParseIP(host).IsLoopback()

	settings, err := tlsConfig(host, isLoopback, query.Get("ca"))
	if err != nil {
		return server{}, err
	}

	srv := server{host: host, options: []gomail.Option{gomail.WithTLSConfig(settings)}}

	// Choose the port, and whether to encrypt.
	port, defaultPolicy := submissionPort, "always"
	if isLoopback {
		defaultPolicy = "optional"
	}

	policy := cmp.Or(query.Get("starttls"), defaultPolicy)
	switch {
	case u.Scheme == "smtps" && query.Has("starttls"):
		return server{}, errors.New("smtps: is encrypted from the first byte, there is no STARTTLS to ask for")
	case u.Scheme == "smtps":
		// Optional is required for the library to detect the encryption of the
		// connection.
		port = submissionsPort
		policy = "optional"
		srv.implicit = settings
	case policies[policy] == nil:
		return server{}, errors.New("starttls: want always, optional or never")
	}

	if text := u.Port(); text != "" {
		port, err = strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return server{}, errors.New("the port is not a number from 1 to 65535")
		}
	}

	srv.options = append(srv.options, policies[policy], gomail.WithPort(port))

	// Sign in if the URL has a user.
	if user := u.User.Username(); user != "" {
		password, _ := u.User.Password()

		method := gomail.SMTPAuthAutoDiscover // sends no password without TLS
		if isLoopback {
			method = gomail.SMTPAuthPlainNoEnc // a password to a loopback address stays on this machine
		}

		srv.options = append(srv.options, gomail.WithSMTPAuth(method), gomail.WithUsername(user), gomail.WithPassword(password))
	}

	return srv, nil
}

// policies are the values of the option starttls.
var policies = map[string]gomail.Option{
	"always":   gomail.WithTLSPolicy(gomail.TLSMandatory),
	"optional": gomail.WithTLSPolicy(gomail.TLSOpportunistic),
	"never":    gomail.WithTLSPolicy(gomail.NoTLS),
}

// tlsConfig returns which certificates are accepted: those of the authorities in caFile or, if it is "",
// of the authorities of the system. Any certificate is accepted from a loopback address.
func tlsConfig(host string, isLoopback bool, caFile string) (*tls.Config, error) {
	settings := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if caFile == "" {
		settings.InsecureSkipVerify = isLoopback // packets to a loopback address cannot be intercepted
		return settings, nil
	}

	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}

	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca: no certificates in %s", caFile)
	}

	return settings, nil
}

// Send implements mail.Mailer. Its errors contain no e-mail addresses.
func (s *SMTP) Send(ctx context.Context, message mail.Message) error {
	const plain = false

	msg, err := s.write(message, plain)
	if err != nil {
		return fmt.Errorf("mail %s: %w: %w", message.ID, mail.ErrRefused, err)
	}

	if err := s.send(ctx, msg); err != nil {
		return fmt.Errorf("mail %s: %w", message.ID, redactError(err))
	}

	return nil
}

// send sends the message over an idle connection. If the server has closed the connection, or if there is
// none, send uses a new one.
func (s *SMTP) send(ctx context.Context, msg *gomail.Msg) error {
	for {
		c, isNew, err := s.connect(ctx)
		if err != nil {
			return err
		}

		err = s.sendOver(ctx, c, msg)

		wasIdleTooLong := !isNew && isClosedByServer(err) && ctx.Err() == nil
		switch {
		case err == nil, msg.IsDelivered(): // errors after the message was accepted are ignored
			isHealthy := err == nil
			s.release(c, isHealthy)

			return nil
		case wasIdleTooLong:
			c.close()
			s.closeIdle(connection.close) // the server has probably closed the others too
			continue
		}

		c.close()

		return err
	}
}

// sendOver sends the message over the connection until ctx ends.
func (s *SMTP) sendOver(ctx context.Context, c connection, msg *gomail.Msg) error {
	stopWatching := context.AfterFunc(ctx, c.close)
	defer stopWatching()

	// The library checks the connection before it sets the deadline for the transfer.
	if err := c.UpdateDeadline(probeTimeout); err != nil {
		return err
	}

	err := s.session.SendWithSMTPClient(c.Client, msg)
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}

	return err
}

// Ping returns an error unless the server accepts the credentials and responds. It
// contacts the server once per second at most.
func (s *SMTP) Ping(ctx context.Context) error {
	s.pingMu.Lock()
	defer s.pingMu.Unlock()

	if time.Since(s.pingedAt) >= pingInterval {
		s.pingErr = s.ping(ctx)
		s.pingedAt = time.Now()
	}

	return s.pingErr
}

// ping checks an idle connection or, if there is none that works, a new one.
func (s *SMTP) ping(ctx context.Context) error {
	for {
		c, isNew, err := s.connect(ctx)
		if err != nil {
			return redactError(err)
		}

		stopWatching := context.AfterFunc(ctx, c.close)

		err = c.UpdateDeadline(probeTimeout)
		if err == nil {
			err = c.Noop()
		}

		stopWatching()

		isHealthy := err == nil
		s.release(c, isHealthy)

		if isHealthy || isNew || ctx.Err() != nil {
			return err
		}
	}
}

// close closes the connection at once. The Close of the client would wait for a response that
// the server may never send.
func (c connection) close() { _ = c.Text.Close() }

// quit ends the session with QUIT.
func (c connection) quit() {
	if c.UpdateDeadline(probeTimeout) == nil && c.Quit() == nil {
		return
	}

	c.close()
}

// connect returns an idle connection. If there is none, it opens one, for which isNew is true.
func (s *SMTP) connect(ctx context.Context) (c connection, isNew bool, err error) {
	for {
		select {
		case c = <-s.idle:
			if time.Since(c.idleSince) < maxIdleTime {
				return c, false, nil
			}

			go c.quit() // in the background, because the server may be slow
			continue
		default: // no connection is idle
		}

		client, err := s.server.dial(ctx)

		return connection{Client: client}, true, err
	}
}

// dial opens a connection and signs in. The library applies ctx and its time limit only to
// single steps, and does not close a connection that failed. Therefore dial closes the connection when ctx
// ends and after an error.
func (srv server) dial(ctx context.Context) (client *smtp.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var conn net.Conn
	// stopWatching returns false if the watch has closed conn.
	stopWatching := func() bool { return true }

	// dialAndWatch opens conn and closes it when ctx ends.
	dialAndWatch := func(stepCtx context.Context, network, address string) (net.Conn, error) {
		var err error
		if srv.implicit != nil {
			conn, err = (&tls.Dialer{Config: srv.implicit}).DialContext(stepCtx, network, address)
		} else {
			conn, err = (&net.Dialer{}).DialContext(stepCtx, network, address)
		}

		if err == nil {
			stopWatching = context.AfterFunc(ctx, func() { _ = conn.Close() })
		}

		return conn, err
	}
	options := append(slices.Clone(srv.options), gomail.WithTimeout(dialTimeout), gomail.WithDialContextFunc(dialAndWatch))

	dialer, err := gomail.NewClient(srv.host, options...)
	if err != nil {
		return nil, err
	}

	client, err = dialer.DialToSMTPClientWithContext(ctx)
	if !stopWatching() && err == nil { // conn was closed
		err = ctx.Err()
	}

	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}

		return nil, errors.Join(ctx.Err(), err)
	}

	return client, nil
}

// release keeps a healthy connection for the next message, unless maxIdle connections are idle. It closes
// other connections.
func (s *SMTP) release(c connection, isHealthy bool) {
	c.idleSince = time.Now()
	if isHealthy {
		select {
		case s.idle <- c:
			return
		default:
		}
	}

	c.close()
}

// Close closes the idle connections.
func (s *SMTP) Close() error {
	var closing sync.WaitGroup
	s.closeIdle(func(c connection) { closing.Go(c.quit) })
	closing.Wait()

	return nil
}

// closeIdle calls closeConn for each idle connection.
func (s *SMTP) closeIdle(closeConn func(connection)) {
	for {
		select {
		case c := <-s.idle:
			closeConn(c)
		default:
			return
		}
	}
}

// isClosedByServer reports whether the server had closed the connection before the message was
// sent.
func isClosedByServer(err error) bool {
	failed, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return false
	}

	// The library checks the connection first. Then the server may answer the first command, MAIL FROM,
	// by closing the connection.
	isRefused := failed.Reason == gomail.ErrSMTPMailFrom && failed.ErrorCode() == replyClosing

	return failed.Reason == gomail.ErrConnCheck || isRefused
}

// Reply codes of SMTP (RFC 5321 §4.2.3 and RFC 4954 §6).
const (
	replyClosing      = 421 // the server closes the connection
	replyPermanent    = 500 // the first of the codes for permanent failures
	replyAuthRequired = 530
	replyTooLarge     = 552
)

// anyAddress matches any text around an @: servers write addresses in different forms.
var anyAddress = regexp.MustCompile(`[^\s<>"]+@[^\s<>"]+`)

// redactError returns the error without addresses, which must not be logged.
func redactError(err error) error {
	text := errors.New(anyAddress.ReplaceAllString(oneLine(err.Error()), "(address)"))
	if isPermanent(err) {
		return fmt.Errorf("%w: %w", mail.ErrRefused, text)
	}

	return text
}

// isPermanent reports whether the server rejects this message for good (RFC 5321 §4.2.1). Errors
// of authentication, or before the recipient is sent, are caused by the configuration: they are
// not permanent, and the e-mail is retried.
func isPermanent(err error) bool {
	failed, ok := errors.AsType[*gomail.SendError](err)
	if !ok || failed.ErrorCode() < replyPermanent || failed.ErrorCode() == replyAuthRequired {
		return false
	}

	switch failed.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return true
	case gomail.ErrSMTPMailFrom:
		return failed.ErrorCode() == replyTooLarge
	}

	return false
}

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

const (
	// probing is how long a kept connection has for a sign of life, dialling how
	// long a new one until the server is ready for a message, and sending how
	// long one message may take: all together end before a job does.
	probing  = 2 * time.Second
	dialling = 5 * time.Second
	sending  = 12 * time.Second
	// kept is how many connections wait for the next message, and keptFor how
	// long; servers hang up on who is silent for longer.
	kept    = 4
	keptFor = 20 * time.Second
	// askedFor is how long one sign of life is enough, whoever asks for it.
	askedFor = time.Second
)

// SMTP is the mailer that hands messages to a mail server (RFC 5321).
type SMTP struct {
	writer
	server  server
	session *gomail.Client
	idle    chan connection

	pinging sync.Mutex
	pinged  time.Time
	answer  error
}

// server is where and how to connect.
type server struct {
	host     string
	options  []gomail.Option
	implicit *tls.Config // set if TLS comes before the first word
}

type connection struct {
	*smtp.Client
	since time.Time
}

// NewSMTP makes a mailer for a server. It does not connect.
//
//	smtp://[user:password@]host[:port]   port 587; STARTTLS is demanded
//	smtps://[user:password@]host[:port]  port 465; TLS from the first byte
//
// ?starttls=always|optional|never says otherwise, where a password is never sent
// in the clear; on a loopback address it is optional and the certificate may be
// anybody's. ?ca=FILE names the certificates (PEM) of a private authority.
func NewSMTP(rawURL string, from mail.Address, c clock.Clock) (*SMTP, error) {
	w, err := newWriter(from, c)
	if err != nil {
		return nil, err
	}
	at, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	at.options = append(at.options, gomail.WithHELO(w.host))
	s := &SMTP{writer: w, server: at, idle: make(chan connection, kept)}
	s.session, err = gomail.NewClient(at.host, append(slices.Clone(at.options), gomail.WithTimeout(sending))...)
	return s, err
}

func parse(rawURL string) (server, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		// The parser's words would quote the password.
		return server{}, errors.New("want smtp://USER:PASSWORD@HOST:PORT or smtps://…, with special characters as %XX")
	}
	query := u.Query()
	for name := range query {
		if name != "starttls" && name != "ca" {
			return server{}, fmt.Errorf("unknown parameter %q; there are starttls and ca", name)
		}
	}
	host := u.Hostname()
	loopback := host == "localhost" || net.ParseIP(host).IsLoopback()
	settings, err := trust(host, loopback, query.Get("ca"))
	if err != nil {
		return server{}, err
	}
	at := server{host: host, options: []gomail.Option{gomail.WithTLSConfig(settings)}}
	port, policy := 587, "always"
	if loopback {
		policy = "optional"
	}
	switch policy = cmp.Or(query.Get("starttls"), policy); {
	case u.Scheme == "smtps" && query.Has("starttls"):
		return server{}, errors.New("smtps: is encrypted from the first byte, there is no STARTTLS to ask for")
	case u.Scheme == "smtps":
		// Optional is what makes the library see the encryption that there is.
		port, policy, at.implicit = 465, "optional", settings
	case policies[policy] == nil:
		return server{}, errors.New("starttls: want always, optional or never")
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return server{}, errors.New("the port is not a number from 1 to 65535")
		}
	}
	at.options = append(at.options, policies[policy], gomail.WithPort(port))
	if user := u.User.Username(); user != "" {
		password, _ := u.User.Password()
		method := gomail.SMTPAuthAutoDiscover // takes nothing readable without TLS
		if loopback {
			method = gomail.SMTPAuthPlainNoEnc
		}
		at.options = append(at.options, gomail.WithSMTPAuth(method), gomail.WithUsername(user), gomail.WithPassword(password))
	}
	return at, nil
}

var policies = map[string]gomail.Option{
	"always":   gomail.WithTLSPolicy(gomail.TLSMandatory),
	"optional": gomail.WithTLSPolicy(gomail.TLSOpportunistic),
	"never":    gomail.WithTLSPolicy(gomail.NoTLS),
}

// trust says whose certificate is good.
func trust(host string, loopback bool, file string) (*tls.Config, error) {
	settings := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if file == "" {
		settings.InsecureSkipVerify = loopback // a packet to oneself meets nobody
		return settings, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca: no certificates in %s", file)
	}
	return settings, nil
}

// Send implements mail.Mailer.
func (s *SMTP) Send(ctx context.Context, message mail.Message) error {
	msg, err := s.write(message, false)
	if err != nil {
		return fmt.Errorf("mail %s: %w: %w", message.ID, mail.ErrRefused, err)
	}
	if err := s.deliver(ctx, msg); err != nil {
		return fmt.Errorf("mail %s: %w", message.ID, discreet(err))
	}
	return nil
}

// deliver sends over a kept connection, or over a new one if there is none or
// the server has ended it in the meantime.
func (s *SMTP) deliver(ctx context.Context, msg *gomail.Msg) error {
	for {
		c, fresh, err := s.connect(ctx)
		if err != nil {
			return err
		}
		err = s.over(ctx, c, msg)
		switch {
		case err == nil, msg.IsDelivered(): // what came after the message does not matter
			s.keep(c, err == nil)
			return nil
		case !fresh && ended(err) && ctx.Err() == nil:
			c.end()
			s.drain(connection.end) // the others will have ended with it
			continue
		}
		c.end()
		return err
	}
}

// over sends the message over the connection until ctx ends.
func (s *SMTP) over(ctx context.Context, c connection, msg *gomail.Msg) error {
	defer context.AfterFunc(ctx, c.end)()
	// The library asks whether the server is still there before it allows the
	// answer any time.
	if err := c.UpdateDeadline(probing); err != nil {
		return err
	}
	err := s.session.SendWithSMTPClient(c.Client, msg)
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// Ping reports whether the server lets us in and answers. It is asked once a second
// at most.
func (s *SMTP) Ping(ctx context.Context) error {
	s.pinging.Lock()
	defer s.pinging.Unlock()
	if time.Since(s.pinged) >= askedFor {
		s.answer = s.ask(ctx)
		s.pinged = time.Now()
	}
	return s.answer
}

func (s *SMTP) ask(ctx context.Context) error {
	for {
		c, fresh, err := s.connect(ctx)
		if err != nil {
			return discreet(err)
		}
		hangUp := context.AfterFunc(ctx, c.end)
		if err = c.UpdateDeadline(probing); err == nil {
			err = c.Noop()
		}
		hangUp()
		s.keep(c, err == nil)
		if err == nil || fresh || ctx.Err() != nil {
			return err
		}
	}
}

// end hangs up. The client's own Close would wait for the answer that it is
// waiting for.
func (c connection) end() { _ = c.Text.Close() }

// leave says goodbye, so that the server does not take it for an accident.
func (c connection) leave() {
	if c.UpdateDeadline(probing) == nil && c.Quit() == nil {
		return
	}
	c.end()
}

// connect takes a kept connection or makes one.
func (s *SMTP) connect(ctx context.Context) (c connection, fresh bool, err error) {
	for {
		select {
		case c = <-s.idle:
			if time.Since(c.since) < keptFor {
				return c, false, nil
			}
			go c.leave()
			continue
		default:
		}
		client, err := s.server.dial(ctx)
		return connection{Client: client}, true, err
	}
}

// dial makes a connection that is ready for a message. The library looks at ctx
// and at its time limit for single steps only, and leaves open what it could
// not use.
func (at server) dial(ctx context.Context) (client *smtp.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialling)
	defer cancel()
	var conn net.Conn
	unwatch := func() bool { return true }
	dialler, err := gomail.NewClient(at.host, append(slices.Clone(at.options), gomail.WithTimeout(dialling),
		gomail.WithDialContextFunc(func(step context.Context, network, address string) (net.Conn, error) {
			var err error
			if at.implicit != nil {
				conn, err = (&tls.Dialer{Config: at.implicit}).DialContext(step, network, address)
			} else {
				conn, err = (&net.Dialer{}).DialContext(step, network, address)
			}
			if err == nil {
				unwatch = context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		}))...)
	if err != nil {
		return nil, err
	}
	client, err = dialler.DialToSMTPClientWithContext(ctx)
	if !unwatch() && err == nil {
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

func (s *SMTP) keep(c connection, healthy bool) {
	c.since = time.Now()
	if healthy {
		select {
		case s.idle <- c:
			return
		default:
		}
	}
	c.end()
}

// Close ends the kept connections.
func (s *SMTP) Close() error {
	var all sync.WaitGroup
	s.drain(func(c connection) { all.Go(c.leave) })
	all.Wait()
	return nil
}

func (s *SMTP) drain(each func(connection)) {
	for {
		select {
		case c := <-s.idle:
			each(c)
		default:
			return
		}
	}
}

// ended reports that the server had had enough of the connection before there
// was a message on it.
func ended(err error) bool {
	var failed *gomail.SendError
	return errors.As(err, &failed) &&
		(failed.Reason == gomail.ErrConnCheck || failed.Reason == gomail.ErrSMTPMailFrom && failed.ErrorCode() == 421)
}

// anyAddress is whatever stands on both sides of an @: servers name mailboxes in
// spellings of their own.
var anyAddress = regexp.MustCompile(`[^\s<>"]+@[^\s<>"]+`)

// discreet is what happened, without addresses, which have no place in a log.
func discreet(err error) error {
	text := errors.New(anyAddress.ReplaceAllString(oneLine(err.Error()), "(address)"))
	if final(err) {
		return fmt.Errorf("%w: %w", mail.ErrRefused, text)
	}
	return text
}

// final reports an answer that will be the same next time (RFC 5321 §4.2.1) and
// is about this message and not about us: what a server says before it knows the
// recipient, or of signing in, is ours to mend, and the mail waits for it.
func final(err error) bool {
	var failed *gomail.SendError
	if !errors.As(err, &failed) || failed.ErrorCode() < 500 || failed.ErrorCode() == 530 {
		return false
	}
	switch failed.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return true
	case gomail.ErrSMTPMailFrom:
		return failed.ErrorCode() == 552 // too large
	}
	return false
}

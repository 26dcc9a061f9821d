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
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
)

const (
	// dialling is how long it may take until the server is ready for a message,
	// and sending how long for one message: both together end before a job does.
	dialling = 5 * time.Second
	sending  = 13 * time.Second
	// kept is how many connections wait for the next message, and keptFor how
	// long; servers hang up on who is silent for longer.
	kept    = 4
	keptFor = 20 * time.Second
)

// SMTP is the mailer that hands messages to a mail server (RFC 5321).
type SMTP struct {
	writer
	dial, send *gomail.Client // the same server, with different patience
	idle       chan connection
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
	options, host, err := smtpOptions(rawURL)
	if err != nil {
		return nil, err
	}
	options = append(options, gomail.WithHELO(w.host))
	s := &SMTP{writer: w, idle: make(chan connection, kept)}
	if s.dial, err = gomail.NewClient(host, append(options, gomail.WithTimeout(dialling))...); err != nil {
		return nil, err
	}
	if s.send, err = gomail.NewClient(host, append(options, gomail.WithTimeout(sending))...); err != nil {
		return nil, err
	}
	return s, nil
}

func smtpOptions(rawURL string) ([]gomail.Option, string, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		// The parser's words would quote the password.
		return nil, "", errors.New("want smtp://USER:PASSWORD@HOST:PORT or smtps://…, with special characters as %XX")
	}
	query := u.Query()
	for name := range query {
		if name != "starttls" && name != "ca" {
			return nil, "", fmt.Errorf("unknown parameter %q; there are starttls and ca", name)
		}
	}
	host := u.Hostname()
	loopback := host == "localhost" || net.ParseIP(host).IsLoopback()
	settings := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if file := query.Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, "", fmt.Errorf("ca: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("ca: no certificates in %s", file)
		}
	} else if loopback {
		settings.InsecureSkipVerify = true // a packet to oneself meets nobody
	}
	options := []gomail.Option{gomail.WithTLSConfig(settings)}
	port := 587
	policy := "always"
	if loopback {
		policy = "optional"
	}
	switch policy = cmp.Or(query.Get("starttls"), policy); {
	case u.Scheme == "smtps":
		port = 465
		options = append(options, gomail.WithSSL())
	case policy == "always":
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case policy == "optional":
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	case policy == "never":
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		return nil, "", errors.New("starttls: want always, optional or never")
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return nil, "", errors.New("the port is not a number from 1 to 65535")
		}
	}
	options = append(options, gomail.WithPort(port))
	if user := u.User.Username(); user != "" {
		password, _ := u.User.Password()
		method := gomail.SMTPAuthAutoDiscover // takes nothing readable without TLS
		if loopback {
			method = gomail.SMTPAuthPlainNoEnc
		}
		options = append(options, gomail.WithSMTPAuth(method), gomail.WithUsername(user), gomail.WithPassword(password))
	}
	return options, host, nil
}

// Send implements mail.Mailer.
func (s *SMTP) Send(ctx context.Context, message mail.Message) error {
	msg, err := s.write(message, false)
	if err != nil {
		return fmt.Errorf("mail %s: %w: %w", message.ID, mail.ErrRefused, err)
	}
	if err := s.deliver(ctx, msg); err != nil {
		return fmt.Errorf("mail %s: %w", message.ID, discreet(err, message.To.Email))
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
		case !fresh && reason(err) == gomail.ErrConnCheck:
			_ = c.Close()
			continue
		}
		_ = c.Close()
		return err
	}
}

// over sends the message over the connection until ctx ends.
func (s *SMTP) over(ctx context.Context, c connection, msg *gomail.Msg) error {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	// The library asks whether the server is still there before it allows the
	// answer any time.
	if err := c.UpdateDeadline(dialling); err != nil {
		return err
	}
	err := s.send.SendWithSMTPClient(c.Client, msg)
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// connect takes a kept connection or makes one.
func (s *SMTP) connect(ctx context.Context) (c connection, fresh bool, err error) {
	for {
		select {
		case c = <-s.idle:
			if time.Since(c.since) < keptFor {
				return c, false, nil
			}
			_ = c.Close()
			continue
		default:
		}
		client, err := s.dial.DialToSMTPClientWithContext(ctx)
		return connection{Client: client}, true, err
	}
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
	_ = c.Close()
}

// Close ends the kept connections.
func (s *SMTP) Close() error {
	for {
		select {
		case c := <-s.idle:
			_ = c.Close()
		default:
			return nil
		}
	}
}

func reason(err error) gomail.SendErrReason {
	var failed *gomail.SendError
	if errors.As(err, &failed) {
		return failed.Reason
	}
	return gomail.ErrAmbiguous
}

// discreet is what happened, without the reader's address, which has no place
// in a log. It is mail.ErrRefused if the server's answer is about this message
// (RFC 5321 §4.2.1: 5yz will be the same next time) and not about us.
func discreet(err error, recipient string) error {
	text := errors.New(strings.ReplaceAll(oneLine(err.Error()), recipient, "<recipient>"))
	var failed *gomail.SendError
	if !errors.As(err, &failed) || failed.ErrorCode() < 500 || failed.ErrorCode() == 530 { // 530: sign in first
		return text
	}
	switch failed.Reason {
	case gomail.ErrSMTPMailFrom, gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return fmt.Errorf("%w: %w", mail.ErrRefused, text)
	}
	return text
}

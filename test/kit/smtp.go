package kit

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit/services"
)

// SMTP is a mail server for one test. It stores the e-mails that it accepts.
type SMTP struct {
	// Addr is the HOST:PORT of the server. Stop and Start do not change it.
	Addr string
	// CA is the path of the CA certificate with which clients verify a server with TLS.
	CA string

	t           testing.TB
	configure   func(*SMTP, *smtp.Server)
	implicitTLS *tls.Config // nil if connections begin unencrypted

	mu           sync.Mutex
	server       *smtp.Server
	listener     net.Listener
	hangingConns []net.Conn // connections that Hang has accepted
	accepted     []Mail
	findRefusal  func(stage, address string) *smtp.SMTPError // nil if nothing is refused
	stalledStage string
	stalled      chan struct{} // receives a value for each client that waits
	resumed      chan struct{} // closed by Resume
	recipients   []string      // of all RCPT commands
	sessions     int
	quits        int
}

// NewSMTP starts a server that accepts every e-mail, without TLS.
func NewSMTP(t testing.TB) *SMTP {
	t.Helper()
	return newSMTP(t, nil)
}

// NewSMTPWithTLS starts a server that offers STARTTLS and, if user is not empty,
// accepts e-mails only from this user.
func NewSMTPWithTLS(t testing.TB, user, password string) *SMTP {
	t.Helper()
	const isImplicit = false
	return newSMTPWithTLS(t, user, password, isImplicit)
}

// NewSMTPS starts a server like NewSMTPWithTLS, but with implicit TLS.
func NewSMTPS(t testing.TB, user, password string) *SMTP {
	t.Helper()
	const isImplicit = true
	return newSMTPWithTLS(t, user, password, isImplicit)
}

// newSMTPWithTLS starts a server with a certificate of its own, with implicit TLS or STARTTLS.
func newSMTPWithTLS(t testing.TB, user, password string, isImplicit bool) *SMTP {
	t.Helper()

	certificate, caFile := newCertificate(t)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s := newSMTP(t, func(s *SMTP, server *smtp.Server) {
		if isImplicit {
			s.implicitTLS = config
		}

		server.TLSConfig = config
		server.AllowInsecureAuth = user == ""
		server.Backend = smtp.BackendFunc(func(conn *smtp.Conn) (smtp.Session, error) {
			return &authSession{session: s.newSession(), conn: conn, user: user, password: password}, nil
		})
	})

	s.CA = caFile

	return s
}

// newSMTP starts a server. configure changes its settings at every Start, unless it is nil.
func newSMTP(t testing.TB, configure func(*SMTP, *smtp.Server)) *SMTP {
	t.Helper()

	s := &SMTP{Addr: Address(t), t: t, configure: configure}
	s.Start()
	t.Cleanup(s.Stop)

	return s
}

// URL returns the URL of the server, for the setting mail.url.
func (s *SMTP) URL() string {
	if s.implicitTLS != nil {
		return "smtps://" + s.Addr
	}

	return "smtp://" + s.Addr
}

// Start makes a stopped or hanging server respond again, at the same address.
func (s *SMTP) Start() {
	s.t.Helper()
	s.Stop()

	listener := s.listen()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return s.newSession(), nil }))
	server.Domain = "localhost"
	server.AllowInsecureAuth = true

	server.ErrorLog = log.New(io.Discard, "", 0)
	if s.configure != nil {
		s.configure(s, server)
	}

	s.mu.Lock()
	s.server, s.listener = server, listener
	s.mu.Unlock()

	listener = quitCountingListener{listener, s}
	if s.implicitTLS != nil {
		listener = tls.NewListener(listener, s.implicitTLS)
	}

	go func() { _ = server.Serve(listener) }()
}

// listen listens on the address of the server.
func (s *SMTP) listen() net.Listener {
	s.t.Helper()

	listener, err := services.Listen(s.Addr)
	require.NoError(s.t, err)

	return listener
}

// Stop stops the server and closes its connections.
func (s *SMTP) Stop() {
	s.mu.Lock()
	server, listener, hangingConns := s.server, s.listener, s.hangingConns
	s.server, s.listener, s.hangingConns = nil, nil, nil
	s.mu.Unlock()
	s.Resume()

	if server != nil {
		_ = server.Close()
	}

	if listener != nil { // Serve may not have been called yet: server.Close would not close it
		_ = listener.Close()
	}

	for _, conn := range hangingConns {
		_ = conn.Close()
	}
}

// Hang makes the server accept connections without responding.
func (s *SMTP) Hang() {
	s.t.Helper()
	s.Stop()

	listener := s.listen()
	s.mu.Lock()
	s.listener = listener

	s.mu.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}

			s.mu.Lock()
			s.hangingConns = append(s.hangingConns, conn)
			s.mu.Unlock()
		}
	}()
}

// Refuse makes the server respond with the SMTP code to a command (MAIL, RCPT or DATA) about
// the address, or about every address if it is empty.
func (s *SMTP) Refuse(stage string, code int, address string) {
	s.setRefusal(func(currentStage, currentAddress string) *smtp.SMTPError {
		isOtherAddress := address != "" && address != currentAddress
		if currentStage != stage || isOtherAddress {
			return nil
		}

		return &smtp.SMTPError{
			Code:         code,
			EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1},
			Message:      "not " + currentAddress,
		}
	})
}

// Accept makes the server accept every e-mail again after Refuse.
func (s *SMTP) Accept() { s.setRefusal(nil) }

// setRefusal sets what the server refuses; it may already be serving.
func (s *SMTP) setRefusal(findRefusal func(stage, address string) *smtp.SMTPError) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.findRefusal = findRefusal
}

// Stall makes the server stop responding to a command (MAIL, RCPT or DATA). The channel
// receives a value for every client that waits.
func (s *SMTP) Stall(stage string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.stalledStage = stage
	s.stalled = make(chan struct{}, 100) // more than a test has clients
	s.resumed = make(chan struct{})

	return s.stalled
}

// Resume makes the server respond again after Stall.
func (s *SMTP) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.stalledStage != "" {
		s.stalledStage = ""
		close(s.resumed)
	}
}

// waitWhileStalled waits for Resume if the stage is stalled.
func (s *SMTP) waitWhileStalled(stage string) {
	s.mu.Lock()
	stalledStage, stalled, resumed := s.stalledStage, s.stalled, s.resumed
	s.mu.Unlock()

	if stage == stalledStage {
		stalled <- struct{}{}

		<-resumed
	}
}

// Mails returns the accepted e-mails, oldest first.
func (s *SMTP) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.accepted)
}

// AttemptedRecipients returns the recipients of all RCPT commands, including refused ones.
func (s *SMTP) AttemptedRecipients() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.recipients)
}

// Sessions returns the number of sessions that clients have begun.
func (s *SMTP) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// Quits returns the number of clients that have sent QUIT on unencrypted connections.
func (s *SMTP) Quits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quits
}

// quitCountingListener accepts connections that count QUIT commands. The SMTP library does not
// report these commands.
type quitCountingListener struct {
	net.Listener
	s *SMTP
}

// Accept implements net.Listener.
func (l quitCountingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}

	return quitCountingConn{conn, l.s}, nil
}

// quitCountingConn is a connection that counts the QUIT commands.
type quitCountingConn struct {
	net.Conn
	s *SMTP
}

// Read implements net.Conn.
func (c quitCountingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if string(p[:n]) == "QUIT\r\n" {
		c.s.mu.Lock()
		c.s.quits++
		c.s.mu.Unlock()
	}

	return n, err
}

// session is a connection of a client, with the addresses of the current message.
type session struct {
	s        *SMTP
	from, to string
}

// newSession counts the sessions.
func (s *SMTP) newSession() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++

	return &session{s: s}
}

// checkRefusal waits if the stage is stalled, and then returns the error with which the server
// refuses the command.
func (c *session) checkRefusal(stage, address string) error {
	c.s.waitWhileStalled(stage)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()

	if stage == "RCPT" {
		c.s.recipients = append(c.s.recipients, address)
	}

	if c.s.findRefusal == nil {
		return nil
	}

	if refusal := c.s.findRefusal(stage, address); refusal != nil {
		return refusal
	}

	return nil // not refusal: a nil *smtp.SMTPError is not a nil error
}

// Reset implements smtp.Session.
func (c *session) Reset() { c.from, c.to = "", "" }

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }

// Mail implements smtp.Session.
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	c.from = from
	return c.checkRefusal("MAIL", from)
}

// Rcpt implements smtp.Session.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	return c.checkRefusal("RCPT", to)
}

// Data implements smtp.Session.
func (c *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}

	if err := c.checkRefusal("DATA", c.to); err != nil {
		return err
	}

	m, err := parseMail(raw)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: err.Error()}
	}

	m.From, m.To = c.from, c.to
	c.s.mu.Lock()
	defer c.s.mu.Unlock()

	c.s.accepted = append(c.s.accepted, m)

	return nil
}

// authSession accepts e-mails from one user, who must sign in over TLS. An empty user accepts
// e-mails from every client.
type authSession struct {
	*session
	conn            *smtp.Conn
	user, password  string
	isAuthenticated bool
}

// AuthMechanisms implements smtp.AuthSession.
func (*authSession) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (c *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		_, isEncrypted := c.conn.TLSConnectionState()
		if !isEncrypted || user != c.user || password != c.password {
			return smtp.ErrAuthFailed
		}

		c.isAuthenticated = true

		return nil
	}), nil
}

// Mail implements smtp.Session.
func (c *authSession) Mail(from string, o *smtp.MailOptions) error {
	if c.user != "" && !c.isAuthenticated {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "Authentication required"}
	}

	return c.session.Mail(from, o)
}

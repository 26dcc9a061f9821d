package kit

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit/services"
)

// SMTP is a mail server for one test. It keeps the messages that it accepts.
type SMTP struct {
	// Addr is the address of the server. It remains the same over Stop and
	// Start.
	Addr string
	// CA is a file with the certificate of a server with TLS.
	CA string

	t         testing.TB
	configure func(*SMTP, *smtp.Server)
	implicit  *tls.Config // set if TLS comes before the first word

	mu       sync.Mutex
	server   *smtp.Server
	listener net.Listener
	held     []net.Conn
	got      []Mail
	refusal  func(stage, address string) *smtp.SMTPError
	stall    string
	stalled  chan struct{} // a value for each client that waits
	going    chan struct{} // closed when the waiting ends
	tries    []string
	sessions int
	goodbyes int
}

// NewSMTP starts a server that accepts everything.
func NewSMTP(t testing.TB) *SMTP { t.Helper(); return newSMTP(t, nil) }

// NewSMTPWithTLS starts a server that offers STARTTLS and, if user is not empty,
// accepts mail from this user only.
func NewSMTPWithTLS(t testing.TB, user, password string) *SMTP {
	t.Helper()
	return newSMTPWithTLS(t, user, password, false)
}

// NewSMTPS starts a server like NewSMTPWithTLS with implicit TLS.
func NewSMTPS(t testing.TB, user, password string) *SMTP {
	t.Helper()
	return newSMTPWithTLS(t, user, password, true)
}

func newSMTPWithTLS(t testing.TB, user, password string, implicit bool) *SMTP {
	t.Helper()
	certificate, ca := authority(t)
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s := newSMTP(t, func(self *SMTP, server *smtp.Server) {
		if implicit {
			self.implicit = settings
		}
		server.TLSConfig = settings
		server.AllowInsecureAuth = user == ""
		server.Backend = smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
			plain, err := (&backend{self}).NewSession(c)
			return &authSession{session: plain.(*session), conn: c, user: user, password: password}, err
		})
	})
	s.CA = ca
	return s
}

func newSMTP(t testing.TB, configure func(*SMTP, *smtp.Server)) *SMTP {
	t.Helper()
	s := &SMTP{Addr: Address(t), t: t, configure: configure}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// URL returns the server's address for mail.url.
func (s *SMTP) URL() string {
	if s.implicit != nil {
		return "smtps://" + s.Addr
	}
	return "smtp://" + s.Addr
}

// Start makes a stopped or hanging server respond again, at the same address.
func (s *SMTP) Start() {
	s.t.Helper()
	s.Stop()
	listener := s.listen()
	server := smtp.NewServer(&backend{s})
	server.Domain = "localhost"
	server.AllowInsecureAuth = true
	server.ErrorLog = log.New(io.Discard, "", 0)
	if s.configure != nil {
		s.configure(s, server)
	}
	s.mu.Lock()
	s.server, s.listener = server, listener
	s.mu.Unlock()
	listener = listening{listener, s}
	if s.implicit != nil {
		listener = tls.NewListener(listener, s.implicit)
	}
	go func() { _ = server.Serve(listener) }()
}

func (s *SMTP) listen() net.Listener {
	s.t.Helper()
	listener, err := services.Listen(s.Addr)
	require.NoError(s.t, err)
	return listener
}

// Stop stops the server and closes its connections.
func (s *SMTP) Stop() {
	s.mu.Lock()
	server, listener, held := s.server, s.listener, s.held
	s.server, s.listener, s.held = nil, nil, nil
	s.mu.Unlock()
	s.Go()
	if server != nil {
		_ = server.Close()
	}
	if listener != nil { // the server may not know it yet
		_ = listener.Close()
	}
	for _, c := range held {
		_ = c.Close()
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
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.held = append(s.held, c)
			s.mu.Unlock()
		}
	}()
}

// Refuse makes the server respond with the code at a stage (MAIL, RCPT or DATA)
// to the address, or to all if it is empty.
func (s *SMTP) Refuse(stage string, code int, address string) {
	s.answer(func(at, whose string) *smtp.SMTPError {
		if at != stage || address != "" && address != whose {
			return nil
		}
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: "not " + whose}
	})
}

// Accept ends a Refuse.
func (s *SMTP) Accept() { s.answer(nil) }

// Stall makes the server stop responding at a stage (MAIL, RCPT or DATA). The
// channel receives a value for every client that waits.
func (s *SMTP) Stall(stage string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stall, s.stalled, s.going = stage, make(chan struct{}, 100), make(chan struct{})
	return s.stalled
}

// Go ends a Stall.
func (s *SMTP) Go() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stall != "" {
		s.stall = ""
		close(s.going)
	}
}

func (s *SMTP) wait(stage string) {
	s.mu.Lock()
	stall, stalled, going := s.stall, s.stalled, s.going
	s.mu.Unlock()
	if stall == stage {
		stalled <- struct{}{}
		<-going
	}
}

func (s *SMTP) answer(refusal func(stage, address string) *smtp.SMTPError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = refusal
}

// Mails returns the messages received so far.
func (s *SMTP) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.got...)
}

// Tries returns the recipients that clients sent so far, also refused ones.
func (s *SMTP) Tries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.tries...)
}

// Sessions returns the number of connections so far.
func (s *SMTP) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// Quits returns the number of clients that sent QUIT. Encrypted connections are
// not counted.
func (s *SMTP) Quits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.goodbyes
}

// listening is a listener whose connections count QUIT commands, which the
// library does not report.
type listening struct {
	net.Listener
	s *SMTP
}

// Accept implements net.Listener.
func (l listening) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return heard{c, l.s}, err
}

type heard struct {
	net.Conn
	s *SMTP
}

// Read implements net.Conn.
func (h heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if string(p[:n]) == "QUIT\r\n" {
		h.s.mu.Lock()
		h.s.goodbyes++
		h.s.mu.Unlock()
	}
	return n, err
}

type backend struct{ *SMTP }

// NewSession implements smtp.Backend.
func (b *backend) NewSession(*smtp.Conn) (smtp.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions++
	return &session{s: b.SMTP}, nil
}

type session struct {
	s        *SMTP
	from, to string
}

func (c *session) refused(stage, address string) error {
	c.s.wait(stage)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if stage == "RCPT" {
		c.s.tries = append(c.s.tries, address)
	}
	if c.s.refusal != nil {
		if refusal := c.s.refusal(stage, address); refusal != nil {
			return refusal
		}
	}
	return nil
}

// Reset implements smtp.Session.
func (c *session) Reset() { c.from, c.to = "", "" }

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }

// Mail implements smtp.Session.
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	c.from = from
	return c.refused("MAIL", from)
}

// Rcpt implements smtp.Session.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	return c.refused("RCPT", to)
}

// Data implements smtp.Session.
func (c *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := c.refused("DATA", c.to); err != nil {
		return err
	}
	m, err := parseMail(raw)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: err.Error()}
	}
	m.From, m.To = c.from, c.to
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.got = append(c.s.got, m)
	return nil
}

// authSession accepts mail from one user, over TLS.
type authSession struct {
	*session
	conn           *smtp.Conn
	user, password string
	known          bool
}

// AuthMechanisms implements smtp.AuthSession.
func (*authSession) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (c *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if _, encrypted := c.conn.TLSConnectionState(); !encrypted || user != c.user || password != c.password {
			return smtp.ErrAuthFailed
		}
		c.known = true
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (c *authSession) Mail(from string, o *smtp.MailOptions) error {
	if c.user != "" && !c.known {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "Authentication required"}
	}
	return c.session.Mail(from, o)
}

package gomail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

var _ mail.Mailer = (*SMTP)(nil)

// newMailer returns a mailer for the server with the URL.
func newMailer(t testing.TB, url string) *SMTP {
	t.Helper()

	mailer, err := NewSMTP(url, mail.Address{Name: "Locum", Email: "no-reply@jobs.example.org"}, kit.NewClock())
	require.NoError(t, err)
	t.Cleanup(func() { _ = mailer.Close() })

	return mailer
}

// maxLineBytes is the maximum length of a line of a message without its line end (RFC 5322 §2.1.1).
const maxLineBytes = 998

// testMessage returns a message to the address. Its id is "m-" with the first letter of the address.
func testMessage(to string) mail.Message {
	return mail.Message{
		ID:      "m-" + to[:1],
		To:      mail.Address{Name: "Zoë", Email: to},
		Subject: "News – today",
		Text:    "Hello Zoë,\n.\nthere is news.\n",
		HTML:    "<p>Hello Zoë</p>",
	}
}

// TestSMTP_Message_ArrivesUnchanged checks the texts and the headers of a message that arrives. A line of
// the text is a dot alone, which ends a message in SMTP unless it is escaped. The link in the header
// List-Unsubscribe is long, and arrives in one piece.
func TestSMTP_Message_ArrivesUnchanged(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())

	message := testMessage("zoe@example.org")
	message.ReplyTo = mail.Address{Name: "St. Mary", Email: "jobs@stmary.example"}
	message.Unsubscribe = "https://jobs.example.org/unsubscribe?token=" + strings.Repeat("aB3-", 60)
	require.NoError(t, mailer.Send(t.Context(), message))

	// The texts are those of testMessage, with the line ends of the protocol.
	mails := server.Mails()
	require.Len(t, mails, 1)

	received := mails[0]
	require.Equal(t, "zoe@example.org", received.To)
	require.Equal(t, "no-reply@jobs.example.org", received.From)
	require.Equal(t, "Hello Zoë,\r\n.\r\nthere is news.\r\n", received.Text())
	require.Equal(t, "<p>Hello Zoë</p>", received.Parts["text/html"])

	for name, want := range map[string]string{
		"Message-ID":            "<m-z@jobs.example.org>",
		"Auto-Submitted":        "auto-generated",
		"List-Unsubscribe":      "<" + message.Unsubscribe + ">",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"Reply-To":              `"St. Mary" <jobs@stmary.example>`,
		// The message does not name the program that sent it.
		"User-Agent": "",
		"X-Mailer":   "",
	} {
		require.Equal(t, want, received.Header.Get(name), name)
	}

	for line := range strings.SplitSeq(received.Raw, "\r\n") {
		require.LessOrEqual(t, len(line), maxLineBytes, line)
	}
}

// TestSMTP_LineBreaks_AddNoHeaders checks that line breaks in names and subjects cannot add
// headers, and that those in addresses and links, which cannot be escaped, are refused.
func TestSMTP_LineBreaks_AddNoHeaders(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())

	// A message with line breaks in all names and in the subject is sent, without a header of their content.
	const inject = "x\r\nBcc: everyone@example.org\r\n\r\nbody"
	message := testMessage("a@example.org")
	message.Subject = inject
	message.To.Name = inject
	message.ReplyTo = mail.Address{Name: inject, Email: "b@example.org"}
	require.NoError(t, mailer.Send(t.Context(), message))

	mails := server.Mails()
	require.Len(t, mails, 1)
	require.Empty(t, mails[0].Header.Get("Bcc"))

	// An address and a link with a line break are refused, and nothing more is sent.
	withInvalidAddress := testMessage("a@example.org")
	withInvalidAddress.To.Email = "a@example.org>\r\nRCPT TO:<b@example.org"
	require.ErrorIs(t, mailer.Send(t.Context(), withInvalidAddress), mail.ErrRefused)

	withInvalidLink := testMessage("a@example.org")
	withInvalidLink.Unsubscribe = "https://x\r\nBcc: c@example.org"
	require.ErrorIs(t, mailer.Send(t.Context(), withInvalidLink), mail.ErrRefused)
	require.Len(t, server.Mails(), 1, "only the first message has arrived")
}

// TestSMTP_Connection_IsReused checks that consecutive messages share a connection.
func TestSMTP_Connection_IsReused(t *testing.T) {
	t.Parallel()

	const messages, connections = 3, 1

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())

	for range messages {
		require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	}

	require.Equal(t, connections, server.Sessions())
	require.Len(t, server.Mails(), messages)
}

// TestSMTP_Connection_IsReopened checks that a message is sent over a new connection if the server has
// closed the idle one, and that a message fails only while the server is stopped.
func TestSMTP_Connection_IsReopened(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	send := func() error { return mailer.Send(t.Context(), testMessage("a@example.org")) }

	// The connection is open and idle after a message.
	require.NoError(t, send())

	// While the server is stopped, a message is not sent. Later messages are.
	server.Stop()
	require.Error(t, send())

	server.Start()
	require.NoError(t, send())
	require.NoError(t, send())

	// A restart of the server closes the idle connection, which the mailer does not notice before the next message.
	server.Start()
	require.NoError(t, send())

	const beforeStop, afterStop, afterRestart = 1, 2, 1 // all but the message that was sent during the stop
	require.Len(t, server.Mails(), beforeStop+afterStop+afterRestart)
}

// The mailer reuses the result of its last health check (Ping) for a second. keepPingResult and
// expirePingResult set the time of this check, so that its result is reused or not, whatever the speed
// of the machine.

// keepPingResult lets the mailer reuse the result of the last health check until the end of the test.
func keepPingResult(mailer *SMTP) { mailer.pingedAt = time.Now().Add(time.Hour) }

// expirePingResult lets the mailer make a new health check.
func expirePingResult(mailer *SMTP) { mailer.pingedAt = time.Time{} }

// TestSMTP_Ping_ResultIsReused checks that a health check contacts the server at most once per second,
// whether it succeeds or fails, because servers limit connections.
func TestSMTP_Ping_ResultIsReused(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	requireTimeIsStored := func() {
		t.Helper()
		require.Less(t, time.Since(mailer.pingedAt), time.Minute, "the mailer has stored the time of the check")
	}

	// The server stops after a successful check. The success is reused.
	require.NoError(t, mailer.Ping(t.Context()))
	requireTimeIsStored()
	server.Stop()
	keepPingResult(mailer)
	require.NoError(t, mailer.Ping(t.Context()), "the success of the last check is reused")

	expirePingResult(mailer)
	require.Error(t, mailer.Ping(t.Context()))

	// The server responds again. The failure is reused in the same way.
	requireTimeIsStored()
	server.Start()
	keepPingResult(mailer)
	require.Error(t, mailer.Ping(t.Context()), "the failure of the last check is reused")

	expirePingResult(mailer)
	require.NoError(t, mailer.Ping(t.Context()))
}

// TestSMTP_Ping_UsesTheConnectionOfMessages checks that a health check and a message share a connection,
// and that the check succeeds over a new one if the server has closed the idle one.
func TestSMTP_Ping_UsesTheConnectionOfMessages(t *testing.T) {
	t.Parallel()

	const oneConnection = 1

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	require.NoError(t, mailer.Ping(t.Context()))
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	require.Equal(t, oneConnection, server.Sessions(), "a health check keeps the connection for the next message")

	// A restart of the server closes the idle connection, which the mailer does not notice before the check.
	server.Start()
	expirePingResult(mailer)
	require.NoError(t, mailer.Ping(t.Context()))
}

// TestSMTP_Ping_ServerHangs_EndsWithContext checks that a health check of a server that does not respond
// ends with its context.
func TestSMTP_Ping_ServerHangs_EndsWithContext(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	require.NoError(t, mailer.Ping(t.Context()))

	// The server closes the connection, and accepts a new one without responding.
	server.Hang()
	expirePingResult(mailer)

	shortContext, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	require.Error(t, mailer.Ping(shortContext))
}

// TestSMTP_LoginRefused_PingFails checks that a wrong password is reported before the first
// message, and never logged.
func TestSMTP_LoginRefused_PingFails(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTPWithTLS(t, "locum", "right-horse")
	wrongPassword := newMailer(t, "smtp://locum:wrong-horse@"+server.Addr+"?ca="+server.CA)

	err := wrongPassword.Ping(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "wrong-horse")

	rightPassword := newMailer(t, "smtp://locum:right-horse@"+server.Addr+"?ca="+server.CA)
	require.NoError(t, rightPassword.Ping(t.Context()))
}

// TestSMTP_Close_SendsQuit checks that concurrent messages use a connection each, and that Close ends
// each connection with the command QUIT.
func TestSMTP_Close_SendsQuit(t *testing.T) {
	t.Parallel()

	const messages = 3

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())

	// The server stalls each message at DATA, until all three are in progress.
	waiting := server.Stall("DATA")

	var sent sync.WaitGroup
	for range messages {
		sent.Go(func() { require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org"))) })
	}

	for range messages {
		<-waiting
	}

	server.Resume()
	sent.Wait()
	require.Equal(t, messages, server.Sessions(), "concurrent sends do not wait for each other")

	require.NoError(t, mailer.Close())
	require.Equal(t, messages, server.Quits(), "connections that were ended by QUIT")
}

// TestSMTP_Replies_PermanentOrTemporary checks which replies of the server are final, so that
// the message is not sent again. Only replies about the recipient or the message are: a 5xx
// reply about the sender or the login is a mistake in the configuration, which an operator can
// correct.
func TestSMTP_Replies_PermanentOrTemporary(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		command string // of the mailer, to which the server replies with the code
		code    int
		isFinal bool // whether the error is mail.ErrRefused
	}{
		{command: "MAIL", code: 421, isFinal: false},
		{command: "MAIL", code: 451, isFinal: false},
		{command: "MAIL", code: 530, isFinal: false},
		{command: "MAIL", code: 550, isFinal: false},
		{command: "MAIL", code: 553, isFinal: false},
		{command: "MAIL", code: 552, isFinal: true}, // the message is too large
		{command: "RCPT", code: 450, isFinal: false},
		{command: "RCPT", code: 550, isFinal: true},
		{command: "RCPT", code: 553, isFinal: true},
		{command: "DATA", code: 452, isFinal: false},
		{command: "DATA", code: 554, isFinal: true},
	} {
		t.Run(fmt.Sprint(test.command, " ", test.code), func(t *testing.T) {
			t.Parallel()

			const everyAddress = ""

			server := kit.NewSMTP(t)
			mailer := newMailer(t, server.URL())
			server.Refuse(test.command, test.code, everyAddress)

			err := mailer.Send(t.Context(), testMessage("a@example.org"))
			require.Error(t, err)
			require.Equal(t, test.isFinal, errors.Is(err, mail.ErrRefused))
			require.ErrorContains(t, err, fmt.Sprint(test.code))
			require.NotContains(t, err.Error(), "a@example.org", "addresses stay out of the log")

			// The refusal does not break the mailer.
			server.Accept()
			require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
		})
	}
}

// TestSMTP_SilentServer_TimesOut checks that a server that does not reply does not occupy a task
// worker for longer than a task may take.
func TestSMTP_SilentServer_TimesOut(t *testing.T) {
	t.Parallel()

	// Send a message, so that there is a connection, and let the server be silent.
	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	server.Hang()

	// The next message fails in time, with a temporary error.
	startedAt := time.Now()
	err := mailer.Send(t.Context(), testMessage("a@example.org"))
	require.Error(t, err)
	require.NotErrorIs(t, err, mail.ErrRefused, "the task sends the message again")
	require.Less(t, time.Since(startedAt), task.DefaultTimeout)

	// When the server replies again, messages are sent.
	server.Start()
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
}

// TestSMTP_TLS_IsRequiredAndVerified checks that a certificate that is not trusted, or a server
// without STARTTLS, is an error if TLS is required, and that the password is not in any error.
func TestSMTP_TLS_IsRequiredAndVerified(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTPWithTLS(t, "mailer", "p@ss:word")
	url := "smtp://mailer:p%40ss%3Aword@" + server.Addr // with the password encoded
	send := func(t *testing.T, url string) error {
		t.Helper()
		return newMailer(t, url).Send(t.Context(), testMessage("a@example.org"))
	}

	t.Run("trusted certificate", func(t *testing.T) {
		require.NoError(t, send(t, url+"?starttls=always&ca="+server.CA))
		require.Len(t, server.Mails(), 1)
	})

	t.Run("any certificate on loopback", func(t *testing.T) {
		require.NoError(t, send(t, url), "TLS is optional on loopback")
	})

	t.Run("certificate of another authority", func(t *testing.T) {
		const noUser, noPassword = "", ""

		other := kit.NewSMTPWithTLS(t, noUser, noPassword)
		require.ErrorContains(t, send(t, url+"?starttls=always&ca="+other.CA), "certificate")
	})

	t.Run("wrong password", func(t *testing.T) {
		err := send(t, "smtp://mailer:guess@"+server.Addr+"?ca="+server.CA)
		require.Error(t, err)
		require.NotErrorIs(t, err, mail.ErrRefused, "a wrong password is a temporary error: the mail is retried")
		require.NotContains(t, err.Error(), "guess")
	})

	t.Run("server without STARTTLS", func(t *testing.T) {
		plain := kit.NewSMTP(t)
		require.ErrorContains(t, send(t, plain.URL()+"?starttls=always"), "STARTTLS")
		require.Empty(t, plain.Mails())
	})
}

// TestSMTP_ContextEnds_Returns checks that Send ends with its context at each step of the
// protocol, as at the shutdown of a worker, and that the next message is sent.
func TestSMTP_ContextEnds_Returns(t *testing.T) {
	t.Parallel()

	for _, stage := range []string{"MAIL", "RCPT", "DATA"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()

			server := kit.NewSMTP(t)
			mailer := newMailer(t, server.URL())
			require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))

			// Send a message until the server stalls it, and cancel its context.
			waiting := server.Stall(stage)
			ctx, cancel := context.WithCancel(t.Context())
			outcome := make(chan error, 1)
			startedAt := time.Now()

			go func() { outcome <- mailer.Send(ctx, testMessage("a@example.org")) }()

			<-waiting
			cancel()

			err := <-outcome
			require.ErrorContains(t, err, "context canceled")
			require.NotErrorIs(t, err, mail.ErrRefused)
			require.Less(t, time.Since(startedAt), probeTimeout, "ends with its context, before any timeout of the mailer")

			// The next message is sent.
			server.Resume()
			require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
		})
	}

	// The server accepts the connection, but does not send its greeting.
	t.Run("greeting", func(t *testing.T) {
		t.Parallel()

		server := kit.NewSMTP(t)
		mailer := newMailer(t, server.URL())
		server.Hang()

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()

		startedAt := time.Now()
		err := mailer.Send(ctx, testMessage("a@example.org"))
		require.ErrorContains(t, err, "deadline")
		require.Less(t, time.Since(startedAt), dialTimeout, "ends with its context, before the timeout of the mailer")
	})
}

// TestSMTP_ServiceUnavailable_IsTemporary checks that a server that refuses every client, or is no mail
// server, is a temporary error: the message is not at fault, and is sent again later. The mailer closes
// the connection.
func TestSMTP_ServiceUnavailable_IsTemporary(t *testing.T) {
	t.Parallel()

	// The lines that the server sends: its greeting, and then one after each line of the mailer.
	for name, lines := range map[string][]string{
		"greeting refuses":    {"554 no service today"},
		"EHLO refused":        {"220 hello", "550 who are you", "550 who are you"}, // to EHLO, and then to the older HELO
		"not SMTP":            {"HTTP/1.1 400 Bad Request"},
		"line of 65536 bytes": {strings.Repeat("2", 65536)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			url, disconnected := scriptedServer(t, lines...)
			mailer := newMailer(t, url)
			err := mailer.Send(t.Context(), testMessage("a@example.org"))
			require.Error(t, err)
			require.NotErrorIs(t, err, mail.ErrRefused)
			<-disconnected
		})
	}
}

// TestSMTP_BrokenConnection_IsClosed checks that a connection without the required encryption is
// closed and not kept for the next message.
func TestSMTP_BrokenConnection_IsClosed(t *testing.T) {
	t.Parallel()

	url, disconnected := scriptedServer(t, "220 hello", "250 no encryption here")
	mailer := newMailer(t, url+"?starttls=always")
	require.ErrorContains(t, mailer.Send(t.Context(), testMessage("a@example.org")), "STARTTLS")
	<-disconnected
}

// TestSMTP_ImplicitTLS checks smtps: URLs, where TLS begins with the first byte.
func TestSMTP_ImplicitTLS(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTPS(t, "mailer", "secret")
	url := "smtps://mailer:secret@" + server.Addr

	// With the certificate authority of the server, two messages are sent over one connection.
	mailer := newMailer(t, url+"?ca="+server.CA)
	for range 2 {
		require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	}

	require.Len(t, server.Mails(), 2)
	require.Equal(t, 1, server.Sessions())

	// With the authority of another server, the certificate is refused.
	const noUser, noPassword = "", ""

	other := kit.NewSMTPS(t, noUser, noPassword)
	wrongAuthority := newMailer(t, url+"?ca="+other.CA)
	require.ErrorContains(t, wrongAuthority.Send(t.Context(), testMessage("a@example.org")), "certificate")
}

// TestSMTP_NoTLS_SendsNoPassword checks that a remote server never receives a password without
// encryption, even if an attacker in the path removes STARTTLS from its response. The host is
// remote by name; the connection leads to the scripted server.
func TestSMTP_NoTLS_SendsNoPassword(t *testing.T) {
	t.Parallel()

	for _, policy := range []string{"optional", "never"} {
		mailer := newMailer(t, "smtp://mailer:secret@relay.example.org?starttls="+policy)

		// Connect the mailer to a server on this machine that offers a login without encryption. The server sends its
		// greeting and the reply to EHLO, and then nothing more, so that it would wait for the login.
		url, disconnected := scriptedServer(t, "220 hello", "250-relay\r\n250 AUTH PLAIN LOGIN")
		mailer.server.options = append(mailer.server.options, gomail.WithPort(portOf(t, url)))
		mailer.server.host = "127.0.0.1"

		err := mailer.Send(t.Context(), testMessage("a@example.org"))
		require.Error(t, err, policy)
		require.NotErrorIs(t, err, mail.ErrRefused, policy)
		<-disconnected
	}
}

// TestSMTP_InternationalAddress_IsSent checks that the domain of an address is encoded for
// servers and calendars that know ASCII only.
func TestSMTP_InternationalAddress_IsSent(t *testing.T) {
	t.Parallel()

	const (
		address = "asha@klinik-münchen.example"
		encoded = "asha@xn--klinik-mnchen-3ob.example" // RFC 3492
	)

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	require.NoError(t, mailer.Send(t.Context(), testMessage(address)))

	mails := server.Mails()
	require.Len(t, mails, 1)
	require.Equal(t, encoded, mails[0].To)
	require.Contains(t, mails[0].Header.Get("To"), "<"+encoded+">")

	_, calendar := mailer.calendar(mail.Invite{Attendee: mail.Address{Email: address}})
	unfolded := strings.ReplaceAll(calendar, "\r\n ", "") // a long line continues after a line break and a space
	require.Contains(t, unfolded, ":mailto:"+encoded+"\r\n")
}

// TestSMTP_URL_IsParsed checks the default port and the default policy: TLS is mandatory except
// on loopback.
func TestSMTP_URL_IsParsed(t *testing.T) {
	t.Parallel()

	const implicitTLS = "TLS from the first byte"
	for url, want := range map[string]struct{ address, encryption string }{
		"smtp://mail.example.org":             {address: "mail.example.org:587", encryption: "TLSMandatory"},
		"smtps://u:p@mail.example.org":        {address: "mail.example.org:465", encryption: implicitTLS},
		"smtp://mail.example.org:25":          {address: "mail.example.org:25", encryption: "TLSMandatory"},
		"smtp://127.0.0.1:1025":               {address: "127.0.0.1:1025", encryption: "TLSOpportunistic"},
		"smtp://relay:2525?starttls=optional": {address: "relay:2525", encryption: "TLSOpportunistic"},
		"smtp://relay:2525?starttls=never":    {address: "relay:2525", encryption: "NoTLS"},
	} {
		mailer := newMailer(t, url)

		encryption := mailer.session.TLSPolicy()
		if mailer.server.implicit != nil {
			encryption = implicitTLS
		}

		require.Equal(t, want.address, mailer.session.ServerAddr(), url)
		require.Equal(t, want.encryption, encryption, url)
	}
}

// TestSMTP_InvalidURL_IsRefused checks that mistakes in a URL are errors at the start, which do not contain the password.
func TestSMTP_InvalidURL_IsRefused(t *testing.T) {
	t.Parallel()

	const password = "se cret"

	for _, url := range []string{
		"smtp://",
		"smtp:relay",
		"smtp://relay:0",
		"smtp://relay?starttls=maybe",
		"smtp://relay?tls=1",
		"smtps://relay?starttls=never",
		"smtp://relay?ca=/does/not/exist",
		"smtp://u:" + password + "@[relay",
	} {
		_, err := NewSMTP(url, mail.Address{Email: "a@example.org"}, kit.NewClock())
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), password, url)
	}
}

// TestSMTP_Conformance runs the suite for mailers, with outages of the server.
func TestSMTP_Conformance(t *testing.T) {
	t.Parallel()

	// open returns a mailer, and a function that returns the messages that have arrived.
	open := func(t testing.TB) (mailer mail.Mailer, sentMessages func() []string) {
		server := kit.NewSMTP(t)
		sentMessages = func() (raw []string) {
			for _, m := range server.Mails() {
				raw = append(raw, m.Raw)
			}

			return raw
		}

		return newMailer(t, server.URL()), sentMessages
	}

	// openWithOutages returns a mailer, and functions that stop and start its server.
	openWithOutages := func(t testing.TB) (mailer mail.Mailer, beginOutage, endOutage func()) {
		server := kit.NewSMTP(t)
		return newMailer(t, server.URL()), server.Stop, server.Start
	}

	conformance.Mailer(t, open, openWithOutages)
}

// scriptedServer starts a mail server for one client. It sends the first line as its greeting, and each
// further one after a line of the client. Then it only reads. The returned channel is closed when the
// client disconnects.
func scriptedServer(t *testing.T, lines ...string) (url string, disconnected chan struct{}) {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })

	disconnected = make(chan struct{})
	go func() {
		defer close(disconnected)

		conn, err := listener.Accept()
		if err != nil {
			return
		}

		defer func() { _ = conn.Close() }()

		commands := bufio.NewReader(conn)
		for _, line := range lines {
			if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
				return
			}

			if _, err := commands.ReadString('\n'); err != nil {
				return
			}
		}

		_, _ = io.Copy(io.Discard, commands)
	}()

	return "smtp://" + listener.Addr().String(), disconnected
}

// portOf returns the port at the end of a URL.
func portOf(t *testing.T, url string) int {
	t.Helper()

	afterLastColon := url[strings.LastIndex(url, ":")+1:]
	port, err := strconv.Atoi(afterLastColon)
	require.NoError(t, err)

	return port
}

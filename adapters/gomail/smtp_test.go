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

// testMessage returns a message. Its id is m- and the first letter of the address.
func testMessage(to string) mail.Message {
	return mail.Message{
		ID:      "m-" + to[:1],
		To:      mail.Address{Name: "Zoë", Email: to},
		Subject: "News – today",
		Text:    "Hello Zoë,\n.\nthere is news.\n",
		HTML:    "<p>Hello Zoë</p>",
	}
}

// TestSMTP_Message_ArrivesUnchanged checks the text, in which a line is a dot alone, and the
// headers of a message. A long link is not broken.
func TestSMTP_Message_ArrivesUnchanged(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	message := testMessage("zoe@example.org")
	message.ReplyTo = mail.Address{Name: "St. Mary", Email: "jobs@stmary.example"}
	message.Unsubscribe = "https://jobs.example.org/unsubscribe?token=" + strings.Repeat("aB3-", 60)
	require.NoError(t, mailer.Send(t.Context(), message))

	mails := server.Mails()
	require.Len(t, mails, 1)
	require.Equal(t, "zoe@example.org", mails[0].To)
	require.Equal(t, "no-reply@jobs.example.org", mails[0].From)
	require.Equal(t, "Hello Zoë,\r\n.\r\nthere is news.\r\n", mails[0].Text())
	require.Equal(t, "<p>Hello Zoë</p>", mails[0].Parts["text/html"])

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
		require.Equal(t, want, mails[0].Header.Get(name), name)
	}

	for line := range strings.SplitSeq(mails[0].Raw, "\r\n") {
		require.LessOrEqual(t, len(line), 998, "RFC 5322 §2.1.1")
	}
}

// TestSMTP_LineBreaks_AddNoHeaders checks that line breaks in names and subjects cannot add
// headers, and that those in addresses and links, which cannot be escaped, are refused.
func TestSMTP_LineBreaks_AddNoHeaders(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
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
	message.To.Email = "a@example.org>\r\nRCPT TO:<b@example.org"
	require.ErrorIs(t, mailer.Send(t.Context(), message), mail.ErrRefused)

	message = testMessage("a@example.org")
	message.Unsubscribe = "https://x\r\nBcc: c@example.org"
	require.ErrorIs(t, mailer.Send(t.Context(), message), mail.ErrRefused)
	require.Len(t, server.Mails(), 1)
}

// TestSMTP_Connection_IsReusedAndReopened checks that messages share a connection, and that a
// message is sent over a new one if the server has closed it.
func TestSMTP_Connection_IsReusedAndReopened(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)

	mailer := newMailer(t, server.URL())
	for range 3 {
		require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	}

	require.Equal(t, 1, server.Sessions())
	server.Stop()
	require.Error(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	server.Start()
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	server.Start() // closes the idle connection, which the mailer does not notice
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	// Six messages have arrived: all but the one that was sent while the server was stopped.
	require.Len(t, server.Mails(), 6)
}

// TestSMTP_Ping_IsCached checks that a health check contacts the server at most once per second,
// whether it succeeds or fails, because servers limit connections, and that it reuses the
// connection of messages.
func TestSMTP_Ping_IsCached(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())

	// These functions set the time of the last check, so that the test does not depend on the
	// speed of the machine.
	keepLastResult := func() { mailer.pingedAt = time.Now().Add(time.Hour) }
	expireLastResult := func() { mailer.pingedAt = time.Time{} }

	require.NoError(t, mailer.Ping(t.Context()))
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	require.Equal(t, 1, server.Sessions(), "a health check keeps the connection for the next message")
	server.Stop()
	require.Less(t, time.Since(mailer.pingedAt), time.Minute)
	keepLastResult()
	require.NoError(t, mailer.Ping(t.Context()), "the result of the last check is reused")
	expireLastResult()
	require.Error(t, mailer.Ping(t.Context()))
	server.Start()
	require.Less(t, time.Since(mailer.pingedAt), time.Minute)
	keepLastResult()
	require.Error(t, mailer.Ping(t.Context()), "the failure of the last check is reused")
	expireLastResult()
	require.NoError(t, mailer.Ping(t.Context()))
	server.Start() // closes the idle connection, which the mailer does not notice
	expireLastResult()
	require.NoError(t, mailer.Ping(t.Context()))
	server.Hang()
	expireLastResult()

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

// TestSMTP_Close_SendsQuit checks that three concurrent messages use three connections, and that
// Close ends each of them properly.
func TestSMTP_Close_SendsQuit(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	// The server stalls each message at DATA, until all three are in progress.
	waiting := server.Stall("DATA")

	var sent sync.WaitGroup
	for range 3 {
		sent.Go(func() { require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org"))) })
	}

	for range 3 {
		<-waiting
	}

	server.Resume()
	sent.Wait()
	require.Equal(t, 3, server.Sessions(), "concurrent sends do not wait for each other")
	require.NoError(t, mailer.Close())
	require.Equal(t, 3, server.Quits())
}

// TestSMTP_Replies_PermanentOrTemporary checks which replies of the server are final, so that
// the message is not sent again. Only replies about the recipient or the message are: a 5xx
// reply about the sender or the login is a mistake in the configuration, which an operator can
// correct.
func TestSMTP_Replies_PermanentOrTemporary(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		command string
		code    int
		isFinal bool
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

			server := kit.NewSMTP(t)
			mailer := newMailer(t, server.URL())
			server.Refuse(test.command, test.code, "")

			err := mailer.Send(t.Context(), testMessage("a@example.org"))
			require.Error(t, err)
			require.Equal(t, test.isFinal, errors.Is(err, mail.ErrRefused))
			require.ErrorContains(t, err, fmt.Sprint(test.code))
			require.NotContains(t, err.Error(), "a@example.org", "addresses stay out of the log")
			server.Accept()
			require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
		})
	}
}

// TestSMTP_SilentServer_TimesOut checks that a server that does not reply does not occupy a task
// worker for longer than a task may take.
func TestSMTP_SilentServer_TimesOut(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	server.Hang()

	startedAt := time.Now()
	err := mailer.Send(t.Context(), testMessage("a@example.org"))
	require.Error(t, err)
	require.NotErrorIs(t, err, mail.ErrRefused)
	require.Less(t, time.Since(startedAt), task.DefaultTimeout)
	server.Start()
	require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
}

// TestSMTP_TLS_IsRequiredAndVerified checks that a certificate that is not trusted, or a server
// without STARTTLS, is an error if TLS is required, and that the password is not in any error.
func TestSMTP_TLS_IsRequiredAndVerified(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTPWithTLS(t, "mailer", "p@ss:word")
	url := "smtp://mailer:p%40ss%3Aword@" + server.Addr
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
		other := kit.NewSMTPWithTLS(t, "", "")
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
			// Send ends because of its context, and not because of a timeout of the mailer.
			require.Less(t, time.Since(startedAt), probeTimeout)
			server.Resume()
			require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
		})
	}

	t.Run("greeting", func(t *testing.T) {
		t.Parallel()

		server := kit.NewSMTP(t)
		mailer := newMailer(t, server.URL())
		server.Hang()

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()

		startedAt := time.Now()

		require.ErrorContains(t, mailer.Send(ctx, testMessage("a@example.org")), "deadline")
		require.Less(t, time.Since(startedAt), dialTimeout)
	})
}

// TestSMTP_ServiceUnavailable_IsTemporary checks that a server that refuses every client, or is
// no mail server, is a temporary error: the message is not at fault. The connection is closed.
func TestSMTP_ServiceUnavailable_IsTemporary(t *testing.T) {
	t.Parallel()

	for name, lines := range map[string][]string{
		"greeting refuses":    {"554 no service today"},
		"EHLO refused":        {"220 hello", "550 who are you", "550 who are you"}, // and HELO
		"not SMTP":            {"HTTP/1.1 400 Bad Request"},
		"line of 65536 bytes": {strings.Repeat("2", 1<<16)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			url, disconnected := scriptedServer(t, lines...)
			err := newMailer(t, url).Send(t.Context(), testMessage("a@example.org"))
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
	require.ErrorContains(t, newMailer(t, url+"?starttls=always").Send(t.Context(), testMessage("a@example.org")), "STARTTLS")
	<-disconnected
}

// TestSMTP_ImplicitTLS checks smtps: URLs, where TLS begins with the first byte.
func TestSMTP_ImplicitTLS(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTPS(t, "mailer", "secret")
	url := "smtps://mailer:secret@" + server.Addr

	mailer := newMailer(t, url+"?ca="+server.CA)
	for range 2 {
		require.NoError(t, mailer.Send(t.Context(), testMessage("a@example.org")))
	}

	require.Len(t, server.Mails(), 2)
	require.Equal(t, 1, server.Sessions())

	other := kit.NewSMTPS(t, "", "")
	require.ErrorContains(t, newMailer(t, url+"?ca="+other.CA).Send(t.Context(), testMessage("a@example.org")), "certificate")
}

// TestSMTP_NoTLS_SendsNoPassword checks that a remote server never receives a password without
// encryption, even if an attacker in the path removes STARTTLS from its response. The host is
// remote by name; the connection leads to the scripted server.
func TestSMTP_NoTLS_SendsNoPassword(t *testing.T) {
	t.Parallel()

	for _, policy := range []string{"optional", "never"} {
		mailer := newMailer(t, "smtp://mailer:secret@relay.example.org?starttls="+policy)
		url, disconnected := scriptedServer(t, "220 hello", "250-relay\r\n250 AUTH PLAIN LOGIN")
		mailer.server.options = append(mailer.server.options, gomail.WithPort(portOf(t, url)))
		mailer.server.host = "127.0.0.1"
		err := mailer.Send(t.Context(), testMessage("a@example.org"))
		require.Error(t, err)
		require.NotErrorIs(t, err, mail.ErrRefused)
		<-disconnected
	}
}

// TestSMTP_InternationalAddress_IsSent checks that the domain of an address is encoded for
// servers and calendars that know ASCII only.
func TestSMTP_InternationalAddress_IsSent(t *testing.T) {
	t.Parallel()

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())
	require.NoError(t, mailer.Send(t.Context(), testMessage("asha@klinik-münchen.example")))

	mails := server.Mails()
	require.Len(t, mails, 1)
	require.Equal(t, "asha@xn--klinik-mnchen-3ob.example", mails[0].To)
	require.Contains(t, mails[0].Header.Get("To"), "<asha@xn--klinik-mnchen-3ob.example>")

	_, calendar := mailer.calendar(mail.Invite{Attendee: mail.Address{Email: "asha@klinik-münchen.example"}})
	require.Contains(t, strings.ReplaceAll(calendar, "\r\n ", ""), ":mailto:asha@xn--klinik-mnchen-3ob.example\r\n")
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

// TestSMTP_InvalidURL_IsRefused checks that the error does not contain the password, here
// "se cret".
func TestSMTP_InvalidURL_IsRefused(t *testing.T) {
	t.Parallel()

	for _, url := range []string{
		"smtp://",
		"smtp:relay",
		"smtp://relay:0",
		"smtp://relay?starttls=maybe",
		"smtp://relay?tls=1",
		"smtps://relay?starttls=never",
		"smtp://relay?ca=/does/not/exist",
		"smtp://u:se cret@[relay",
	} {
		_, err := NewSMTP(url, mail.Address{Email: "a@example.org"}, kit.NewClock())
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "se cret")
	}
}

// TestSMTP_Conformance runs the suite for mailers, with outages of the server.
func TestSMTP_Conformance(t *testing.T) {
	t.Parallel()

	open := func(t testing.TB) (mailer mail.Mailer, sentMessages func() []string) {
		server := kit.NewSMTP(t)

		return newMailer(t, server.URL()), func() (raw []string) {
			for _, m := range server.Mails() {
				raw = append(raw, m.Raw)
			}

			return raw
		}
	}

	openWithOutages := func(t testing.TB) (mailer mail.Mailer, beginOutage, endOutage func()) {
		server := kit.NewSMTP(t)
		return newMailer(t, server.URL()), server.Stop, server.Start
	}

	conformance.Mailer(t, open, openWithOutages)
}

// scriptedServer is a mail server that sends the lines, each after a line of the client,
// and then only reads. The returned channel is closed when the client disconnects.
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

	port, err := strconv.Atoi(url[strings.LastIndex(url, ":")+1:])
	require.NoError(t, err)

	return port
}

package smtpmail_test

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/outsider/smtpmail"
	"example.org/outsider/smtpmail/smtptest"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/test/conformance"
)

// message is a message without HTML.
var message = mail.Message{ID: "1", To: mail.Address{Email: "nobody@example.org"}, Text: "Hello"}

// open opens a mailer on a new server.
func open(t testing.TB) (mail.Mailer, *smtptest.Server) {
	t.Helper()

	server := smtptest.NewServer(t)
	mailer, err := smtpmail.Open(t.Context(), "relay://"+server.Addr,
		mail.Address{Name: "Jobs", Email: "no-reply@jobs.example.org"}, adapters.Deps{Clock: clock.System{}})
	require.NoError(t, err)

	return mailer, server
}

// TestMailer_Conformance runs the suite for mailers.
func TestMailer_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Mailer(t, func(t testing.TB) (mail.Mailer, func() []string) {
		mailer, server := open(t)
		return mailer, server.Messages
	})
}

// TestSend_Refusal_IsFinalForRecipientAndMessage checks which replies mean that the message must
// not be sent again: 5xx replies to the recipient or the message, but not those that concern the
// sender or the login (530), which an operator can correct.
func TestSend_Refusal_IsFinalForRecipientAndMessage(t *testing.T) {
	t.Parallel()

	mailer, server := open(t)
	for _, reply := range []struct {
		command string
		code    int
		final   bool
	}{
		{command: smtptest.Rcpt, code: 550, final: true},
		{command: smtptest.End, code: 554, final: true},
		{command: smtptest.Rcpt, code: 451, final: false},
		{command: smtptest.Rcpt, code: 530, final: false},
		{command: smtptest.End, code: 452, final: false},
		{command: smtptest.Mail, code: 550, final: false},
	} {
		server.Refuse(reply.command, reply.code)

		err := mailer.Send(t.Context(), message)
		require.Error(t, err)
		require.Equal(t, reply.final, errors.Is(err, mail.ErrRefused), "%s %d: %v", reply.command, reply.code, err)
	}

	require.Empty(t, server.Messages())
}

// TestSend_NoSTARTTLS_OnlyToLoopback checks that messages are never sent to another machine
// without encryption.
func TestSend_NoSTARTTLS_OnlyToLoopback(t *testing.T) {
	t.Parallel()

	server := smtptest.NewServer(t)
	_, port, err := net.SplitHostPort(server.Addr)
	require.NoError(t, err)

	// 0.0.0.0 is this machine, but not a loopback address.
	mailer, err := smtpmail.Open(t.Context(), "relay://0.0.0.0:"+port,
		mail.Address{Email: "no-reply@jobs.example.org"}, adapters.Deps{Clock: clock.System{}})
	require.NoError(t, err)

	err = mailer.Send(t.Context(), message)
	require.ErrorContains(t, err, "does not offer STARTTLS")
	require.NotErrorIs(t, err, mail.ErrRefused)
	require.Empty(t, server.Messages())
}

func TestOpen_NoPort_Fails(t *testing.T) {
	t.Parallel()

	_, err := smtpmail.Open(t.Context(), "relay://mail", mail.Address{}, adapters.Deps{})
	require.ErrorContains(t, err, "want relay://HOST:PORT")
}

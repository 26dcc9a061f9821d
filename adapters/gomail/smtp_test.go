package gomail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/test/kit"
)

var _ mail.Mailer = (*SMTP)(nil)

func sender(t *testing.T, url string) *SMTP {
	t.Helper()
	m, err := NewSMTP(url, mail.Address{Name: "Locum", Email: "no-reply@jobs.example.org"}, kit.NewClock())
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func note(to string) mail.Message {
	return mail.Message{ID: "m-" + to[:1], To: mail.Address{Name: "Zoë", Email: to}, Subject: "News – today", Text: "Hello Zoë,\n.\nthere is news.\n", HTML: "<p>Hello Zoë</p>"}
}

func TestAMessageArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	server := kit.NewSMTP(t)
	m := sender(t, server.URL())
	message := note("zoe@example.org")
	message.ReplyTo = mail.Address{Name: "St. Mary", Email: "jobs@stmary.example"}
	message.Unsubscribe = "https://jobs.example.org/unsubscribe?token=" + strings.Repeat("aB3-", 60)
	require.NoError(t, m.Send(t.Context(), message))
	got := server.Mails()
	require.Len(t, got, 1)
	require.Equal(t, "zoe@example.org", got[0].To)
	require.Equal(t, "no-reply@jobs.example.org", got[0].From)
	require.Equal(t, "Hello Zoë,\r\n.\r\nthere is news.\r\n", got[0].Text())
	require.Equal(t, "<p>Hello Zoë</p>", got[0].Parts["text/html"])
	for name, want := range map[string]string{
		"Message-ID": "<m-z@jobs.example.org>", "Auto-Submitted": "auto-generated",
		"List-Unsubscribe": "<" + message.Unsubscribe + ">", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"User-Agent": "", "X-Mailer": "", "Reply-To": `"St. Mary" <jobs@stmary.example>`,
	} {
		require.Equal(t, want, got[0].Header.Get(name), name)
	}
	for line := range strings.SplitSeq(got[0].Raw, "\r\n") {
		require.LessOrEqual(t, len(line), 998)
	}
}

func TestNothingTypedBecomesAHeaderOnTheWire(t *testing.T) {
	t.Parallel()
	server := kit.NewSMTP(t)
	m := sender(t, server.URL())
	const inject = "x\r\nBcc: everyone@example.org\r\n\r\nbody"
	message := note("a@example.org")
	message.Subject, message.To.Name, message.ReplyTo = inject, inject, mail.Address{Name: inject, Email: "b@example.org"}
	require.NoError(t, m.Send(t.Context(), message))
	got := server.Mails()
	require.Len(t, got, 1)
	require.Empty(t, got[0].Header.Get("Bcc"))
	message.To.Email = "a@example.org>\r\nRCPT TO:<b@example.org"
	require.ErrorIs(t, m.Send(t.Context(), message), mail.ErrRefused)
	message = note("a@example.org")
	message.Unsubscribe = "https://x\r\nBcc: c@example.org"
	require.ErrorIs(t, m.Send(t.Context(), message), mail.ErrRefused)
	require.Len(t, server.Mails(), 1)
}

func TestMessagesShareAConnectionWhichIsMadeAgainWhenItIsGone(t *testing.T) {
	t.Parallel()
	server := kit.NewSMTP(t)
	m := sender(t, server.URL())
	for range 3 {
		require.NoError(t, m.Send(t.Context(), note("a@example.org")))
	}
	require.Equal(t, 1, server.Sessions())
	server.Stop()
	require.Error(t, m.Send(t.Context(), note("a@example.org")))
	server.Start()
	require.NoError(t, m.Send(t.Context(), note("a@example.org")))
	require.NoError(t, m.Send(t.Context(), note("a@example.org")))
	server.Start() // again: the kept connection is dead and nobody noticed
	require.NoError(t, m.Send(t.Context(), note("a@example.org")))
	require.Len(t, server.Mails(), 6)
}

func TestOnlyAPermanentAnswerAboutTheMessageIsForGood(t *testing.T) {
	t.Parallel()
	for stage, codes := range map[string]map[int]bool{
		"MAIL": {451: false, 530: false, 552: true},
		"RCPT": {450: false, 550: true, 553: true},
		"DATA": {452: false, 554: true},
	} {
		for code, final := range codes {
			t.Run(fmt.Sprint(stage, " ", code), func(t *testing.T) {
				t.Parallel()
				server := kit.NewSMTP(t)
				m := sender(t, server.URL())
				server.Refuse(stage, code, "")
				err := m.Send(t.Context(), note("a@example.org"))
				require.Error(t, err)
				if final {
					require.ErrorIs(t, err, mail.ErrRefused)
				} else {
					require.NotErrorIs(t, err, mail.ErrRefused)
				}
				require.ErrorContains(t, err, fmt.Sprint(code))
				require.NotContains(t, err.Error(), "a@example.org", "addresses stay out of the log")
				server.Accept()
				require.NoError(t, m.Send(t.Context(), note("a@example.org")))
			})
		}
	}
}

func TestAServerThatSaysNothingIsGivenUpBeforeTheJobEnds(t *testing.T) {
	t.Parallel()
	server := kit.NewSMTP(t)
	m := sender(t, server.URL())
	require.NoError(t, m.Send(t.Context(), note("a@example.org")))
	server.Hang()
	begun := time.Now()
	err := m.Send(t.Context(), note("a@example.org"))
	require.Error(t, err)
	require.NotErrorIs(t, err, mail.ErrRefused)
	require.Less(t, time.Since(begun), job.Longest)
	server.Start()
	require.NoError(t, m.Send(t.Context(), note("a@example.org")))
}

func TestTLSIsDemandedAndTheServersNameChecked(t *testing.T) {
	t.Parallel()
	server := kit.NewSMTPWithTLS(t, "mailer", "p@ss:word")
	as := "smtp://mailer:p%40ss%3Aword@" + server.Addr
	require.NoError(t, sender(t, as+"?starttls=always&ca="+server.CA).Send(t.Context(), note("a@example.org")))
	require.Len(t, server.Mails(), 1)
	require.NoError(t, sender(t, as).Send(t.Context(), note("a@example.org")), "to oneself: encrypted where offered, by whomever")

	other := kit.NewSMTPWithTLS(t, "", "")
	require.ErrorContains(t, sender(t, as+"?starttls=always&ca="+other.CA).Send(t.Context(), note("a@example.org")), "certificate")

	err := sender(t, strings.Replace(as, "word", "guess", 1)+"?ca="+server.CA).Send(t.Context(), note("a@example.org"))
	require.Error(t, err)
	require.NotErrorIs(t, err, mail.ErrRefused, "a wrong password is ours to mend, and the mail waits for it")
	require.NotContains(t, err.Error(), "guess")

	plain := kit.NewSMTP(t)
	require.ErrorContains(t, sender(t, plain.URL()+"?starttls=always").Send(t.Context(), note("a@example.org")), "STARTTLS")
	require.Empty(t, plain.Mails())
}

func TestTheAddressOfAServerIsRead(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"smtp://mail.example.org":             "mail.example.org:587 TLSMandatory",
		"smtps://u:p@mail.example.org":        "mail.example.org:465 NoTLS", // of STARTTLS: there is nothing to start
		"smtp://mail.example.org:25":          "mail.example.org:25 TLSMandatory",
		"smtp://127.0.0.1:1025":               "127.0.0.1:1025 TLSOpportunistic",
		"smtp://relay:2525?starttls=optional": "relay:2525 TLSOpportunistic",
		"smtp://relay:2525?starttls=never":    "relay:2525 NoTLS",
	} {
		m := sender(t, url)
		got := m.dial.ServerAddr() + " " + m.dial.TLSPolicy()
		if strings.HasPrefix(url, "smtps:") {
			got = m.dial.ServerAddr() + " NoTLS"
		}
		require.Equal(t, want, got, url)
	}
	for _, bad := range []string{"smtp://", "smtp:relay", "smtp://relay:0", "smtp://relay?starttls=maybe", "smtp://relay?tls=1", "smtp://relay?ca=/does/not/exist", "smtp://u:se cret@[relay"} {
		_, err := NewSMTP(bad, mail.Address{Email: "a@example.org"}, kit.NewClock())
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "se cret")
	}
}

package conformance

import (
	"context"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/mail"
)

// Mailer checks the port mail.Mailer. open returns a mailer and a function that returns
// the messages that were accepted, as they were sent (RFC 5322).
func Mailer(
	t *testing.T, open func(t testing.TB) (m mail.Mailer, accepted func() []string), outage ...Outage[mail.Mailer],
) {
	suite := mailerSuite{open, outage}
	t.Run("text and HTML", suite.textAndHTML)
	t.Run("only text", suite.onlyText)
	t.Run("message sent again has the same Message-ID", suite.messageSentAgainHasTheSameMessageID)
	t.Run("reply address and unsubscribe link", suite.replyAddressAndUnsubscribeLink)
	t.Run("line breaks do not add headers", suite.lineBreaksDoNotAddHeaders)
	t.Run("invitation", suite.invitation)
	withOutage(t, "mail.Mailer", suite.outage, suite.duringOutage)
	t.Run("cancelled call", suite.cancelledCall)
}

// mailerSuite has the subtests of Mailer.
type mailerSuite struct {
	open   func(t testing.TB) (m mail.Mailer, accepted func() []string)
	outage []Outage[mail.Mailer]
}

// start opens a mailer. It returns a function that sends a message, and one that returns the last message that was
// accepted, parsed by parseMessage.
func (suite mailerSuite) start(t *testing.T) (send func(mail.Message) error, last func() received) {
	t.Helper()
	t.Parallel()

	mailer, accepted := suite.open(t)
	requirePort(t, "mail.Mailer", mailer)

	return func(message mail.Message) error { return mailer.Send(t.Context(), message) }, func() received {
		t.Helper()

		all := accepted()
		require.NotEmpty(t, all, "no message was accepted")

		return parseMessage(t, all[len(all)-1])
	}
}

// message returns a message with a line that contains only a dot, which ends a message in SMTP
// unless it is escaped.
func (suite mailerSuite) message() mail.Message {
	return mail.Message{
		ID:      newID(),
		To:      mail.Address{Name: "Zoë", Email: "zoe@example.org"},
		Subject: "News – today",
		Text:    "Hello Zoë,\n.\nthere is news.\n",
		HTML:    "<p>Hello Zoë</p>",
	}
}

// textAndHTML checks that a message arrives with both parts, its text and its HTML, and without the headers that it does
// not set. The text has a line with a single dot, which would end the message in SMTP if the mailer did not escape the
// dot.
func (suite mailerSuite) textAndHTML(t *testing.T) {
	send, last := suite.start(t)
	require.NoError(t, send(suite.message()))

	// The subject and the address have letters that are encoded in headers.
	got := last()
	require.Equal(t, "News – today", got.subject(t))

	to, err := got.AddressList("To")
	require.NoError(t, err)
	require.Equal(t, []*netmail.Address{{Name: "Zoë", Address: "zoe@example.org"}}, to)
	require.Equal(t, "Hello Zoë,\n.\nthere is news.\n", got.parts["text/plain"])
	require.Equal(t, "<p>Hello Zoë</p>", strings.TrimSpace(got.parts["text/html"]))

	for _, name := range []string{"Reply-To", "List-Unsubscribe", "List-Unsubscribe-Post"} {
		require.Empty(t, got.Get(name), name)
	}
}

// onlyText checks that a message without HTML has no empty HTML part.
func (suite mailerSuite) onlyText(t *testing.T) {
	send, last := suite.start(t)
	message := suite.message()
	message.HTML = ""
	require.NoError(t, send(message))

	got := last()
	require.Equal(t, message.Text, got.parts["text/plain"])
	require.NotContains(t, got.parts, "text/html")
}

// messageSentAgainHasTheSameMessageID checks that the Message-ID depends on the id of the
// message only, so that mail servers recognize a message that was sent twice.
func (suite mailerSuite) messageSentAgainHasTheSameMessageID(t *testing.T) {
	send, last := suite.start(t)
	first, other := suite.message(), suite.message()

	ids := map[string]bool{}
	for _, message := range []mail.Message{first, first, other} {
		require.NoError(t, send(message))

		id := last().Get("Message-Id")
		require.Regexp(t, `^<[^<>@ ]+@[^<>@ ]+>$`, id)

		ids[id] = true
	}

	require.Len(t, ids, 2, "one of the first message, which was sent twice, and one of the other")
}

// replyAddressAndUnsubscribeLink checks the header for the reply address and those for one-click unsubscription (RFC
// 8058). The link is longer than a line and must not be broken.
func (suite mailerSuite) replyAddressAndUnsubscribeLink(t *testing.T) {
	send, last := suite.start(t)
	message := suite.message()
	message.ReplyTo = mail.Address{Name: "St. Mary", Email: "jobs@stmary.example"}
	message.Unsubscribe = "https://jobs.example.org/unsubscribe?token=" + strings.Repeat("aB3-", 60)
	require.NoError(t, send(message))

	got := last()
	reply, err := got.AddressList("Reply-To")
	require.NoError(t, err)
	require.Equal(t, "jobs@stmary.example", reply[0].Address)
	require.Equal(t, "<"+message.Unsubscribe+">", got.Get("List-Unsubscribe"))
	require.Equal(t, "List-Unsubscribe=One-Click", got.Get("List-Unsubscribe-Post"))
}

// lineBreaksDoNotAddHeaders checks that texts of users cannot add headers or recipients to a message. Line breaks in the
// subject or a name add no header, and a message with a line break in an address is refused.
func (suite mailerSuite) lineBreaksDoNotAddHeaders(t *testing.T) {
	send, last := suite.start(t)
	const inject = "x\r\nBcc: everyone@example.org\r\n\r\nbody"
	message := suite.message()
	message.Subject = inject
	message.To.Name = inject
	message.ReplyTo = mail.Address{Name: inject, Email: "b@example.org"}
	require.NoError(t, send(message))
	require.Empty(t, last().Get("Bcc"))

	message.To.Email = "a@example.org>\r\nRCPT TO:<b@example.org"
	require.ErrorIs(t, send(message), mail.ErrRefused)
}

// invitation checks the calendar part of a message that invites to an interview or cancels it (RFC 5545). Commas and
// semicolons of its texts are escaped.
func (suite mailerSuite) invitation(t *testing.T) {
	send, last := suite.start(t)
	at := time.Date(2026, 3, 17, 10, 30, 0, 0, time.UTC)
	message := suite.message()

	message.Invite = &mail.Invite{
		UID:       newID(),
		Sequence:  2,
		Start:     at,
		End:       at.Add(time.Hour),
		Summary:   "Interview; ward 3, Leeds",
		Location:  "Leeds",
		Organizer: mail.Address{Name: "St. Mary", Email: "jobs@stmary.example"},
		Attendee:  message.To,
		Stamp:     at,
	}
	for _, method := range []string{"REQUEST", "CANCEL"} {
		message.Invite.Cancelled = method == "CANCEL"
		require.NoError(t, send(message))

		// Long lines are folded: the next line begins with a space.
		calendar := strings.ReplaceAll(last().parts["text/calendar"], "\n ", "")
		for _, line := range []string{"METHOD:" + method, "SEQUENCE:2", "DTSTART:20260317T103000Z", `SUMMARY:Interview\; ward 3\, Leeds`} {
			require.Contains(t, calendar, line+"\n")
		}

		require.Contains(t, calendar, "UID:"+message.Invite.UID)
		require.Contains(t, strings.ToLower(calendar), "mailto:zoe@example.org")
	}
}

// duringOutage checks that sending a message fails in time while the mail server is unavailable. The error is not
// ErrRefused, after which callers do not send the message again.
func (suite mailerSuite) duringOutage(t *testing.T, mailer mail.Mailer, begin, end func()) {
	send := func() error { return mailer.Send(t.Context(), suite.message()) }
	require.NoError(t, send(), "before the outage")
	begin()

	err := requireTimelyError(t, send)
	require.NotErrorIs(t, err, mail.ErrRefused, "the message has to be sent again")
	end()
	waitForRecovery(t, send)
}

// cancelledCall checks that no message is sent with a context that is cancelled.
func (suite mailerSuite) cancelledCall(t *testing.T) {
	t.Parallel()

	mailer, accepted := suite.open(t)
	requirePort(t, "mail.Mailer", mailer)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, mailer.Send(ctx, suite.message()))
	require.Empty(t, accepted())
}

// received is a message with the headers as they were sent, and with its decoded parts by their media types. Line breaks
// in parts are \n.
type received struct {
	netmail.Header
	parts map[string]string
}

// subject returns the decoded subject.
func (r received) subject(t testing.TB) string {
	t.Helper()

	subject, err := new(mime.WordDecoder).DecodeHeader(r.Get("Subject"))
	require.NoError(t, err)

	return subject
}

// parseMessage parses a message in the format of RFC 5322.
func parseMessage(t testing.TB, raw string) received {
	t.Helper()

	message, err := netmail.ReadMessage(strings.NewReader(raw))
	require.NoError(t, err)

	parsed := received{message.Header, map[string]string{}}
	parsed.read(t, message.Header.Get("Content-Type"), message.Header.Get("Content-Transfer-Encoding"), message.Body)

	return parsed
}

// read adds a part, or the parts of a multipart message, to r.parts.
func (r received) read(t testing.TB, contentType, encoding string, body io.Reader) {
	t.Helper()

	kind, params, err := mime.ParseMediaType(contentType)
	require.NoError(t, err)

	if strings.HasPrefix(kind, "multipart/") {
		for parts := multipart.NewReader(body, params["boundary"]); ; {
			part, err := parts.NextRawPart()
			if err == io.EOF {
				return
			}

			require.NoError(t, err)
			r.read(t, part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part)
		}
	}

	switch strings.ToLower(encoding) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}

	content, err := io.ReadAll(body)
	require.NoError(t, err)

	r.parts[kind] = strings.ReplaceAll(string(content), "\r\n", "\n")
}

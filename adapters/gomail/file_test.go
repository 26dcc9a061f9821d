package gomail

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/test/kit"
)

var _ mail.Mailer = (*Files)(nil)

// newFileMailer returns a mailer that writes messages to files of a new folder, with its clock and its
// log. The folder does not exist yet.
func newFileMailer(t *testing.T) (mailer *Files, clk *kit.Clock, log *bytes.Buffer) {
	t.Helper()

	clk, log = kit.NewClock(), new(bytes.Buffer)
	dir := filepath.Join(t.TempDir(), "data", "mail")
	sender := mail.Address{Name: "Locum", Email: "no-reply@jobs.example.org"}

	mailer, err := NewFiles(dir, sender, clk, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)

	return mailer, clk, log
}

// sentMessages returns the files of the messages in the order of their names, and their
// contents.
func sentMessages(t *testing.T, mailer *Files) (paths, contents []string) {
	t.Helper()

	paths, err := filepath.Glob(filepath.Join(mailer.dir, "*"))
	require.NoError(t, err)

	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)

		contents = append(contents, string(content))
	}

	return paths, contents
}

// TestFile_Message_IsReadable checks the file of a message. Developers read it in an editor and copy the
// link from it, so that the text is not encoded. A mail program can read it as well. The name of the file
// begins with the time, so that the newest file is the last, and only the user can read it.
func TestFile_Message_IsReadable(t *testing.T) {
	t.Parallel()

	mailer, _, log := newFileMailer(t)
	link := "https://jobs.example.org/verify?token=" + strings.Repeat("aB3-", 40) + "&next=%2F"
	require.NoError(t, mailer.Send(context.Background(), mail.Message{
		ID:      "0195a1b2-0000-7000-8000-000000000001",
		To:      mail.Address{Name: "Zoë O'Neil", Email: "zoe@example.org"},
		ReplyTo: mail.Address{Name: `St. "Mary" <x>`, Email: "jobs@stmary.example"},
		Subject: "Confirm your address – today",
		Text:    "Hello Zoë,\n\n" + link + "\n.\nFrom us\n",
	}))

	// The name of the file begins with the time of the clock and the id, and the log contains it.
	paths, contents := sentMessages(t, mailer)
	require.Len(t, paths, 1)

	path, raw := paths[0], contents[0]
	require.Regexp(t, `^20260317T103000\.000000Z-0195a1b2-0000-7000-8000-000000000001-\w{6}\.eml$`, filepath.Base(path))
	require.Contains(t, log.String(), path)
	require.NotContains(t, log.String(), "zoe@", "addresses stay out of the log")

	const onlyUserReads = os.FileMode(0o600)

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, onlyUserReads, info.Mode().Perm())

	// Developers can copy the link from the file.
	require.Contains(t, raw, "\r\n"+link+"\r\n", "links are not wrapped")
	require.NotRegexp(t, `[^\r]\n`, raw, "each line ends with CR LF")

	// A mail program reads the header and the body as they were sent.
	msg, err := netmail.ReadMessage(strings.NewReader(raw))
	require.NoError(t, err)

	header := msg.Header
	require.Equal(t, "<0195a1b2-0000-7000-8000-000000000001@jobs.example.org>", header.Get("Message-ID"))
	require.Equal(t, "auto-generated", header.Get("Auto-Submitted"))
	require.Equal(t, "text/plain; charset=UTF-8", header.Get("Content-Type"))
	require.Equal(t, "1.0", header.Get("MIME-Version"))
	require.Empty(t, header.Get("User-Agent"), "the message does not name the program that sent it")
	require.Empty(t, header.Get("X-Mailer"))

	date, err := header.Date()
	require.NoError(t, err)
	require.True(t, date.Equal(mailer.clock.Now()), "the date is %v", date)

	for name, want := range map[string]netmail.Address{
		"From":     {Name: "Locum", Address: "no-reply@jobs.example.org"},
		"To":       {Name: "Zoë O'Neil", Address: "zoe@example.org"},
		"Reply-To": {Name: `St. "Mary" <x>`, Address: "jobs@stmary.example"},
	} {
		addresses, err := header.AddressList(name)
		require.NoError(t, err, name)
		require.Equal(t, []*netmail.Address{&want}, addresses, name)
	}

	subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "Confirm your address – today", subject)

	body, err := io.ReadAll(msg.Body)
	require.NoError(t, err)
	require.Equal(t, "Hello Zoë,\r\n\r\n"+link+"\r\n.\r\nFrom us\r\n", string(body))
}

// TestFile_LineBreaks_AddNoHeaders checks that line breaks in names and subjects, which users choose,
// cannot add headers or recipients (header injection). An id that looks like a path does not lead out of
// the folder. Line ends of the text become CR LF.
func TestFile_LineBreaks_AddNoHeaders(t *testing.T) {
	t.Parallel()

	mailer, _, _ := newFileMailer(t)

	const inject = "x\r\nBcc: everyone@example.org\r\n\r\nbody"
	require.NoError(t, mailer.Send(context.Background(), mail.Message{
		ID:      "../../etc/" + inject,
		To:      mail.Address{Name: inject, Email: "a@example.org"},
		ReplyTo: mail.Address{Name: inject, Email: "b@example.org"},
		Subject: inject,
		Text:    "plain\rold\r\ntext\n",
	}))

	_, contents := sentMessages(t, mailer)
	require.Len(t, contents, 1, "the id does not lead out of the directory")

	msg, err := netmail.ReadMessage(strings.NewReader(contents[0]))
	require.NoError(t, err)
	require.Empty(t, msg.Header.Get("Bcc"))

	body, err := io.ReadAll(msg.Body)
	require.NoError(t, err)
	require.Equal(t, "plain\r\nold\r\ntext\r\n", string(body))
}

// TestFile_InvalidAddress_IsRefused checks that a message to an invalid address is refused and leaves no
// file, and that an invalid address of the sender is an error at the start.
func TestFile_InvalidAddress_IsRefused(t *testing.T) {
	t.Parallel()

	mailer, _, _ := newFileMailer(t)
	for _, address := range []string{
		"",
		"no address",
		"a@example.org\r\nBcc: b@example.org", // with another header
		"a@example.org, b@example.org",        // two addresses
	} {
		// As the recipient.
		err := mailer.Send(context.Background(), mail.Message{ID: "x", To: mail.Address{Email: address}})
		require.ErrorIs(t, err, mail.ErrRefused, address)
		require.NotContains(t, err.Error(), "example.org", "addresses stay out of the log")

		// As the sender.
		_, err = NewFiles(t.TempDir(), mail.Address{Email: address}, mailer.clock, slog.Default())
		require.Error(t, err, address)
	}

	paths, _ := sentMessages(t, mailer)
	require.Empty(t, paths, "files of the refused messages")
}

// TestFile_LongLines_AreIntact checks that a text with a line above the maximum of RFC 5322 is
// encoded and arrives unchanged.
func TestFile_LongLines_AreIntact(t *testing.T) {
	t.Parallel()

	mailer, _, _ := newFileMailer(t)
	text := strings.Repeat("é", 3*maxLineBytes) + "\r\nend"
	message := mail.Message{ID: "x", To: mail.Address{Email: "a@example.org"}, Text: text}
	require.NoError(t, mailer.Send(context.Background(), message))

	_, contents := sentMessages(t, mailer)
	require.Len(t, contents, 1)

	raw := contents[0]
	for line := range strings.SplitSeq(raw, "\r\n") {
		require.LessOrEqual(t, len(line), maxLineBytes, line)
	}

	msg, err := netmail.ReadMessage(strings.NewReader(raw))
	require.NoError(t, err)

	body, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	require.NoError(t, err)
	require.Equal(t, text, strings.TrimRight(string(body), "\r\n"))
}

// TestFile_SentAgain_KeepsMessageID checks that a message that is sent again has the same
// Message-ID, by which mail programs recognize duplicates, and a file of its own.
func TestFile_SentAgain_KeepsMessageID(t *testing.T) {
	t.Parallel()

	// Send a message several times at once.
	const times = 20

	mailer, clk, _ := newFileMailer(t)
	message := mail.Message{ID: "z", To: mail.Address{Email: "a@example.org"}, Subject: "s", Text: "t"}

	var sends sync.WaitGroup
	for range times {
		sends.Go(func() { require.NoError(t, mailer.Send(context.Background(), message)) })
	}

	sends.Wait()

	// Send another message later. Its id sorts before that of the first message.
	clk.Advance(time.Microsecond)

	later := message
	later.ID = "a"
	require.NoError(t, mailer.Send(context.Background(), later))

	paths, contents := sentMessages(t, mailer)
	require.Len(t, paths, times+1)

	// The copies are first in the order of the file names, and the other message is the last.
	first, lastCopy, newest := contents[0], contents[times-1], contents[times]
	require.Contains(t, first, "Message-ID: <z@jobs.example.org>")
	require.Equal(t, first, lastCopy, "all copies are the same")
	require.Contains(t, newest, "Message-ID: <a@jobs.example.org>", "file names sort by time")
}

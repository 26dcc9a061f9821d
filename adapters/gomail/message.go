// Package gomail sends e-mail with go-mail: to a mail server or, for installations without a
// mail server, into files that e-mail programs can open.
package gomail

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"regexp"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
)

// writer creates messages in the format of RFC 5322.
type writer struct {
	from  *netmail.Address
	host  string // of the sender's address, for Message-IDs
	clock clock.Clock
}

// newWriter returns a writer for messages of the sender.
func newWriter(from mail.Address, c clock.Clock) (writer, error) {
	sender, err := address(from)
	if err != nil {
		return writer{}, fmt.Errorf("sender: %w", err)
	}

	_, host, _ := strings.Cut(sender.Address, "@")

	return writer{from: sender, host: host, clock: c}, nil
}

// write creates the message. If plain is set, its parts are not encoded where RFC 5322 permits
// that, so that links in a file can be copied.
func (w writer) write(message mail.Message, plain bool) (*gomail.Msg, error) {
	text, html := toCRLF(message.Text), toCRLF(message.HTML)

	encoding := gomail.EncodingQP
	if plain && isValidUnencoded(text) && isValidUnencoded(html) {
		encoding = gomail.NoEncoding
	}

	msg := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())

	to, err := address(message.To)
	if err != nil {
		return nil, err
	}

	msg.FromMailAddress(w.from)
	msg.ToMailAddress(to)

	if message.ReplyTo.Email != "" {
		replyTo, err := address(message.ReplyTo)
		if err != nil {
			return nil, err
		}

		msg.ReplyToMailAddress(replyTo)
	}

	msg.SetDateWithValue(w.clock.Now())
	msg.SetMessageIDWithValue(plainID(message.ID) + "@" + w.host)

	// RFC 3834 §5: suppresses out-of-office replies.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")

	if message.Unsubscribe != "" {
		endsURL := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '>' }
		if strings.ContainsFunc(message.Unsubscribe, endsURL) {
			return nil, errors.New("not a URL to unsubscribe at")
		}

		msg.SetGenHeaderPreformatted("List-Unsubscribe", "<"+message.Unsubscribe+">")
		msg.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click") // RFC 8058 §3.1
	}

	msg.Subject(oneLine(message.Subject))
	msg.SetBodyString(gomail.TypeTextPlain, text)

	if html != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, html)
	}

	if message.Invite != nil {
		// Programs prefer the last alternative that they support (RFC 2046 §5.1.4). RFC
		// 6047 requires folded lines and forbids quoted-printable.
		method, calendar := w.calendar(*message.Invite)
		contentType := gomail.ContentType("text/calendar; method=" + method)
		msg.AddAlternativeString(contentType, calendar, gomail.WithPartEncoding(gomail.EncodingB64))
	}

	return msg, nil
}

// address parses a plain mailbox. The name is user input and must not end the header.
func address(a mail.Address) (*netmail.Address, error) {
	parsed, err := netmail.ParseAddress(a.Email)
	if err != nil || parsed.Address != a.Email {
		return nil, errors.New("not a plain e-mail address") // the log must not contain addresses
	}

	parsed.Name = oneLine(a.Name)

	// All servers support the ASCII form of a domain (RFC 5891), but few the Unicode form.
	local, domain, _ := strings.Cut(parsed.Address, "@")
	if ascii, err := idna.Lookup.ToASCII(domain); err == nil {
		parsed.Address = local + "@" + ascii
	}

	return parsed, nil
}

// oneLine returns the text without characters that any program treats as a line break.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return ' '
		}

		return r
	}, s))
}

// safeID matches ids of letters, digits, hyphens and underscores, with single dots between them.
var safeID = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// plainID returns the id if it is valid in a file name and to the left of the @ of a
// Message-ID, and otherwise a hash of it.
func plainID(id string) string {
	const maxLength = 100
	if len(id) <= maxLength && safeID.MatchString(id) {
		return id
	}

	sum := sha256.Sum256([]byte(id))

	return hex.EncodeToString(sum[:16])
}

// toCRLF returns the text with the line ends of e-mail, whatever ends its lines.
func toCRLF(text string) string {
	return strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(text)
}

// isValidUnencoded reports whether the text may be sent without encoding (RFC 5322 §2.1.1).
func isValidUnencoded(text string) bool {
	const maxLine = 998 // bytes, without the line end
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > maxLine || strings.ContainsRune(line, 0) {
			return false
		}
	}

	return true
}

// Package filemail writes each e-mail as a file that a mail program or a text
// editor opens. It is the mailer of a service that has no mail server yet.
package filemail

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
)

// Mailer implements mail.Mailer.
type Mailer struct {
	dir   string
	from  *netmail.Address
	host  string
	clock clock.Clock
	log   *slog.Logger
}

// New makes a mailer that writes into dir, which it makes, in the name of from.
func New(dir string, from mail.Address, c clock.Clock, log *slog.Logger) (*Mailer, error) {
	sender, err := address(from)
	if err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	_, host, _ := strings.Cut(sender.Address, "@")
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	// Mails hold links that sign people in.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Mailer{dir: dir, from: sender, host: host, clock: c, log: log}, nil
}

// Send implements mail.Mailer.
func (m *Mailer) Send(ctx context.Context, message mail.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	msg, err := m.build(message)
	if err != nil {
		return fmt.Errorf("mail %s: %w", message.ID, err)
	}
	path := filepath.Join(m.dir, m.clock.Now().Format("20060102T150405.000000Z")+"-"+fileSafe(message.ID)+"-"+rand.Text()[:6]+".eml")
	if err := write(path, msg); err != nil {
		return fmt.Errorf("mail %s: %w", message.ID, err)
	}
	m.log.InfoContext(ctx, "mail written", "path", path)
	return nil
}

func (m *Mailer) build(message mail.Message) (*gomail.Msg, error) {
	// 8bit and not quoted-printable, so that links stand in the file as they are.
	text, encoding := crlf(message.Text), gomail.NoEncoding
	if !fits(text) {
		encoding = gomail.EncodingQP
	}
	msg := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())
	to, err := address(message.To)
	if err != nil {
		return nil, err
	}
	msg.FromMailAddress(m.from)
	msg.ToMailAddress(to)
	if message.ReplyTo.Email != "" {
		replyTo, err := address(message.ReplyTo)
		if err != nil {
			return nil, err
		}
		msg.ReplyToMailAddress(replyTo)
	}
	msg.SetDateWithValue(m.clock.Now())
	msg.SetMessageIDWithValue(fileSafe(message.ID) + "@" + m.host)
	// RFC 3834 §5: no out-of-office answers, please.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.Subject(message.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, text)
	return msg, nil
}

// address takes one plain mailbox. A name may be anything that a person typed
// into a form; what it may not do is end the header.
func address(a mail.Address) (*netmail.Address, error) {
	parsed, err := netmail.ParseAddress(a.Email)
	if err != nil {
		return nil, err
	}
	if parsed.Address != a.Email {
		return nil, errors.New("not a plain e-mail address")
	}
	parsed.Name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, a.Name))
	return parsed, nil
}

func write(path string, msg *gomail.Msg) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".part-") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part.Name()) }()
	_, err = msg.WriteTo(part)
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

var safe = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// fileSafe is the id where that can stand in a file name and to the left of
// the @ of a Message-ID, and else something of that kind that stands for it.
func fileSafe(id string) string {
	if len(id) <= 100 && safe.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func crlf(text string) string {
	return strings.ReplaceAll(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n", "\r\n")
}

// fits tells whether the text may go unencoded (RFC 5322 §2.1.1).
func fits(text string) bool {
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 998 || strings.ContainsRune(line, 0) {
			return false
		}
	}
	return true
}

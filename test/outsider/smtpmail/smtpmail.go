// Package smtpmail sends mail through a relay with net/smtp and a connection for each
// message. It does not sign in. The connection is encrypted with STARTTLS; a relay on
// a loopback address need not offer it. For a provider with an HTTP API, replace deliver.
package smtpmail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
)

// timeout is the longest that the delivery of a message takes.
const timeout = 15 * time.Second

// Mailer implements mail.Mailer and adapters.Pinger.
type Mailer struct {
	server string // HOST:PORT of the relay
	from   netmail.Address
	domain string // of from, for Message-IDs
	clock  clock.Clock
}

// Open opens a mailer for relay://HOST:PORT. It is a bootstrap.MailerOpener.
func Open(_ context.Context, address string, from mail.Address, d adapters.Deps) (mail.Mailer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Port() == "" {
		return nil, errors.New("want relay://HOST:PORT")
	}

	_, domain, _ := strings.Cut(from.Email, "@")

	return &Mailer{server: u.Host, from: netmail.Address{Name: from.Name, Address: from.Email}, domain: domain, clock: d.Clock}, nil
}

// Ping implements adapters.Pinger.
func (m *Mailer) Ping(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.server)
	if err != nil {
		return err
	}

	return conn.Close()
}

// Send implements mail.Mailer.
func (m *Mailer) Send(ctx context.Context, message mail.Message) error {
	to, err := netmail.ParseAddress(message.To.Email)
	if err != nil || to.Address != message.To.Email {
		return fmt.Errorf("%w: invalid recipient", mail.ErrRefused)
	}

	raw, err := m.format(message)
	if err != nil {
		return err
	}

	return m.deliver(ctx, to.Address, raw)
}

// refused adds mail.ErrRefused, with which a message is not tried again, to the answer of the server to a
// recipient or a message if the answer is final (5xx). 530 is about a setting: the server wants a sign-in.
func refused(err error) error {
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code >= 500 && answer.Code != 530 {
		return fmt.Errorf("%w: %w", mail.ErrRefused, err)
	}

	return err
}

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// deliver sends one message. Mail leaves this machine only encrypted.
func (m *Mailer) deliver(ctx context.Context, to string, raw []byte) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.server)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()

	host, _, _ := net.SplitHostPort(m.server)

	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return errors.Join(err, conn.Close())
	}

	defer func() {
		if err != nil {
			err = cmp.Or(ctx.Err(), err) // the end of ctx has closed the connection, which is another error
		}

		_ = client.Close()
	}()

	switch isOffered, _ := client.Extension("STARTTLS"); {
	case isOffered:
		if err := client.StartTLS(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}); err != nil {
			return err
		}
	case !isLoopback(host):
		return fmt.Errorf("%s does not offer STARTTLS", m.server)
	}

	if err := client.Mail(m.from.Address); err != nil {
		return err
	}

	if err := client.Rcpt(to); err != nil {
		return refused(err)
	}

	data, err := client.Data()
	if err != nil {
		return err
	}

	if _, err := data.Write(raw); err != nil {
		return err
	}

	if err := data.Close(); err != nil {
		return refused(err)
	}

	_ = client.Quit() // an error changes nothing: the message is accepted

	return nil
}

// format writes the message (RFC 5322) with its alternatives, the preferred one last.
func (m *Mailer) format(message mail.Message) ([]byte, error) {
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, oneLine(value)) }
	sum := sha256.Sum256([]byte(message.ID))

	header("From", m.from.String())
	header("To", mailbox(message.To))

	if message.ReplyTo.Email != "" {
		header("Reply-To", mailbox(message.ReplyTo))
	}

	header("Subject", mime.QEncoding.Encode("utf-8", oneLine(message.Subject)))
	header("Date", m.clock.Now().Format(time.RFC1123Z))
	header("Message-ID", "<"+hex.EncodeToString(sum[:16])+"@"+m.domain+">")
	header("Auto-Submitted", "auto-generated")

	if message.Unsubscribe != "" {
		header("List-Unsubscribe", "<"+message.Unsubscribe+">")
		header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}

	parts := multipart.NewWriter(&b)

	header("MIME-Version", "1.0")
	header("Content-Type",
		mime.FormatMediaType("multipart/alternative", map[string]string{"boundary": parts.Boundary()}))
	b.WriteString("\r\n")

	errs := []error{writeText(parts, "text/plain", message.Text)}
	if message.HTML != "" {
		errs = append(errs, writeText(parts, "text/html", message.HTML))
	}

	if message.Invite != nil {
		errs = append(errs, writeInvite(parts, *message.Invite))
	}

	err := errors.Join(append(errs, parts.Close())...)

	return b.Bytes(), err
}

// writeText adds a part of text to the message.
func writeText(parts *multipart.Writer, kind, text string) error {
	w, err := parts.CreatePart(textproto.MIMEHeader{
		"Content-Type": {kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"},
	})
	if err != nil {
		return err
	}

	q := quotedprintable.NewWriter(w)
	_, err = q.Write([]byte(text))

	return errors.Join(err, q.Close())
}

// writeInvite writes an appointment (RFC 5545) as a part of an invitation (RFC 6047).
func writeInvite(parts *multipart.Writer, i mail.Invite) error {
	const layout = "20060102T150405Z"

	method, status := "REQUEST", "CONFIRMED"
	if i.Cancelled {
		method, status = "CANCEL", "CANCELLED"
	}

	lines := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//outsider//smtpmail//EN", "METHOD:" + method, "BEGIN:VEVENT",
		"UID:" + i.UID, fmt.Sprint("SEQUENCE:", i.Sequence), "STATUS:" + status,
		"DTSTAMP:" + i.Stamp.UTC().Format(layout), "DTSTART:" + i.Start.UTC().Format(layout), "DTEND:" + i.End.UTC().Format(layout),
		"SUMMARY:" + escape(i.Summary), "LOCATION:" + escape(i.Location), "DESCRIPTION:" + escape(i.Description),
		"ORGANIZER:mailto:" + oneLine(i.Organizer.Email), "ATTENDEE;RSVP=TRUE:mailto:" + oneLine(i.Attendee.Email),
		"END:VEVENT", "END:VCALENDAR", "",
	}

	w, err := parts.CreatePart(textproto.MIMEHeader{
		"Content-Type": {"text/calendar; charset=utf-8; method=" + method}, "Content-Transfer-Encoding": {"base64"},
	})
	if err != nil {
		return err
	}

	// Lines of base64 have at most 76 characters, which encode 57 bytes.
	for line := range slices.Chunk([]byte(strings.Join(lines, "\r\n")), 57) {
		if _, err := fmt.Fprintf(w, "%s\r\n", base64.StdEncoding.EncodeToString(line)); err != nil {
			return err
		}
	}

	return nil
}

// escape writes a text of a calendar (RFC 5545 §3.3.11).
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(s)
}

// mailbox returns the address in the form of a header: a name and an address in angle brackets.
func mailbox(a mail.Address) string {
	return (&netmail.Address{Name: oneLine(a.Name), Address: oneLine(a.Email)}).String()
}

// oneLine replaces line breaks, which would begin another header.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

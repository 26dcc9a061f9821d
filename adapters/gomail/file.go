package gomail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	gomail "github.com/wneessen/go-mail"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/mail"
)

// Files is a mailer that writes each message into a file.
type Files struct {
	writer
	dir string
	log *slog.Logger
}

// NewFiles returns a mailer that writes each e-mail from the address into a file in dir. It
// creates dir.
func NewFiles(dir string, from mail.Address, c clock.Clock, log *slog.Logger) (*Files, error) {
	w, err := newWriter(from, c)
	if err != nil {
		return nil, err
	}

	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}

	// E-mails contain secret links, so only the user of the process may read them.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}

	return &Files{writer: w, dir: dir, log: log}, nil
}

// Ping returns an error unless a message can be written.
func (f *Files) Ping(context.Context) error {
	path := filepath.Join(f.dir, ".probe")
	if err := os.WriteFile(path, []byte("probe"), 0o600); err != nil {
		_ = os.Remove(path) // the file may be incomplete
		return err
	}

	return os.Remove(path)
}

// Send implements mail.Mailer. It writes a file and logs its path.
func (f *Files) Send(ctx context.Context, message mail.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	const plain = true

	msg, err := f.write(message, plain)
	if err != nil {
		return fmt.Errorf("mail %s: %w: %w", message.ID, mail.ErrRefused, err)
	}

	// The names sort by time. The random text makes them unique.
	sentAt, random := f.clock.Now().Format("20060102T150405.000000Z"), rand.Text()[:6]

	path := filepath.Join(f.dir, sentAt+"-"+plainID(message.ID)+"-"+random+".eml")
	if err := writeFile(path, msg); err != nil {
		return fmt.Errorf("mail %s: %w", message.ID, err)
	}

	f.log.InfoContext(ctx, "mail written", "path", path)

	return nil
}

// writeFile writes the message to a temporary file and renames it, so that no incomplete file has the path.
func writeFile(path string, msg *gomail.Msg) error {
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

package fiberhttp

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// writeWithin is how long a client may take for an answer, or for the next
// piece of one that is sent as it is read.
const writeWithin = 30 * time.Second

// paced gives every piece of a download a time of its own: one limit for the
// whole would cut off who has a long table and a slow line.
type paced struct {
	io.ReadCloser
	conn net.Conn
}

// Read implements io.Reader.
func (p paced) Read(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return 0, err
	}
	return p.ReadCloser.Read(b)
}

// pieceBytes is how much of a download goes out at once. fasthttp of itself
// sends 4 KiB, and a system call for each is half of the time that a long table
// takes.
const pieceBytes = 64 << 10

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (paced) SupportsBodyWriteTo() bool { return true }

// WriteTo implements io.WriterTo.
func (p paced) WriteTo(w io.Writer) (n int64, err error) {
	piece := make([]byte, pieceBytes)
	for {
		read, err := p.Read(piece)
		if read > 0 {
			written, err := w.Write(piece[:read])
			if n += int64(written); err != nil {
				return n, err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
}

func sendJSON(c *fiber.Ctx, status int, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.Status(status).Set(fiber.HeaderContentType, web.JSONType)
	return c.Send(encoded)
}

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

// writeTimeout is the time to write a response, or one chunk of a streamed response.
const writeTimeout = 30 * time.Second

// deadlineReader extends the write deadline for each chunk of a download: one deadline for the
// whole download would abort it on slow connections.
type deadlineReader struct {
	io.ReadCloser
	conn net.Conn
}

// Read implements io.Reader.
func (p deadlineReader) Read(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}

	return p.ReadCloser.Read(b)
}

// chunkBytes is the size of the chunks of a download. With fasthttp's chunks of 4 KiB, half of
// the time of a large export was spent in system calls.
const chunkBytes = 64 << 10

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (deadlineReader) SupportsBodyWriteTo() bool { return true }

// WriteTo implements io.WriterTo.
func (p deadlineReader) WriteTo(w io.Writer) (n int64, err error) {
	chunk := make([]byte, chunkBytes)
	for {
		read, readErr := p.Read(chunk)
		if read > 0 {
			written, err := w.Write(chunk[:read])

			n += int64(written)
			if err != nil {
				return n, err
			}
		}

		if errors.Is(readErr, io.EOF) {
			return n, nil
		}

		if readErr != nil {
			return n, readErr
		}
	}
}

// sendJSON sends body as JSON with the status.
func sendJSON(c *fiber.Ctx, status int, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}

	c.Status(status).Set(fiber.HeaderContentType, web.JSONType)

	return c.Send(encoded)
}

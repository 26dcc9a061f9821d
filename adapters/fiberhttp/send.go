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

// deadlineReader is the content of a download. It extends the write deadline of the connection
// whenever a chunk is read: one deadline for the whole download would abort it on slow connections.
type deadlineReader struct {
	io.ReadCloser
	conn net.Conn
}

// Read extends the write deadline and reads from the content.
func (r deadlineReader) Read(p []byte) (int, error) {
	if err := r.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}

	return r.ReadCloser.Read(p)
}

// chunkBytes is the size of the chunks of a download. With fasthttp's chunks of 4 KiB, half of
// the time of a large export was spent in system calls.
const chunkBytes = 64 << 10

// SupportsBodyWriteTo reports to fasthttp that it can send the content by WriteTo.
func (deadlineReader) SupportsBodyWriteTo() bool { return true }

// WriteTo writes the content in chunks of chunkBytes. io.Copy is not used, because it would call
// WriteTo again.
func (r deadlineReader) WriteTo(w io.Writer) (n int64, err error) {
	chunk := make([]byte, chunkBytes)
	for {
		read, readErr := r.Read(chunk)
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

package fiberhttp

import (
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

// What a refused body may still send, unread by anybody: without that its
// client would see a broken connection instead of the answer.
const (
	lingerBytes = 16 << 20
	lingerTime  = 5 * time.Second
)

// lingerListener makes connections that can linger.
type lingerListener struct{ net.Listener }

// Accept implements net.Listener.
func (l lingerListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &lingerConn{TCPConn: tcp}, err
	}
	return c, err
}

type lingerConn struct {
	*net.TCPConn
	lingers bool
}

// linger lets the client of this request read its answer before the connection
// is gone.
func linger(c *fiber.Ctx) {
	if conn, ok := c.Context().Conn().(*lingerConn); ok {
		conn.lingers = true
	}
}

// Close implements net.Conn.
func (c *lingerConn) Close() error {
	if c.lingers && c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.TCPConn, lingerBytes))
	}
	return c.TCPConn.Close()
}

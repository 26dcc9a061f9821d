package fiberhttp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/id"
)

const (
	// maxConnsPerAddress bounds the open connections of one address (an IPv4
	// address or an IPv6 /64). Trusted proxies are exempt.
	maxConnsPerAddress = 256

	// After a response to a request whose body was not read, the connection
	// discards up to lingerBytes for up to lingerTime before it closes: closing
	// at once would reset the connection and could destroy the response (RFC 9112
	// §9.6). A client that sends more has resetDelay to read the response.
	lingerBytes = 256 << 10
	lingerTime  = 5 * time.Second
	resetDelay  = 500 * time.Millisecond
)

// listener bounds the connections per address and wraps each in a conn.
type listener struct {
	net.Listener
	isExempt func(netip.Addr) bool
	newID    id.Source

	mu   sync.Mutex
	open map[string]int // by web.LimitKey of the peer
}

func newListener(l net.Listener, isExempt func(netip.Addr) bool, newID id.Source) *listener {
	return &listener{Listener: l, isExempt: isExempt, newID: newID, open: map[string]int{}}
}

// tooManyConns is the response to a connection over the limit, with the request ID to
// fill in. It is written before the request is read.
const tooManyConns = "HTTP/1.1 429 Too Many Requests\r\n" +
	"Connection: close\r\n" +
	"Retry-After: 1\r\n" +
	"Content-Type: application/json; charset=utf-8\r\n" +
	"Content-Length: 50\r\n" +
	"X-Request-Id: %s\r\n\r\n" +
	`{"success":false,"error":"Too many connections"}` + "\r\n"

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		release, ok := l.admit(raw.RemoteAddr())
		if ok {
			return &conn{Conn: raw, in: bufio.NewReaderSize(raw, 4<<10), atLineStart: true, release: release}, nil
		}

		// The send buffer of a new connection accepts the response immediately, so that the
		// deadline only protects against a connection that is broken.
		_ = raw.SetWriteDeadline(time.Now().Add(time.Millisecond))
		_, _ = fmt.Fprintf(raw, tooManyConns, l.newID())
		_ = raw.Close()
	}
}

// admit counts a connection of the peer until release is called. It reports false if the peer has
// maxConnsPerAddress connections already.
func (l *listener) admit(peer net.Addr) (release func(), ok bool) {
	addr, ok := peerAddr(peer)
	if !ok || l.isExempt(addr) {
		return func() {}, true
	}

	key := web.LimitKey(addr.String())

	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open[key] >= maxConnsPerAddress {
		return nil, false
	}

	l.open[key]++

	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()

		l.open[key]--
		if l.open[key] == 0 {
			delete(l.open, key)
		}
	}, true
}

// peerAddr returns the address of a peer without zone and IPv4 mapping.
func peerAddr(peer net.Addr) (netip.Addr, bool) {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}

	addr, ok := netip.AddrFromSlice(tcp.IP)

	return addr.Unmap(), ok
}

// conn is a connection of a client. Read returns only the heads of requests to fasthttp: it
// never returns bytes beyond a blank line. Bodies stay in the connection until readBody reads
// them for a route, after authentication and limits. fasthttp itself would allocate
// Content-Length bytes before it calls a handler.
type conn struct {
	net.Conn
	in          *bufio.Reader // all bytes are read through it; bodies stay in it
	atLineStart bool          // the next byte begins a line, so that a newline ends the head
	lingers     atomic.Bool   // Close discards the body that was not read first
	release     func()        // ends the count of the connection for its address
	closed      sync.Once     // fasthttp may call Close more than once
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	// This waits for data. Without it, Buffered could be 0.
	if _, err := c.in.Peek(1); err != nil {
		return 0, err
	}

	b, err := c.in.Peek(min(c.in.Buffered(), len(p)))
	if err != nil {
		return 0, err
	}

	n := copy(p, b[:c.headBytes(b)])
	_, err = c.in.Discard(n)

	return n, err
}

// headBytes returns the length of b up to and including the first blank line, or of all
// of b. Any line that some parser accepts as blank counts, so that the end of a head is
// always the end of a Read.
func (c *conn) headBytes(b []byte) int {
	for i, char := range b {
		switch char {
		case '\n':
			if c.atLineStart {
				return i + 1
			}

			c.atLineStart = true
		case '\r': // CRs before the LF of a blank line do not count
		default:
			c.atLineStart = false
		}
	}

	return len(b)
}

// Close implements net.Conn.
func (c *conn) Close() (err error) {
	c.closed.Do(func() {
		if c.lingers.Load() {
			c.discard()
		}

		err = c.Conn.Close()
		c.release()
	})

	return err
}

// discard ends the direction to the client, so that the client sees the end of the response, and
// reads what the client still sends for up to lingerTime. Errors do not matter, because the
// connection is closed afterwards.
func (c *conn) discard() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}

	if err := c.SetReadDeadline(time.Now().Add(lingerTime)); err != nil {
		return
	}

	discarded, err := io.Copy(io.Discard, io.LimitReader(c.in, lingerBytes))

	mayFollowMore := err == nil && discarded == lingerBytes
	if mayFollowMore {
		time.Sleep(resetDelay)
	}
}

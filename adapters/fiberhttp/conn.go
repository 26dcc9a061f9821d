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
	// rejectTimeout is the time to write the response to a connection over the limit. It is
	// short because Accept waits meanwhile. The empty send buffer of a new connection accepts
	// the response at once, so only a broken connection needs the whole time.
	rejectTimeout = time.Millisecond
	// readBufferSize is the size of the read buffer of a connection.
	readBufferSize = 4 << 10
)

// These limits apply to a connection that closes after a response to a request whose body was not
// read. If it closed while the client still sends, the connection would be reset, and the client
// could lose the response (RFC 9112 §9.6). So the connection first reads and discards the body.
const (
	// discardBytes is the number of bytes that are discarded at most.
	discardBytes = 256 << 10
	// discardTimeout is the time for discarding.
	discardTimeout = 5 * time.Second
	// resetDelay is the time that a client that sends more than discardBytes has to read the
	// response before the connection is reset.
	resetDelay = 500 * time.Millisecond
)

// listener limits the number of connections per address and wraps each connection in a conn.
type listener struct {
	net.Listener
	isExempt func(netip.Addr) bool // reports whether the address, such as a trusted proxy, has no limit
	newID    id.Source             // request IDs for the responses to rejected connections

	mu sync.Mutex
	// openConns is the number of open connections by the key of web.LimitKey: the IPv4 address or
	// the IPv6 /64 of the peer.
	openConns map[string]int
}

func newListener(l net.Listener, isExempt func(netip.Addr) bool, newID id.Source) *listener {
	return &listener{Listener: l, isExempt: isExempt, newID: newID, openConns: map[string]int{}}
}

// tooManyConns is the response to a connection over the limit. %s is the request ID. The response
// is written before the request is read.
const tooManyConns = "HTTP/1.1 429 Too Many Requests\r\n" +
	"Connection: close\r\n" +
	"Retry-After: 1\r\n" +
	"Content-Type: application/json; charset=utf-8\r\n" +
	"Content-Length: 50\r\n" +
	"X-Request-Id: %s\r\n\r\n" +
	`{"success":false,"error":"Too many connections"}` + "\r\n"

// Accept returns the next connection, which is a *conn. Connections of an address over the limit
// get the response tooManyConns, are closed, and are not returned.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		release, isAdmitted := l.admit(raw.RemoteAddr())
		if isAdmitted {
			return &conn{
				Conn:        raw,
				buffered:    bufio.NewReaderSize(raw, readBufferSize),
				atLineStart: true,
				release:     release,
			}, nil
		}

		// Errors are ignored, because the connection is closed in any case.
		_ = raw.SetWriteDeadline(time.Now().Add(rejectTimeout))
		_, _ = fmt.Fprintf(raw, tooManyConns, l.newID())
		_ = raw.Close()
	}
}

// admit counts a connection of the peer until release is called. It reports false if the peer has
// maxConnsPerAddress connections already.
func (l *listener) admit(peer net.Addr) (release func(), isAdmitted bool) {
	addr, isTCP := peerAddr(peer)
	if !isTCP || l.isExempt(addr) {
		return func() {}, true // not counted: a peer that is not TCP, such as a Unix socket, is local
	}

	key := web.LimitKey(addr.String())

	l.mu.Lock()
	defer l.mu.Unlock()

	if l.openConns[key] >= maxConnsPerAddress {
		return nil, false
	}

	l.openConns[key]++

	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()

		l.openConns[key]--
		if l.openConns[key] == 0 {
			delete(l.openConns, key)
		}
	}, true
}

// peerAddr returns the IP address of a TCP peer without its zone. An IPv4 address that is mapped
// to IPv6 is returned as IPv4. peerAddr reports false for peers that are not TCP.
func peerAddr(peer net.Addr) (addr netip.Addr, isTCP bool) {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}

	addr, isIP := netip.AddrFromSlice(tcp.IP)

	return addr.Unmap(), isIP
}

// conn is a connection of a client. Its Read returns only the heads of requests: the request line
// and the header section, up to and including the blank line. fasthttp reads requests by Read, and
// would allocate Content-Length bytes before it calls a handler. So the server lets fasthttp see
// the heads alone. Bodies stay in the connection until Server.readBody reads them from buffered,
// after authentication and limits.
type conn struct {
	net.Conn
	buffered    *bufio.Reader // all bytes of the client are read through it
	atLineStart bool          // the next byte begins a line, so that a newline is a blank line
	mustDiscard atomic.Bool   // a body was not read, and Close must discard it first
	release     func()        // ends the count of the connection for its address
	closeOnce   sync.Once     // fasthttp may call Close more than once
}

// Read waits for data and returns bytes of the head of a request. A Read never returns bytes
// that follow a blank line, which may belong to a body.
func (c *conn) Read(p []byte) (int, error) {
	// Wait until at least one byte is buffered.
	if _, err := c.buffered.Peek(1); err != nil {
		return 0, err
	}

	available, err := c.buffered.Peek(min(c.buffered.Buffered(), len(p)))
	if err != nil {
		return 0, err
	}

	n := copy(p, available[:c.scanHead(available)])
	_, err = c.buffered.Discard(n)

	return n, err
}

// scanHead returns the number of bytes up to and including the first blank line, or all bytes
// if there is no blank line. It updates atLineStart, because a blank line may be divided
// among several reads.
//
// Parsers differ in what they accept as a blank line: some ignore CRs. scanHead accepts every form
// of a blank line, so that no parser ends a head earlier than Read does.
func (c *conn) scanHead(data []byte) int {
	for i, char := range data {
		switch char {
		case '\n':
			if c.atLineStart {
				return i + 1
			}

			c.atLineStart = true
		case '\r': // a line that has only CRs before its LF is blank
		default:
			c.atLineStart = false
		}
	}

	return len(data)
}

// Close closes the connection. If the body of the last request was not read, Close first discards
// it, which may take discardTimeout.
func (c *conn) Close() (err error) {
	c.closeOnce.Do(func() {
		if c.mustDiscard.Load() {
			c.discard()
		}

		err = c.Conn.Close()
		c.release()
	})

	return err
}

// discard closes the direction to the client, so that the client sees the end of the response.
// It then reads what the client still sends. Errors are ignored, because the connection is
// closed afterwards.
func (c *conn) discard() {
	writer, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || writer.CloseWrite() != nil {
		return
	}

	if err := c.SetReadDeadline(time.Now().Add(discardTimeout)); err != nil {
		return
	}

	discarded, err := io.Copy(io.Discard, io.LimitReader(c.buffered, discardBytes))

	moreMayFollow := err == nil && discarded == discardBytes
	if moreMayFollow {
		time.Sleep(resetDelay)
	}
}

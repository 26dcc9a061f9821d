// Package smtptest is a mail server for tests, which keeps the messages it accepts.
package smtptest

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

// Server is a mail server.
type Server struct {
	Addr string // HOST:PORT

	mu       sync.Mutex
	messages []string
	refusals map[string]int
}

// NewServer starts a server, which stops when the test ends.
func NewServer(t testing.TB) *Server {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = listener.Close() })

	s := &Server{Addr: listener.Addr().String(), refusals: map[string]int{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}

			go s.serve(conn)
		}
	}()

	return s
}

// Messages returns the accepted messages.
func (s *Server) Messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.messages...)
}

// The commands that Refuse accepts.
const (
	Mail = "MAIL"
	Rcpt = "RCPT"
	End  = "." // of the message
)

// Refuse makes the server answer the command with the code, and all others with success.
func (s *Server) Refuse(command string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.refusals = map[string]int{command: code}
}

// answer returns the code for the command: 250 unless it is to be refused.
func (s *Server) answer(command string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.refusals[command], 250)
}

// serve speaks just enough SMTP with one client.
func (s *Server) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()

	reply := func(code int) { _, _ = fmt.Fprintf(conn, "%d test\r\n", code) }
	in := textproto.NewReader(bufio.NewReader(conn))

	reply(220)

	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}

		switch verb, _, _ := strings.Cut(strings.ToUpper(line), " "); verb {
		case Mail, Rcpt:
			reply(s.answer(verb))
		case "DATA":
			reply(354)

			message, err := io.ReadAll(in.DotReader())
			if err != nil {
				return
			}

			code := s.answer(End)
			if code == 250 {
				s.mu.Lock()
				s.messages = append(s.messages, string(message))
				s.mu.Unlock()
			}

			reply(code)
		case "QUIT":
			reply(221)
			return
		default:
			reply(250)
		}
	}
}

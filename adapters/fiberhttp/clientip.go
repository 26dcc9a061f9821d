package fiberhttp

import (
	"net"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// clientIP is the address that the request came from: the peer, unless the
// peer is a trusted proxy. Then X-Forwarded-For is read from the right, where
// the proxies wrote, and the first address that is not one of them is the
// client. What stands further left is the client's own invention.
func (s *Server) clientIP(c *fiber.Ctx) string {
	addr, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if !ok {
		return c.Context().RemoteIP().String()
	}
	addr = addr.Unmap()
	if !s.trusted(addr) {
		s.noteProxy(c, addr)
		return addr.String()
	}
	// A proxy may add a line of its own below the client's: all lines are one list.
	var hops []string
	for _, line := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		hops = append(hops, strings.Split(string(line), ",")...)
	}
	const mostHops = 20
	for i := len(hops) - 1; i >= max(0, len(hops)-mostHops); i-- {
		hop, err := parseHop(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = hop
		if !s.trusted(hop) {
			break
		}
	}
	return addr.String()
}

// noteProxy logs the first request that an untrusted proxy in a private network
// seems to have forwarded: all of its clients count as one address.
func (s *Server) noteProxy(c *fiber.Ctx, peer netip.Addr) {
	isPrivate := peer.IsPrivate() || peer.IsLoopback() || peer.IsLinkLocalUnicast()
	if isPrivate && len(c.Request().Header.Peek(fiber.HeaderXForwardedFor)) > 0 && s.sawProxy.CompareAndSwap(false, true) {
		s.o.Log.Warn("X-Forwarded-For from a proxy that http.trusted_proxies does not name; all of its clients count as one address", "peer", peer.String())
	}
}

// hasUnknownProxy reports a proxy whose clients count as one address: one that was
// seen, or the one that serves a public https address, since this server speaks
// http.
func (s *Server) hasUnknownProxy() bool {
	return s.sawProxy.Load() || strings.HasPrefix(s.o.PublicURL, "https:") && len(s.o.TrustedProxies) == 0
}

// isLocal reports a request from this machine that no proxy forwarded.
func isLocal(c *fiber.Ctx) bool {
	for _, name := range []string{fiber.HeaderXForwardedFor, fiber.HeaderForwarded, "X-Real-Ip", fiber.HeaderVia} {
		if len(c.Request().Header.Peek(name)) > 0 {
			return false
		}
	}
	peer, ok := peerAddr(c.Context().RemoteAddr())
	return ok && peer.IsLoopback()
}

func parseHop(s string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err
}

func (s *Server) trusted(a netip.Addr) bool {
	for _, p := range s.o.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

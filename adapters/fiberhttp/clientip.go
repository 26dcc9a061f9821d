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

// limitKey is the address by which a client is counted: whoever has one IPv6
// address has its whole /64.
func limitKey(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil || a.Is4() {
		return ip
	}
	p, err := a.Prefix(64)
	if err != nil {
		return ip
	}
	return p.String()
}

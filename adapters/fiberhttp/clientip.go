package fiberhttp

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// clientIP returns the address of the client. That is the peer of the connection, unless the peer is
// a trusted proxy.
//
// Behind trusted proxies, the address is taken from the header X-Forwarded-For. Each proxy appends
// the address from which it got the request. So the header is read from the right, up to the first
// address that is not a trusted proxy. Addresses further to the left may be forged by the client.
func (s *Server) clientIP(c *fiber.Ctx) string {
	addr, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if !ok {
		return c.Context().RemoteIP().String() // not an IP connection
	}

	addr = addr.Unmap()
	if !s.isTrustedProxy(addr) {
		s.warnUntrustedProxy(c, addr)
		return addr.String()
	}

	// A proxy may append to the header or add a second header line. All lines form one list.
	var hops []string
	for _, line := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		hops = append(hops, strings.Split(string(line), ",")...)
	}

	const maxHops = 20 // bounds the work for a forged header
	for i := len(hops) - 1; i >= max(0, len(hops)-maxHops); i-- {
		hop, err := parseHop(strings.TrimSpace(hops[i]))
		if err != nil {
			break // the client is unknown: the address of the proxy that sent the bad element is used
		}

		addr = hop
		if !s.isTrustedProxy(hop) {
			break
		}
	}

	return addr.String()
}

// warnUntrustedProxy logs the first request that an untrusted proxy in a private network has
// forwarded. Rate limits count all clients of such a proxy as one address.
func (s *Server) warnUntrustedProxy(c *fiber.Ctx, peer netip.Addr) {
	isPrivate := peer.IsPrivate() || peer.IsLoopback() || peer.IsLinkLocalUnicast()
	isForwarded := len(c.Request().Header.Peek(fiber.HeaderXForwardedFor)) > 0

	if isPrivate && isForwarded && s.sawUntrustedProxy.CompareAndSwap(false, true) {
		s.options.Log.Warn(
			"X-Forwarded-For from an untrusted proxy; add it to http.trusted_proxies, or all of its clients are limited as one address",
			"peer", peer.String(),
		)
	}
}

// hasUntrustedProxy reports whether requests come through an untrusted proxy, so that rate
// limits count its clients as one address. There are two signs of this:
//
//   - such a proxy has forwarded a request;
//   - the public URL is https, which needs a proxy before this server, but no proxy is trusted.
func (s *Server) hasUntrustedProxy() bool {
	needsProxy := strings.HasPrefix(s.options.PublicURL, "https:")
	return s.sawUntrustedProxy.Load() || needsProxy && len(s.options.TrustedProxies) == 0
}

// isLocal reports whether the request is from this machine and was not forwarded by a
// proxy.
func isLocal(c *fiber.Ctx) bool {
	for _, name := range []string{fiber.HeaderXForwardedFor, fiber.HeaderForwarded, "X-Real-Ip", fiber.HeaderVia} {
		if len(c.Request().Header.Peek(name)) > 0 {
			return false
		}
	}

	peer, ok := peerAddr(c.Context().RemoteAddr())

	return ok && peer.IsLoopback()
}

// parseHop parses an element of X-Forwarded-For: an address, which may have a port, brackets or a
// zone, and may be an IPv4 address that is mapped to IPv6.
func parseHop(text string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}

	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))

	return addr.Unmap().WithZone(""), err
}

// isTrustedProxy reports whether the address is in one of the networks of Options.TrustedProxies.
func (s *Server) isTrustedProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(s.options.TrustedProxies, func(network netip.Prefix) bool { return network.Contains(addr) })
}

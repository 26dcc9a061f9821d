package integrations

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
)

// maxReceiver bounds the address of a receiver, in characters.
const maxReceiver = 2_048

// receiver validates the address of a receiver. Names are not resolved: their
// addresses are checked when they are dialled. With private, http, all networks and
// all ports are allowed.
func receiver(address string, private bool) error {
	if why := unreachable(address, private); why != "" {
		return fault.InvalidField("url", why)
	}
	return nil
}

// local explains how to receive webhooks locally if only receivers on the public
// internet are allowed.
const local = "; on your own installation webhooks.allow_private_networks allows it, and `locum webhooks listen --forward URL` forwards to a local receiver"

func unreachable(address string, private bool) string {
	form, ports, takes := "must be an https:// address", "443, 80, 8443 or one from 1024", Reachable
	if private {
		form, ports, takes = "must be an http:// or https:// address", "1 to 65535", dialable
	}
	if address == "" || len(address) > maxReceiver || strings.ContainsFunc(address, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f || r == '\\' }) {
		return form + " of at most 2048 ASCII characters"
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return form
	case u.Scheme == "http" && !private:
		return form + local
	case u.Scheme != "https" && u.Scheme != "http":
		return form
	case u.User != nil:
		return "must not hold a user or a password"
	case strings.Contains(address, "#"):
		return "must not have a fragment"
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if !hasServer(u) || port != "" && !takes(port) {
		return form + " of a server, on port " + ports
	}
	if private {
		return ""
	}
	const own = "must be of a server on the public internet" + local
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return own
	}
	// Some programs read 0x7f.1, 0177.0.0.1 and 2130706433 as addresses. Only four
	// decimal numbers are accepted.
	if isAddress := strings.HasPrefix(u.Host, "[") || number(last); isAddress && !PublicHost(host) {
		return own
	}
	return ""
}

// hasServer reports whether an address has a host that all parsers read in the same
// way: an IP address, or a name of labels of letters, digits, hyphens and
// underscores (RFC 1123 §2.1), and a port from 1 to 65535 or none.
func hasServer(u *url.URL) bool {
	host, port := u.Hostname(), u.Port()
	if strings.HasSuffix(u.Host, ":") || port != "" && !dialable(port) || len(host) > 253 {
		return false
	}
	if strings.HasPrefix(u.Host, "[") {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Zone() == ""
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// number reports whether a program may read the last label of a host as a
// number, and so the host as an IPv4 address (WHATWG URL §3.5).
func number(label string) bool {
	if hex, cut := strings.CutPrefix(label, "0x"); cut {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label == "" || strings.Trim(label, "0123456789") == ""
}

// dialable reports whether the text is a port number.
func dialable(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65_535
}

// Reachable reports whether webhooks are sent to the port. Ports of services other
// than web servers are excluded.
func Reachable(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && (n == 443 || n == 80 || n >= 1_024 && n <= 65_535)
}

// notPublic are the networks of the IANA special-purpose address registries, and
// globalIPv6 is the allocated part of IPv6.
var (
	notPublic = list.Map([]string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/3", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	}, netip.MustParsePrefix)
	globalIPv6 = netip.MustParsePrefix("2000::/3")
)

// Public reports whether the address belongs to the public internet. Addresses that
// embed others (IPv4 in IPv6, NAT64, 6to4) and those with a zone do not.
func Public(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" || ip.Is6() && !globalIPv6.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// PublicHost is Public for an address as text.
func PublicHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && Public(ip)
}

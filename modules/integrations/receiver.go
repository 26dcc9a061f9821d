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

// maxReceiverURL is the maximum length of the URL of a receiver, in characters.
const maxReceiverURL = 2_048

// checkReceiver returns an Invalid fault unless webhooks may be sent to the URL. If
// allowPrivate is set, http, all networks and all ports are permitted. Host names are not
// resolved here; the sender checks the resolved addresses when it connects.
func checkReceiver(address string, allowPrivate bool) error {
	if problem := receiverProblem(address, allowPrivate); problem != "" {
		return fault.InvalidField("url", problem)
	}

	return nil
}

// localReceiverHint is the part of a message that explains how to receive webhooks locally
// if only receivers on the public internet are permitted.
const localReceiverHint = "; on your own installation webhooks.allow_private_networks allows it, " +
	"and `locum webhooks listen --forward URL` forwards to a local receiver"

// receiverProblem returns what is wrong with a URL to which webhooks may not be sent, or "" for
// a permitted one.
func receiverProblem(address string, allowPrivate bool) string {
	// form and ports are parts of messages.
	form := "must be an https:// address"
	ports := "443, 80, 8443 or one from 1024"

	isPermittedPort := IsPublicPort
	if allowPrivate {
		form = "must be an http:// or https:// address"
		ports = "1 to 65535"
		isPermittedPort = isPort
	}

	isForbidden := func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f || r == '\\' }
	if address == "" || len(address) > maxReceiverURL || strings.ContainsFunc(address, isForbidden) {
		return form + " of at most 2048 ASCII characters"
	}

	u, err := url.Parse(address)
	switch {
	case err != nil:
		return form
	case u.Scheme == "http" && !allowPrivate:
		return form + localReceiverHint
	case u.Scheme != "https" && u.Scheme != "http":
		return form
	case u.User != nil:
		return "must not hold a user or a password"
	case strings.Contains(address, "#"):
		return "must not have a fragment"
	}

	host, port := strings.ToLower(u.Hostname()), u.Port()
	if !hasServer(u) || port != "" && !isPermittedPort(port) {
		return form + " of a server, on port " + ports
	}

	if allowPrivate {
		return ""
	}

	// Refuse hosts that are known to be private. Other names are checked when the sender has
	// resolved them.
	const notPublicMessage = "must be of a server on the public internet" + localReceiverHint
	host = strings.TrimSuffix(host, ".")

	lastLabel := host[strings.LastIndexByte(host, '.')+1:]
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return notPublicMessage
	}

	// Some programs read 0x7f.1, 0177.0.0.1 and 2130706433 as IPv4 addresses, so all hosts
	// whose last label is a number count as addresses. PublicHost only accepts the usual form
	// with four decimal numbers. IPv6 addresses are in brackets.
	if isAddress := strings.HasPrefix(u.Host, "[") || isNumericLabel(lastLabel); isAddress && !PublicHost(host) {
		return notPublicMessage
	}

	return ""
}

// hasServer reports whether the host and the port of the URL are valid and unambiguous. URL parsers
// disagree about other hosts, so that the sender might connect to a server that was not checked. The host must be
// an IP address, or a name with labels of letters, digits, hyphens and underscores
// (RFC 1123 §2.1). The port must be from 1 to 65535, or absent.
func hasServer(u *url.URL) bool {
	// The maximum lengths of a name and of each of its labels (RFC 1035 §2.3.4).
	const maxHost, maxLabel = 253, 63

	host, port := u.Hostname(), u.Port()
	if strings.HasSuffix(u.Host, ":") || port != "" && !isPort(port) || len(host) > maxHost {
		return false
	}

	if strings.HasPrefix(u.Host, "[") {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Zone() == ""
	}

	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		hasOtherCharacters := strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
		if label == "" || len(label) > maxLabel || hasOtherCharacters {
			return false
		}
	}

	return true
}

// isNumericLabel reports whether a program may read the last label of a host as a number. It
// would then read the host as an IPv4 address (WHATWG URL §3.5).
func isNumericLabel(label string) bool {
	if hex, isHex := strings.CutPrefix(label, "0x"); isHex {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}

	return label == "" || strings.Trim(label, "0123456789") == ""
}

// isPort reports whether the text is a valid port number.
func isPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65_535
}

// IsPublicPort reports whether webhooks may be sent to the port on the public internet. The
// ports below 1024 that belong to other services than web servers are excluded.
func IsPublicPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && (n == 443 || n == 80 || n >= 1_024 && n <= 65_535)
}

var (
	// notPublic are the networks in the IANA special-purpose address registries.
	notPublic = list.Map([]string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	}, netip.MustParsePrefix)
	// globalIPv6 is the part of the IPv6 address space that is allocated to the internet.
	globalIPv6 = netip.MustParsePrefix("2000::/3")
)

// Public reports whether the address belongs to the public internet. It returns false for
// addresses with a zone, and for addresses that embed another address (IPv4 in IPv6, NAT64,
// 6to4).
func Public(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" || ip.Is6() && !globalIPv6.Contains(ip) {
		return false
	}

	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// PublicHost is Public for an IP address as text. It returns false for any other text.
func PublicHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && Public(ip)
}

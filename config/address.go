package config

import (
	"slices"
	"strconv"
	"strings"
)

// servers are the schemes whose URLs contain servers: HOST:PORT, or several separated by
// commas.
var servers = []string{"postgres", "postgresql", "redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel", "smtp", "smtps"}

// Hosts returns the servers of a URL, HOST:PORT as written, without secrets. It is empty
// for a URL without servers.
func Hosts(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || !slices.Contains(servers, scheme) {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:]
}

// checkPorts returns an error for invalid ports of a URL. The error does not quote the
// URL: what looks like a port may be a part of a password.
func checkPorts(address string) string {
	for _, host := range strings.Split(Hosts(address), ",") {
		colon := strings.LastIndexByte(host, ':')
		if colon < 0 || strings.HasSuffix(host, "]") { // an IPv6 address without a port
			continue
		}
		if n, err := strconv.ParseUint(host[colon+1:], 10, 16); err != nil || n == 0 {
			return "want a port from 1 to 65535; special characters in a password are written as %XX"
		}
	}
	return ""
}

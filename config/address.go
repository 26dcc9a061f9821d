package config

import (
	"slices"
	"strconv"
	"strings"
)

// servers are the schemes whose addresses name servers: HOST:PORT, or several
// with commas between them.
var servers = []string{"postgres", "postgresql", "redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel", "smtp", "smtps"}

// Hosts are the servers of an address, HOST:PORT as they stand in it, without
// what is secret. It is empty for an address that names none.
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

// checkPorts says what is wrong with the ports of an address, without a word of
// it: what looks like a port may be a part of a password.
func checkPorts(address string) string {
	for _, host := range strings.Split(Hosts(address), ",") {
		colon := strings.LastIndexByte(host, ':')
		if colon < 0 || strings.HasSuffix(host, "]") { // an address of version 6 without a port
			continue
		}
		if n, err := strconv.ParseUint(host[colon+1:], 10, 16); err != nil || n == 0 {
			return "want a port from 1 to 65535; special characters in a password are written as %XX"
		}
	}
	return ""
}

package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Setting is one setting as shown to operators.
type Setting struct {
	Key, Value, Source string
}

// Settings returns every setting with its source. Secrets are masked.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, l := range leaves(reflect.ValueOf(*c), "") {
		out = append(out, Setting{Key: l.key, Value: displayValue(l), Source: c.Source(l.key)})
	}

	return out
}

// displayValue formats a value with its secrets masked.
func displayValue(l leaf) string {
	list, isList := l.value.Interface().([]string)

	// Lists.
	switch {
	case strings.HasSuffix(l.key, "_secrets") && len(list) > 0:
		return mask
	case strings.HasSuffix(l.key, "_urls") && isList:
		list = joinAddresses(list)
		for i := range list {
			list[i] = maskURL(list[i])
		}

		return strings.Join(list, ",")
	case isList:
		return strings.Join(list, ",")
	}

	// Single values.
	value := fmt.Sprint(l.value.Interface())
	switch {
	case value == "":
		return ""
	case strings.HasSuffix(l.key, "_key"):
		return mask
	case strings.HasSuffix(l.key, "url"):
		return maskURL(value)
	}

	return value
}

// mask replaces a secret.
const mask = "***"

// joinAddresses joins the parts of a URL that contains a comma, between two hosts or in a
// password: such a URL was split like a list.
func joinAddresses(list []string) []string {
	var out []string
	for _, part := range list {
		// A part without a scheme continues the URL before it.
		if len(out) > 0 && !strings.Contains(part, "://") {
			out[len(out)-1] += "," + part
			continue
		}

		out = append(out, part)
	}

	return out
}

// maskURL masks the secrets of a URL, in its user information and query. A URL that
// cannot be parsed is masked as a whole, because operators read this output when a URL is
// wrong.
func maskURL(s string) string {
	scheme, remainder, hasColon := strings.Cut(s, ":")

	isURL := hasColon && !strings.ContainsAny(scheme, " =/@")
	if !isURL {
		return mask
	}

	path, query, _ := strings.Cut(remainder, "?")
	switch {
	case remainder == "":
		return s
	case !strings.HasPrefix(remainder, "//"): // without a host
		isPath := scheme == "file" || scheme == "sqlite"
		if !isPath {
			return scheme + ":" + mask
		}
	default:
		if _, err := url.Parse(s); err != nil {
			return scheme + ":" + mask
		}

		// The user information ends at the last @, because a password may contain /, ? or #.
		if position := strings.LastIndex(remainder, "@"); position >= 0 {
			user, _, hasPassword := strings.Cut(remainder[2:position], ":")
			if hasPassword {
				user += ":" + mask
			}

			path, query, _ = strings.Cut("//"+user+remainder[position:], "?")
		}
	}

	if query == "" {
		return scheme + ":" + path
	}

	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if isSecret(name) {
			pairs[i] = name + "=" + mask
		}
	}

	return scheme + ":" + path + "?" + strings.Join(pairs, "&")
}

// isSecret reports whether a query parameter with the name contains a secret.
func isSecret(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}

	name = strings.ToLower(name)
	for _, word := range []string{"pass", "pwd", "secret", "token", "key", "auth"} {
		if strings.Contains(name, word) {
			return true
		}
	}

	return false
}

// serverSchemes are the schemes whose URLs contain servers: HOST:PORT, or several separated by
// commas.
var serverSchemes = []string{
	"postgres",
	"postgresql",
	"redis",
	"rediss",
	"redis-cluster",
	"rediss-cluster",
	"redis-sentinel",
	"rediss-sentinel",
	"smtp",
	"smtps",
}

// Hosts returns the servers of a URL, HOST:PORT as written, without secrets. It is empty
// for a URL without servers.
func Hosts(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || !slices.Contains(serverSchemes, scheme) {
		return ""
	}

	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}

	// Remove the user information. Without an @, the hosts begin at 0.
	hostsAt := strings.LastIndexByte(rest, '@') + 1

	return rest[hostsAt:]
}

// checkPorts returns an error message for invalid ports of a URL. The message does not quote the
// URL, because a text that looks like a port may be part of a password.
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

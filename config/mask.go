package config

import (
	"fmt"
	"net/url"
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
	var settings []Setting
	for _, l := range c.leaves() {
		settings = append(settings, Setting{Key: l.key, Value: displayValue(l), Source: c.Source(l.key)})
	}

	return settings
}

// displayValue formats a value with its secrets masked. The end of the key says whether the value is a
// secret or a URL, which may contain one.
func displayValue(l leaf) string {
	if list, isList := l.value.Interface().([]string); isList {
		return displayList(l.key, list)
	}

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

// displayList formats the items of a list, with commas between them.
func displayList(key string, list []string) string {
	switch {
	case strings.HasSuffix(key, "_secrets") && len(list) > 0:
		return mask
	case strings.HasSuffix(key, "_urls"):
		list = joinURLs(list)
		for i := range list {
			list[i] = maskURL(list[i])
		}
	}

	return strings.Join(list, ",")
}

// mask replaces a secret.
const mask = "***"

// joinURLs joins the parts of URLs that contain commas, between two hosts or in a password. A list in the
// environment is split at all commas, also at those.
func joinURLs(parts []string) []string {
	var urls []string
	for _, part := range parts {
		continuesURL := len(urls) > 0 && !strings.Contains(part, "://") // a URL begins with its scheme
		if continuesURL {
			urls[len(urls)-1] += "," + part
			continue
		}

		urls = append(urls, part)
	}

	return urls
}

// maskURL masks the secrets of a URL, in its user information and query. A URL that
// cannot be parsed is masked as a whole, because operators read this output when a URL is
// wrong.
func maskURL(address string) string {
	scheme, remainder, hasColon := strings.Cut(address, ":")

	isURL := hasColon && !strings.ContainsAny(scheme, " =/@")
	if !isURL {
		return mask
	}

	hasHost := strings.HasPrefix(remainder, "//")
	isPath := scheme == "file" || scheme == "sqlite"

	switch {
	case remainder == "":
		return address
	case hasHost:
		if _, err := url.Parse(address); err != nil {
			return scheme + ":" + mask
		}

		remainder = maskPassword(remainder)
	case !isPath: // an unknown form
		return scheme + ":" + mask
	}

	path, query, _ := strings.Cut(remainder, "?")
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

// maskPassword masks the password in //USER:PASSWORD@HOST/PATH. It ends at the last @, because it may
// contain /, ? or #.
func maskPassword(text string) string {
	const slashes = len("//")

	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text
	}

	user, _, hasPassword := strings.Cut(text[slashes:at], ":")
	if hasPassword {
		user += ":" + mask
	}

	return "//" + user + text[at:]
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
	scheme, rest, hasHost := strings.Cut(address, "://")
	if !hasHost || !slices.Contains(serverSchemes, scheme) {
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

		isIPv6WithoutPort := strings.HasSuffix(host, "]")
		if colon < 0 || isIPv6WithoutPort {
			continue
		}

		port := host[colon+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "want a port from 1 to 65535; special characters in a password are written as %XX"
		}
	}

	return ""
}

package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// Setting is one value as an operator sees it.
type Setting struct {
	Key, Value, Source string
}

// Settings lists every value with its source, secrets masked.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, l := range leaves(reflect.ValueOf(*c), "") {
		out = append(out, Setting{Key: l.key, Value: shown(l), Source: c.Source(l.key)})
	}
	return out
}

// shown is a value without its secrets.
func shown(l leaf) string {
	list, isList := l.value.Interface().([]string)
	switch {
	case strings.HasSuffix(l.key, "_secrets") && len(list) > 0:
		return masked
	case strings.HasSuffix(l.key, "_urls") && isList:
		list = addresses(list)
		for i := range list {
			list[i] = maskURL(list[i])
		}
		return strings.Join(list, ",")
	case isList:
		return strings.Join(list, ",")
	}
	value := fmt.Sprint(l.value.Interface())
	switch {
	case value == "":
		return ""
	case strings.HasSuffix(l.key, "_key"):
		return masked
	case strings.HasSuffix(l.key, "url"):
		return maskURL(value)
	}
	return value
}

// masked stands where a secret was.
const masked = "***"

// addresses puts together again what was one address with a comma in it: of two
// hosts, or of a password.
func addresses(list []string) []string {
	var out []string
	for _, part := range list {
		if len(out) > 0 && !strings.Contains(part, "://") {
			out[len(out)-1] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

// maskURL hides the secrets of an address, in its user part and its query. What
// it cannot make sense of is hidden as a whole: this is where somebody looks who
// got an address wrong.
func maskURL(s string) string {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(scheme, " =/@") {
		return masked
	}
	path, query, _ := strings.Cut(rest, "?")
	switch {
	case rest == "":
		return s
	case !strings.HasPrefix(rest, "//"):
		if scheme != "file" && scheme != "sqlite" {
			return scheme + ":" + masked
		}
	default:
		if _, err := url.Parse(s); err != nil {
			return scheme + ":" + masked
		}
		// The last @, wherever it stands: a password with one of /, ? and # in it
		// would otherwise pass for something else.
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			user, _, hasPassword := strings.Cut(rest[2:at], ":")
			if hasPassword {
				user += ":" + masked
			}
			path, query, _ = strings.Cut("//"+user+rest[at:], "?")
		}
	}
	if query == "" {
		return scheme + ":" + path
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if secretive(name) {
			pairs[i] = name + "=" + masked
		}
	}
	return scheme + ":" + path + "?" + strings.Join(pairs, "&")
}

// secretive says whether a parameter of that name holds a secret.
func secretive(name string) bool {
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

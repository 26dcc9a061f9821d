package bootstrap

import (
	"io"
	"log/slog"
	"regexp"
)

// secretShapes matches the service's own tokens, keys and secrets. No code logs them on
// purpose; this protects against a future mistake.
var secretShapes = regexp.MustCompile(
	`loc_(live|test|ac|at|bs|rt|mt|cs)_[0-9A-Za-z]{8,}` + // API keys, tokens and client secrets
		`|whsec_[A-Za-z0-9+/=]+` + // secrets that sign webhooks
		`|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+` + // JSON web tokens
		`|://[^/@\s:]*:[^/@\s]+@`, // user names and passwords in URLs
)

// newLogger returns a logger that writes JSON without secrets. An unknown level is the same as
// info.
func newLogger(w io.Writer, level string) *slog.Logger {
	var minLevel slog.Level
	if err := minLevel.UnmarshalText([]byte(level)); err != nil {
		minLevel = slog.LevelInfo
	}

	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: minLevel, ReplaceAttr: redact}))
}

// placeholder is in the example URLs of error messages. It has the shape of a secret, but is not
// redacted.
const placeholder = "://USER:PASSWORD@"

// redactSecrets returns the text with "[redacted]" in place of each secret.
func redactSecrets(text string) string {
	return secretShapes.ReplaceAllStringFunc(text, func(secret string) string {
		if secret == placeholder {
			return secret
		}

		return "[redacted]"
	})
}

// redact removes secrets from the strings and errors of a log line. slog calls it with each attribute,
// and with the names of the groups that the attribute is in.
func redact(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(redactSecrets(v))
	case error:
		a.Value = slog.StringValue(redactSecrets(v.Error()))
	}

	return a
}

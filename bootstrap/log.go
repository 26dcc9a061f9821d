package bootstrap

import (
	"io"
	"log/slog"
	"regexp"
)

// secretShapes match the service's own tokens, keys and secrets. No code logs them on
// purpose; this protects against a future mistake.
var secretShapes = regexp.MustCompile(
	`loc_(live|test|ac|at|bs|rt|mt|cs)_[0-9A-Za-z]{8,}|whsec_[A-Za-z0-9+/=]+|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+|://[^/@\s:]*:[^/@\s]+@`,
)

// newLogger returns a logger that writes JSON without secrets. An unknown level is the same as
// info.
func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}

	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: redact}))
}

// placeholder is the password of example URLs in error messages. It is not redacted.
const placeholder = "://USER:PASSWORD@"

// redactSecrets returns the text with secrets replaced.
func redactSecrets(s string) string {
	return secretShapes.ReplaceAllStringFunc(s, func(secret string) string {
		if secret == placeholder {
			return secret
		}

		return "[redacted]"
	})
}

// redact removes secrets from the strings and errors of a log line.
func redact(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(redactSecrets(v))
	case error:
		a.Value = slog.StringValue(redactSecrets(v.Error()))
	}

	return a
}

package fiberhttp

import (
	"github.com/locumhq/locum/adapters/fiberhttp/dashboard"
	"github.com/locumhq/locum/adapters/fiberhttp/guides"
	"github.com/locumhq/locum/adapters/fiberhttp/oauth"
	"github.com/locumhq/locum/adapters/fiberhttp/pages"
)

// addPages serves the pages of those who sign in with a browser, the
// authorization server, which needs them, and the guides.
func (s *Server) addPages() error {
	frame, err := pages.New(s.services.Identity, s.services.Integrations, pages.Options{PublicURL: s.o.PublicURL, ClientIP: s.clientIP, Words: oauth.Words})
	if err != nil {
		return err
	}
	frame.Add(s.app)
	oauth.New(s.services.Integrations, frame, s.o.PublicURL, s.o.Log).Add(s.app)
	dashboard.Add(s.app, s.services.Integrations, frame, s.o.PublicURL)
	return guides.Add(s.app, frame)
}

package fiberhttp

import (
	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/integrations"
)

// requestState is the state of a request that middleware and handlers share. It is stored as a
// local value of the Fiber context.
type requestState struct {
	// framing describes the body of the request. It is nil if parseFraming has rejected the header
	// section.
	framing *framing
	// isAuthenticated is set as soon as the Authenticator of the API was called, with any result.
	isAuthenticated bool
	// caller is the developer's application that sends the request, as determined by the
	// Authenticator of the API. It is nil for unauthenticated requests and for APIs without one.
	caller *integrations.Caller
	// actor is the user for whom the operation was executed, for the log. It is the zero value for
	// guests.
	actor auth.Actor
}

type stateKey struct{}

// newState creates the state of a request, and stores it in c.
func newState(c *fiber.Ctx) *requestState {
	state := &requestState{}
	c.Locals(stateKey{}, state)
	return state
}

// stateOf returns the state of the request. It is nil until handleRequest has created it, for
// example if fasthttp cannot parse the request.
func stateOf(c *fiber.Ctx) *requestState {
	state, _ := c.Locals(stateKey{}).(*requestState)
	return state
}

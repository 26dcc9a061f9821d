package fiberhttp

import (
	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/integrations"
)

// requestState is the state of a request that middleware and handlers share. It is a Fiber
// local.
type requestState struct {
	// framing is nil for a request with a header section that was not accepted.
	framing *framing
	// isAuthenticated is set as soon as the Authenticator of the API was called.
	isAuthenticated bool
	// caller is the application that the Authenticator found, nil for none.
	caller *integrations.Caller
	// actor is the user of the operation, for the log.
	actor auth.Actor
}

type stateKey struct{}

// newState sets and returns the state of a new request.
func newState(c *fiber.Ctx) *requestState {
	state := &requestState{}
	c.Locals(stateKey{}, state)
	return state
}

// stateOf returns the state of the request. It is nil before handleRequest, which creates it.
func stateOf(c *fiber.Ctx) *requestState {
	state, _ := c.Locals(stateKey{}).(*requestState)
	return state
}

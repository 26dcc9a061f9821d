package portal

import (
	"context"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/identity"
)

// perform returns an operation that calls fn with the actor, the user who has sent the request, and the input. It
// responds with the message.
func perform[I any](fn func(ctx context.Context, actor auth.Actor, in I) error, message string) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in I) (web.Done, error) {
		return web.Message(message), fn(ctx, c.Actor, in)
	})
}

// performFrom is perform for a function that also takes the client: the address and the browser of the user.
func performFrom[I any](fn func(ctx context.Context, actor auth.Actor, in I, from identity.Client) error, message string) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in I) (web.Done, error) {
		return web.Message(message), fn(ctx, c.Actor, in, clientOf(c))
	})
}

// performAsGuest is perform for a function that needs no actor.
func performAsGuest[I any](fn func(ctx context.Context, in I) error, message string) web.Operation {
	return perform(func(ctx context.Context, _ auth.Actor, in I) error { return fn(ctx, in) }, message)
}

// performConfirmed is perform for a sensitive function, which needs an actor who is confirmed by the password or a recent
// sign-in. The function has no other input.
func performConfirmed(s *identity.Service, fn func(ctx context.Context, actor auth.Actor) error, message string) web.Operation {
	return confirmedOp(s, func(ctx context.Context, actor auth.Actor, _ Confirmation) (web.Done, error) {
		return web.Message(message), fn(ctx, actor)
	})
}

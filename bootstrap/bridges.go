package bootstrap

import (
	"context"

	"github.com/locumhq/locum/modules/identity"
)

// A bridge is a type in one of the files bridges_*.go. It implements a port of one module with
// the service of another, and only converts between the types of the modules. Its name begins
// with the module that has the port.

// userReader implements the ports with which modules read names and e-mail addresses of users.
type userReader[P ~struct{ Name, Email string }] struct{ *identity.Service }

func (b userReader[P]) ByIDs(ctx context.Context, ids []string) (map[string]P, error) {
	usersByID, err := b.People(ctx, ids)

	out := make(map[string]P, len(usersByID))
	for id, p := range usersByID {
		out[id] = P{p.Name, p.Email}
	}

	return out, err
}

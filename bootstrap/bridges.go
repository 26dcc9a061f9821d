package bootstrap

import (
	"context"

	"github.com/locumhq/locum/modules/identity"
)

// A bridge is a type in one of the files bridges_*.go. It implements a port (an interface of one
// module for data that it does not own) with the service of another module, and only converts
// between the types of the two modules. Its name begins with the module that has the port.

// userReader implements the ports with which modules read names and e-mail addresses of users. Each
// module has its own type P for them, such as hiring.Person.
type userReader[P ~struct{ Name, Email string }] struct{ *identity.Service }

// ByIDs returns the users by id. It omits users that do not exist.
func (b userReader[P]) ByIDs(ctx context.Context, ids []string) (map[string]P, error) {
	usersByID, err := b.People(ctx, ids) // nil with an error

	peopleByID := make(map[string]P, len(usersByID))
	for id, user := range usersByID {
		peopleByID[id] = P{Name: user.Name, Email: user.Email}
	}

	return peopleByID, err
}

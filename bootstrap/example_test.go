package bootstrap_test

import (
	"context"
	"errors"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/bootstrap"
)

// openCockroach stands for the store of a team of its own.
func openCockroach(_ context.Context, _ string, _ adapters.Deps) (adapters.Storage, error) {
	return adapters.Storage{}, errors.New("only an example")
}

// The whole program of somebody who brings a store.
func ExampleWithStorage() {
	main := func() { bootstrap.Main(bootstrap.WithStorage("cockroach", openCockroach)) }
	_ = main
}

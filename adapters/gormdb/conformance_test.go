package gormdb_test

import (
	"testing"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestGormdbIsAStorage(t *testing.T) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) { conformance.Storage(t, open) })
}

package adapters

import (
	"context"
	"reflect"

	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// Services are the use cases that a transport may call.
type Services struct {
	Identity     *identity.Service
	Listings     *listings.Service
	Hiring       *hiring.Service
	Seekers      *jobseeker.Service
	Billing      *billing.Service
	Integrations *integrations.Service
	Limiter      limit.Limiter
	// Idempotency executes requests with a client's key at most once.
	Idempotency *idempotency.Runner
	// PublicChanges returns the number of writes of listings and organizations, see
	// ListingsStorage.Changes and identity.Service.OrganizationChanges.
	PublicChanges func() uint64
	// JWKS is the key set that verifies access tokens (RFC 7517).
	JWKS func() []byte
	// Health reports on each adapter by name.
	Health func(ctx context.Context) map[string]Health
}

// Health is the state of an adapter. Err is nil for one that works.
type Health struct {
	Err error
	// Degraded is set if the service works without the adapter, with all or most of its
	// functions.
	Degraded bool
}

// Missing returns the names of the required ports that are nil: of a Storage,
// such as "Identity.Users", of the storage of one module, or of Services. Ports
// with the tag `port:"optional"` are not required.
func Missing(ports any) []string {
	return missing(reflect.ValueOf(ports), "")
}

// missing is Missing for the fields of v. The path leads to v.
func missing(v reflect.Value, path string) (names []string) {
	for i := range v.NumField() {
		field, f := v.Type().Field(i), v.Field(i)
		switch {
		case field.Type.Kind() == reflect.Struct && field.Anonymous:
			names = append(names, missing(f, path)...)
		case field.Type.Kind() == reflect.Struct:
			names = append(names, missing(f, path+field.Name+".")...)
		case f.IsZero() && field.Tag.Get("port") != "optional":
			names = append(names, path+field.Name)
		}
	}

	return names
}

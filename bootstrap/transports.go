package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/fiberhttp"
	"github.com/locumhq/locum/adapters/mcp"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/config"
)

// transport is an opened transport: an adapter through which clients call the services in addition to
// the HTTP server, such as one for MCP.
type transport struct {
	name string
	adapters.Transport
}

// openTransports opens the registered transports in the order of their names.
func openTransports(ctx context.Context, cfg *config.Config, r *registry, s adapters.Services, deps adapters.Deps) ([]transport, error) {
	if r.err != nil {
		return nil, r.err
	}

	var transports []transport
	for _, name := range slices.Sorted(maps.Keys(r.transport)) {
		if name == mcpTransport && !cfg.MCP.Enabled {
			continue
		}

		opened, err := runUntilDone(ctx, "it was not opened", func() (adapters.Transport, error) { return r.transport[name](ctx, s, deps) })
		if err == nil && isNil(&opened) {
			err = errors.New("its opener returned nil")
		}

		if err != nil {
			return nil, fmt.Errorf("transport %s: %w", name, err)
		}

		transports = append(transports, transport{name, opened})
	}

	return transports, nil
}

// transportMounts returns the handlers that the transports serve below paths of the HTTP server.
func transportMounts(transports []transport) (mounts []fiberhttp.Mount) {
	for _, t := range transports {
		if handler, isHTTP := t.Transport.(adapters.HTTPTransport); isHTTP {
			for _, prefix := range handler.Prefixes() {
				mounts = append(mounts, fiberhttp.Mount{Prefix: prefix, Name: "transport " + t.name, Handler: handler})
			}
		}
	}

	return mounts
}

// startTransports starts the transports. If one fails, those before it are shut down.
func startTransports(ctx context.Context, transports []transport) error {
	for i, t := range transports {
		if err := callUntilDone(ctx, "it was not started", t.Start); err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()

			started := transports[:i]

			return errors.Join(fmt.Errorf("transport %s: %w", t.name, err), shutdownTransports(ctx, started))
		}
	}

	return nil
}

// shutdownTransports shuts down all transports concurrently, until ctx ends.
func shutdownTransports(ctx context.Context, transports []transport) error {
	errs := make([]error, len(transports))

	var shutdowns sync.WaitGroup
	for i, t := range transports {
		shutdowns.Go(func() {
			if err := callUntilDone(ctx, "it did not shut down", t.Shutdown); err != nil {
				errs[i] = fmt.Errorf("transport %s: %w", t.name, err)
			}
		})
	}

	shutdowns.Wait()

	return errors.Join(errs...)
}

// callUntilDone calls a method of a transport as runUntilDone does.
func callUntilDone(ctx context.Context, failure string, method func(context.Context) error) error {
	_, err := runUntilDone(ctx, failure, func() (none struct{}, err error) { return none, method(ctx) })
	return err
}

// mcpTransport is the name of the transport for the Model Context Protocol (MCP). It is opened only if
// the setting mcp.enabled is true.
const mcpTransport = "mcp"

// openMCP opens the transport for MCP, with which assistants call the routes of the developer interface
// as tools.
func openMCP(_ context.Context, services adapters.Services, deps adapters.Deps) (adapters.Transport, error) {
	options := mcp.Options{
		API: developer.API(services, deps.PublicURL),
		Admission: web.Admission{
			Identity:    services.Identity,
			Limiter:     services.Limiter,
			Idempotency: services.Idempotency,
			Tracer:      deps.Tracer,
		},
		Hiring:    services.Hiring,
		PublicURL: deps.PublicURL,
	}
	if services.Integrations != nil { // the command that lists routes has no services
		options.Vault = services.Integrations.Vault
	}

	return mcp.New(options)
}

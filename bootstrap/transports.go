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

	var all []transport
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

		all = append(all, transport{name, opened})
	}

	return all, nil
}

// transportMounts returns the handlers that the transports serve below paths of the HTTP server.
func transportMounts(all []transport) (mounts []fiberhttp.Mount) {
	for _, t := range all {
		if h, ok := t.Transport.(adapters.HTTPTransport); ok {
			for _, prefix := range h.Prefixes() {
				mounts = append(mounts, fiberhttp.Mount{Prefix: prefix, Name: "transport " + t.name, Handler: h})
			}
		}
	}

	return mounts
}

// startTransports starts the transports. If one fails, those before it are shut down.
func startTransports(ctx context.Context, all []transport) error {
	for i, t := range all {
		if _, err := runUntilDone(ctx, "it was not started", func() (any, error) { return nil, t.Start(ctx) }); err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			return errors.Join(fmt.Errorf("transport %s: %w", t.name, err), shutdownTransports(ctx, all[:i]))
		}
	}

	return nil
}

// shutdownTransports shuts down all transports concurrently, until ctx ends.
func shutdownTransports(ctx context.Context, all []transport) error {
	errs := make([]error, len(all))

	var ending sync.WaitGroup
	for i, t := range all {
		ending.Go(func() {
			if _, err := runUntilDone(ctx, "it did not shut down", func() (any, error) { return nil, t.Shutdown(ctx) }); err != nil {
				errs[i] = fmt.Errorf("transport %s: %w", t.name, err)
			}
		})
	}

	ending.Wait()

	return errors.Join(errs...)
}

// mcpTransport is the name of the server of the Model Context Protocol, which mcp.enabled
// disables.
const mcpTransport = "mcp"

// openMCP opens the transport for MCP, which offers the routes of the developer interface as
// tools.
func openMCP(_ context.Context, s adapters.Services, deps adapters.Deps) (adapters.Transport, error) {
	o := mcp.Options{
		API:       developer.API(s, deps.PublicURL),
		Admission: web.Admission{Identity: s.Identity, Limiter: s.Limiter, Idempotency: s.Idempotency, Tracer: deps.Tracer},
		Hiring:    s.Hiring,
		PublicURL: deps.PublicURL,
	}
	if s.Integrations != nil { // no services are needed to list routes
		o.Vault = s.Integrations.Vault
	}

	return mcp.New(o)
}

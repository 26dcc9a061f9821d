// Package pins is a module that lets jobseekers pin jobs: with operations of the portal and of
// the developer interface, a page, a table, a mail when a pinned job closes, and the deletion of
// pins that are older than a year. Register Module with bootstrap.WithModule.
package pins

import (
	"context"
	"embed"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/bootstrap"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/integrations"
)

//go:embed *.sql
var migrations embed.FS

const (
	mailKind   = "pins.mail-closed"
	expireKind = "pins.expire"
)

// Module is the module.
var Module = bootstrap.Module{
	Name:       "pins",
	Migrations: migrations,
	Routes:     routes,
	Pages: func(d bootstrap.ModuleDeps) []bootstrap.Page {
		return []bootstrap.Page{{Path: "/pins", Handler: page{Service{d}}}}
	},
	Subscriptions: func(d bootstrap.ModuleDeps) []event.Subscription {
		return []event.Subscription{
			event.On("pins.job-closed", Service{d}.OnJobClosed),
			event.On("pins.account-deleted", Service{d}.OnAccountDeleted),
		}
	},
	Tasks: func(d bootstrap.ModuleDeps) []task.Handler {
		return []task.Handler{task.Handle(mailKind, task.Mail, Service{d}.sendMail)}
	},
	Periodic: func(d bootstrap.ModuleDeps) []task.Periodic {
		return []task.Periodic{{Kind: expireKind, Every: 24 * time.Hour, Do: Service{d}.Expire}}
	},
}

func routes(d bootstrap.ModuleDeps) []web.Route {
	const tag = "Pinned jobs"
	s := Service{d}

	return []web.Route{
		{
			Method:   http.MethodGet,
			Path:     "/api/pins",
			Auth:     web.Required,
			Audience: web.Seeker,
			Tag:      tag,
			Summary:  "The jobs that the caller has pinned, the latest first",
			Op: web.Op(
				func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[pinsView], error) {
					pins, err := s.List(ctx, c.Actor)
					return web.OK(pinsView{pins}, ""), err
				}),
		},
		{
			Method:   http.MethodPut,
			Path:     "/api/pins/:id",
			Auth:     web.Required,
			Audience: web.Seeker,
			Limit:    web.PerQuarterHour(60),
			Errors:   []int{404, 409},
			Tag:      tag,
			Summary:  "Pin a job",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in pinInput) (web.Done, error) {
					return web.Message("Job pinned"), s.Pin(ctx, c.Actor, in.ID, in.Note)
				}),
		},
		{
			Method:   http.MethodDelete,
			Path:     "/api/pins/:id",
			Auth:     web.Required,
			Audience: web.Seeker,
			Errors:   []int{404},
			Tag:      tag,
			Summary:  "Remove a pin",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in pinPath) (web.Done, error) {
					return web.Message("Pin removed"), s.Remove(ctx, c.Actor, in.ID)
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/v1/pins/popular",
			Scope:   integrations.JobsRead,
			Tag:     tag,
			Summary: "The jobs that most jobseekers have pinned in the last week",
			Op: web.Op(
				func(ctx context.Context, _ web.Call, _ web.Nothing) (popularView, error) {
					popular, err := s.Popular(ctx)
					return popularView{popular}, err
				}),
		},
	}
}

type pinPath struct {
	ID string `path:"id"`
}

type pinInput struct {
	pinPath
	Note string `json:"note" validate:"max=200"`
}

type pinsView struct {
	Pins []Pin `json:"pins"`
}

type popularView struct {
	Jobs []Popular `json:"jobs"`
}

package adapters

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// SetDefaults replaces optional ports that are nil. Without these ports, views, usage and
// activities are not stored, their counts are zero, and exports are refused.
func (s *Storage) SetDefaults() {
	if s.Listings.Views == nil {
		s.Listings.Views = noViews{}
	}

	if s.Hiring.Exports == nil {
		s.Hiring.Exports = noExports{}
	}

	if s.Jobseeker.Activities == nil {
		s.Jobseeker.Activities = noActivities{}
	}

	if s.Integrations.Usage == nil {
		s.Integrations.Usage = noUsage{}
	}
}

// noViews counts no views of listings.
type noViews struct{}

func (noViews) Add(context.Context, []listings.Visit) error { return nil }

func (noViews) GetOrCreateSalt(_ context.Context, _, fresh string) (string, error) { return fresh, nil }

func (noViews) Get(context.Context, string, []string) (map[string]int, error) { return nil, nil }

// noActivities records nothing, so that the history of every user is empty.
type noActivities struct{}

func (noActivities) Create(context.Context, jobseeker.Activity) error { return nil }

func (noActivities) List(context.Context, string, page.Request) (out page.Result[jobseeker.Activity], err error) {
	return out, nil
}

// noUsage counts no requests of apps.
type noUsage struct{}

func (noUsage) Add(context.Context, []integrations.DayUsage, map[string]time.Time) error { return nil }

func (noUsage) List(context.Context, string, string, string) ([]integrations.DayUsage, error) {
	return nil, nil
}

// noExports refuses exports: unlike a count, an export that a user asks for must not be lost
// silently.
type noExports struct{}

var errNoExports = fault.New(fault.Unavailable, "exports_unavailable", "This server does not store exports")

func (noExports) Create(context.Context, hiring.Export, int) error { return errNoExports }

func (noExports) Get(context.Context, string, string) (hiring.Export, error) {
	return hiring.Export{}, hiring.ErrExportNotFound
}

func (noExports) List(context.Context, hiring.ExportFilter, int) ([]hiring.Export, error) {
	return nil, nil
}

func (noExports) Update(context.Context, hiring.Export) error { return hiring.ErrExportNotFound }

func (noExports) Delete(context.Context, []string) error { return nil }

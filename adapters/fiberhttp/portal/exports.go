package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/modules/hiring"
)

func exportRoutes(s *hiring.Service) []web.Route {
	const tag = "Exports"
	return []web.Route{
		{Method: http.MethodPost, Path: "/api/employers/exports", Auth: web.Required, Who: web.Employer, Status: 202, Errors: []int{409}, Tag: tag, Summary: "Write the organization's jobs or applications into a file, in the background", Op: web.Op(
			func(ctx context.Context, c web.Call, in hiring.ExportInput) (web.Reply[exportView], error) {
				e, err := s.StartExport(ctx, c.Actor, in)
				return web.OK(viewExport(hiring.ExportView{Export: e}), "Export started"), err
			})},
		{Method: http.MethodGet, Path: "/api/employers/exports/:id", Auth: web.Required, Who: web.Employer, Tag: tag, Summary: "How far an export is and, once it is done, a link to its file", Op: web.Op(
			func(ctx context.Context, c web.Call, in ExportPath) (web.Reply[exportView], error) {
				v, err := s.MyExport(ctx, c.Actor, in.ID)
				return web.OK(viewExport(v), ""), err
			})},
		{Method: http.MethodGet, Path: "/api/employers/exports/:id/file", Errors: []int{401}, Tag: tag, Summary: "The file of an export, for whoever holds the link to it", Op: web.Op(
			func(ctx context.Context, _ web.Call, in ExportLink) (web.CSV, error) {
				d, err := s.OpenExport(ctx, in.ID, in.Token)
				return web.CSV(d), err
			})},
	}
}

// ExportPath names an export.
type ExportPath struct {
	ID string `path:"id"`
}

// ExportLink is an export's link.
type ExportLink struct {
	ExportPath
	Token string `query:"token" validate:"max=4096"`
}

type exportView struct {
	ID        string             `json:"id"`
	Kind      string             `json:"kind"`
	Status    hiring.ExportState `json:"status"`
	RowsDone  int                `json:"rowsDone"`
	RowsTotal int                `json:"rowsTotal"`
	CreatedAt time.Time          `json:"createdAt"`
	// FinishedAt, URL and ExpiresAt are null before the end.
	FinishedAt *time.Time `json:"finishedAt"`
	URL        *string    `json:"url"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

func viewExport(v hiring.ExportView) exportView {
	out := exportView{ID: v.ID, Kind: v.Kind, Status: v.State, RowsDone: v.RowsDone, RowsTotal: v.RowsTotal, CreatedAt: v.CreatedAt, FinishedAt: v.FinishedAt, ExpiresAt: v.ExpiresAt}
	if v.URL != "" {
		out.URL = &v.URL
	}
	return out
}

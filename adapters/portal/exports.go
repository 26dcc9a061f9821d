package portal

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
)

// exportRoutes returns the routes with which employers export their jobs and applications as CSV. An export is either the
// response itself, or a file that is written in the background and then downloaded by a link.
func exportRoutes(s *hiring.Service) []web.Route {
	const tag = "Exports"

	return []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/jobs/export",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.AnyPermission,
			Errors:     []int{409},
			Tag:        tag,
			Summary:    "Export the organization's listings in every state as CSV",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in JobsExportInput) (web.CSV, error) {
					if in.Format != "csv" {
						return web.CSV{}, errOnlyCSV
					}

					table, err := s.ExportNow(ctx, c.Actor, "jobs", hiring.ExportFilters{Status: optional(in.Status)})

					return web.CSV(table), err
				}).MapFaults(renameParameters),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/export",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.ApplicationsView,
			Errors:     []int{409},
			Tag:        tag,
			Summary:    "Export the applications to the organization's listings as CSV",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ApplicationsExportInput) (web.CSV, error) {
					if in.Format != "csv" {
						return web.CSV{}, errOnlyCSV
					}

					table, err := s.ExportNow(ctx, c.Actor, "applications", hiring.ExportFilters{
						Status:    optional(in.Status),
						JobID:     optional(in.JobID),
						StartDate: optional(in.StartDate),
						EndDate:   optional(in.EndDate),
					})

					return web.CSV(table), err
				}).MapFaults(renameParameters),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/exports",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.AnyPermission,
			Status:     202,
			Errors:     []int{409},
			Tag:        tag,
			Summary:    "Export the organization's jobs or applications to a file in the background",
			Op: answerWith(s.StartExport,
				// An export that has just started has no link to its file yet.
				func(e hiring.Export) exportView { return viewExport(hiring.ExportView{Export: e}) },
				"Export started"),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/exports/:id",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.AnyPermission,
			Tag:        tag,
			Summary:    "Get the progress of an export and, once it is completed, a link to its file",
			Op:         getByID(s.MyExport, viewExport),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/employers/exports/:id/file",
			Errors:  []int{401, 403},
			Tag:     tag,
			Summary: "Download the file of an export by its link, while the user for whom the link was made may read it",
			Op: web.Op(
				func(ctx context.Context, _ web.Call, in ExportLink) (web.CSV, error) {
					table, err := s.OpenExport(ctx, in.ID, in.Token)
					return web.CSV(table), err
				}),
		},
	}
}

// errOnlyCSV is the error for a request whose parameter format is not csv.
var errOnlyCSV = fault.New(fault.Invalid, "only_csv", "Only CSV format is supported")

// JobsExportInput has the filters and the format of an export of listings.
type JobsExportInput struct {
	Format string `query:"format" default:"csv"`
	Status string `query:"status"`
}

// ApplicationsExportInput has the filters and the format of an export of applications.
type ApplicationsExportInput struct {
	Format string `query:"format" default:"csv"`
	hiring.StatsInput
}

// renameParameters renames the fields of a fault to query parameters. The module reports fields such as filters.status,
// whose parameter is status.
func renameParameters(f *fault.Error) *fault.Error {
	return f.WithFields(web.Each(f.Fields, func(field fault.Field) fault.Field {
		field.Name = strings.TrimPrefix(field.Name, "filters.")
		return field
	})...)
}

// FormatInput selects the format of the response, JSON or CSV.
type FormatInput struct {
	Format string `query:"format" default:"json" validate:"oneof=json csv"`
}

// ownExportRoutes returns the routes with which jobseekers export their own data.
func ownExportRoutes(applications *hiring.Service, seekers *jobseeker.Service) []web.Route {
	return routesFor(web.Seeker, "Exports", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/export/applications",
			Errors:  []int{409},
			Summary: "Export the caller's applications as JSON or CSV",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in FormatInput) (web.MultiFormat[ownExportView], error) {
					if in.Format == "csv" {
						table, err := applications.ExportOwnTable(ctx, c.Actor)
						return web.AsTable[ownExportView](web.CSV(table)), err
					}

					exported, err := applications.ExportOwn(ctx, c.Actor)
					v := ownExportView{web.Each(exported, viewExported)}

					return web.MultiFormat[ownExportView]{Reply: web.OK(v, "")}, err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/export/profile",
			Summary: "Export the caller's profile as JSON or CSV",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in FormatInput) (web.MultiFormat[profileExportView], error) {
					if in.Format == "csv" {
						table, err := seekers.ExportProfile(ctx, c.Actor)
						return web.AsTable[profileExportView](web.CSV(table)), err
					}

					account, err := seekers.MyProfile(ctx, c.Actor)
					profile := viewProfile(account)
					var v profileExportView
					v.Profile.UUID = profile.ID
					v.Profile.Email = profile.Email
					v.Profile.Profile = profile

					return web.MultiFormat[profileExportView]{Reply: web.OK(v, "")}, err
				}),
		},
	})
}

type exportedApplication struct {
	ownApplicationRow
	Company string `json:"company"`
}

func viewExported(a hiring.View) exportedApplication {
	return exportedApplication{ownApplicationRow: viewOwnRow(a), Company: a.Company}
}

type ownExportView struct {
	Applications []exportedApplication `json:"applications"`
}

type profileExportView struct {
	Profile struct {
		UUID    string      `json:"uuid"`
		Email   string      `json:"email"`
		Profile profileView `json:"profile"`
	} `json:"profile"`
}

// ExportLink is the input of a download by the link of an export. The token takes the place of a sign-in, so that browsers
// can open the link.
type ExportLink struct {
	IDPath
	Token string `query:"token" validate:"max=4096"`
}

// exportView is the progress of an export to a file. Kind is the exported table, jobs or applications.
type exportView struct {
	ID        string             `json:"id"`
	Kind      string             `json:"kind"`
	Status    hiring.ExportState `json:"status"`
	RowsDone  int                `json:"rowsDone"`
	RowsTotal int                `json:"rowsTotal"`
	CreatedAt time.Time          `json:"createdAt"`
	// FinishedAt, URL and ExpiresAt are null until the export is done.
	FinishedAt *time.Time `json:"finishedAt"`
	URL        *string    `json:"url"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

func viewExport(v hiring.ExportView) exportView {
	return exportView{
		ID:         v.ID,
		Kind:       v.Kind,
		Status:     v.State,
		RowsDone:   v.RowsDone,
		RowsTotal:  v.RowsTotal,
		CreatedAt:  v.CreatedAt,
		FinishedAt: v.FinishedAt,
		URL:        optional(v.URL),
		ExpiresAt:  v.ExpiresAt,
	}
}

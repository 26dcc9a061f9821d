package jobseeker

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
)

// Table is a file to be read, of rows in CSV.
type Table struct {
	Name string
	Size int64 // in bytes
	Body io.ReadCloser
}

// ExportProfile returns the caller's profile and preferences as a table of one row.
func (s *Service) ExportProfile(ctx context.Context, by auth.Actor) (Table, error) {
	a, err := s.MyProfile(ctx, by)
	if err != nil {
		return Table{}, err
	}
	amount := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'f', -1, 64)
	}
	radius := ""
	if a.LocationRadius > 0 {
		radius = strconv.Itoa(a.LocationRadius)
	}
	var page csvfile.Page
	page.Row([]string{"uuid", "email", "name", "first_name", "last_name", "bio", "phone", "location", "specialty", "current_role", "experience",
		"preferred_location", "location_radius", "employment_types", "salary_min", "salary_max", "show_profile", "job_alerts", "email_notifications"})
	page.Row([]string{a.UserID, a.Email, a.Name, a.First(), a.Last(), a.Bio, a.Phone, a.Location, a.Specialty, a.CurrentRole, a.Experience,
		a.PreferredLocation, radius, strings.Join(a.EmploymentTypes, ", "), amount(a.SalaryMin), amount(a.SalaryMax),
		strconv.FormatBool(a.ShowProfile), strconv.FormatBool(a.JobAlerts), strconv.FormatBool(a.EmailNotifications)})
	text := page.Bytes()
	return Table{Name: "locum-my-profile-" + s.Clock.Now().Format("20060102") + ".csv", Size: int64(len(text)), Body: io.NopCloser(bytes.NewReader(text))}, nil
}

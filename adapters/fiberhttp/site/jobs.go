package site

import (
	"context"
	"errors"
	"html/template"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/listings"
)

// homeView is the first page.
type homeView struct {
	Form        searchForm
	Total       int
	Newest      []result
	Roles       []filterValue
	Specialties []filterValue
	Canonical   string
}

const (
	homeJobs   = 6
	homeValues = 12
)

// readContext allows reads for guests to be a little old.
func readContext(ctx context.Context, who *pages.Viewer) context.Context {
	if who == nil {
		return tx.AllowStale(ctx, web.MaxStale)
	}
	return ctx
}

func actorOf(who *pages.Viewer) auth.Actor {
	if who == nil {
		return auth.Actor{}
	}
	return who.Actor()
}

func (s *Site) home(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := listings.FindInput{Page: page.Request{Number: 1, Size: homeJobs}, Sort: string(listings.ByDate), Facets: []string{"role", "specialty"}}
	found, err := s.services.Listings.Find(readContext(ctx, who), actorOf(who), in)
	if err != nil {
		return err
	}
	v := homeView{Form: newSearchForm(nil), Total: found.Total, Newest: s.results(found.Items, false), Canonical: s.publicURL + "/"}
	for _, value := range found.Facets["role"][:min(homeValues, len(found.Facets["role"]))] {
		v.Roles = append(v.Roles, filterValue{Value: value.Value, Label: capital(value.Label), Count: value.Count})
	}
	for _, value := range found.Facets["specialty"][:min(homeValues, len(found.Facets["specialty"]))] {
		v.Specialties = append(v.Specialties, filterValue{Value: value.Value, Label: capital(value.Label), Count: value.Count})
	}
	return s.render(c, homePage, who, v)
}

// render renders a page that caches may store for guests.
func (s *Site) render(c *fiber.Ctx, page *template.Template, who *pages.Viewer, view any) error {
	if err := s.renderer.Render(c, fiber.StatusOK, page, who, view); err != nil {
		return err
	}
	s.renderer.SetCaching(c)
	return nil
}

// jobsView is a page of results.
type jobsView struct {
	Form        searchForm
	Problem     string
	Total       int
	Exact       []result
	Relaxed     []result
	Chips       []chip
	Filters     []filterGroup
	Corrections []correction
	Suggestions []suggestion
	Pages       []pageLink
	Next        string
	From, To    int
	Sorts       []pages.Choice
	Canonical   string
	Atom        string
	// CanSave is set if the viewer can save the search.
	CanSave bool
	// AlertPath is the form of guests for e-mails about new jobs of the search.
	AlertPath string
}

type correction struct{ From, To string }

type suggestion struct {
	Text, Path string
	Total      int
}

type pageLink struct {
	Number  int
	Path    string
	Current bool
}

var sorts = []pages.Choice{
	{Value: "", Text: "Best match"}, {Value: "date", Text: "Newest"}, {Value: "salary", Text: "Highest pay"}, {Value: "distance", Text: "Nearest"}, {Value: "title", Text: "Title"},
}

func (s *Site) jobs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	sent := query(c)
	v := jobsView{Form: newSearchForm(sent), Sorts: sorts}
	v.Canonical, v.Atom = s.publicURL+v.Form.Path("/jobs"), v.Form.Path("/feeds/jobs.atom")
	v.CanSave = who != nil && who.Actor().Seeker && v.Form.Get("q")+v.Form.Get("where")+v.Form.Get("contract") != ""
	if who == nil {
		v.AlertPath = newSearchForm(nil).Path(alertsPath, "q", v.Form.Get("q"), "where", v.Form.Get("where"), "contract", v.Form.Get("contract"))
	}
	in := v.Form.input(time.Now())
	in.Page, in.Facets = pageOf(sent, pageSize), facetNames()
	found, err := s.services.Listings.Find(readContext(ctx, who), actorOf(who), in)
	if err != nil {
		if v.Problem, err = messageOf(err); err != nil {
			return err
		}
		return s.renderer.Render(c, fiber.StatusBadRequest, jobsPage, who, &v)
	}
	v.Total, v.Filters = found.Total, v.Form.filters(found.Facets)
	v.Exact, v.Relaxed = s.results(found.Items, false), s.results(found.Items, true)
	v.Chips = v.Form.chips(found, v.Filters)
	for _, k := range found.Corrections {
		v.Corrections = append(v.Corrections, correction(k))
	}
	for _, k := range found.Suggestions {
		v.Suggestions = append(v.Suggestions, suggestion{Text: k.Text, Total: k.Total, Path: newSearchForm(nil).Path("/jobs", "q", k.Text)})
	}
	v.paginate(in.Page, found.NextCursor)
	return s.render(c, jobsPage, who, &v)
}

// paginate sets the links to other pages. Pages beyond the last numbered one follow a
// cursor.
func (v *jobsView) paginate(r page.Request, next string) {
	if r.Cursor == "" {
		v.From = (r.Number-1)*r.Size + 1
		v.To = v.From + len(v.Exact) - 1
		const around = 2
		last := min((v.Total+r.Size-1)/r.Size, page.MaxExact/r.Size)
		for n := 1; n <= last; n++ {
			if n == 1 || n == last || n >= r.Number-around && n <= r.Number+around {
				v.Pages = append(v.Pages, pageLink{n, v.Form.Path("/jobs", "page", strconv.Itoa(n)), n == r.Number})
			}
		}
		if r.Number < last {
			return
		}
	}
	if next != "" {
		v.Next = v.Form.Path("/jobs", "after", next)
	}
}

// jobView is the page of a job.
type jobView struct {
	listings.Listing
	URL          string
	Facts        []fact
	Text         template.HTML
	Posting      map[string]any
	Similar      []result
	EmployerPath string
	DaysLeft     string
	// IsOpen is false for a job that was closed or expired lately.
	IsOpen bool
	// State is what the viewer has done with the job.
	State myState
	// IsVerified is set if the employer is verified. ShowsVerification shows it.
	IsVerified, ShowsVerification bool
}

// fact is a labelled property of a job.
type fact struct{ Label, Text string }

func (s *Site) newJobView(l listings.Listing, isOpen bool) jobView {
	v := jobView{Listing: l, IsOpen: isOpen, URL: s.publicURL + jobPath(l), Facts: factsOf(l), Text: markdown(l.Description), EmployerPath: employerPath(l.OrganizationID, l.Company)}
	if l.Deadline != nil && isOpen {
		v.DaysLeft = daysLeft(*l.Deadline, time.Now())
	}
	return v
}

func (s *Site) job(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	l, isOpen, err := s.services.Listings.Page(readContext(ctx, who), actorOf(who), c.Params("id"))
	if errors.Is(err, listings.ErrGone) {
		return s.renderGone(c, who)
	}
	if err != nil {
		return s.renderMissing(c, who, err, "Job not found")
	}
	if isOpen {
		s.seen(c, who, l.ID)
	}
	v := s.newJobView(l, isOpen)
	if isOpen {
		v.Posting = posting(l, v.URL, v.Text)
	}
	employers, err := s.services.Identity.OrganizationsOf(ctx, []string{l.OrganizationID})
	if err != nil {
		return err
	}
	employer := employers[l.OrganizationID]
	v.IsVerified, v.ShowsVerification = employer.IsVerified(), true
	if v.Similar, err = s.similar(ctx, l); err != nil {
		return err
	}
	if v.State, err = s.stateOf(ctx, who, l.ID); err != nil {
		return err
	}
	c.Set(fiber.HeaderLink, "<"+v.URL+`>; rel="canonical"`)
	return s.render(c, jobPage, who, v)
}

const similarJobs = 4

// similar returns other jobs with the title, near the job. A search that is not possible
// now, or not with this title, has no results.
func (s *Site) similar(ctx context.Context, l listings.Listing) ([]result, error) {
	in := listings.FindInput{Text: l.Title, Page: page.Request{Number: 1, Size: similarJobs + 1}}
	if r := []rune(in.Text); len(r) > 80 {
		in.Text = string(r[:80])
	}
	if l.Place != nil {
		in.Filters.Location, in.Filters.Radius = l.Location, new(50.0)
	}
	found, err := s.services.Listings.Find(tx.AllowStale(ctx, web.MaxStale), auth.Actor{}, in)
	if err != nil {
		if _, err = messageOf(err); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		return nil, nil
	}
	var out []result
	for _, r := range append(s.results(found.Items, false), s.results(found.Items, true)...) {
		if r.ID != l.ID && len(out) < similarJobs {
			out = append(out, r)
		}
	}
	return out, nil
}

// Radii returns the distances of the filter.
func (*jobsView) Radii() []pages.Choice {
	return []pages.Choice{{Value: "", Text: "Within 10 miles"}, {Value: "5", Text: "Within 5 miles"}, {Value: "25", Text: "Within 25 miles"}, {Value: "50", Text: "Within 50 miles"}, {Value: "100", Text: "Within 100 miles"}}
}

// Ages returns the times since publication of the filter.
func (*jobsView) Ages() []pages.Choice {
	return []pages.Choice{{Value: "", Text: "At any time"}, {Value: "1", Text: "In the last day"}, {Value: "3", Text: "In the last 3 days"}, {Value: "7", Text: "In the last week"}, {Value: "30", Text: "In the last month"}}
}

// Places returns the places of work of the filter.
func (*jobsView) Places() []pages.Choice {
	return []pages.Choice{{Value: "", Text: "On site or remote"}, {Value: "yes", Text: "Remote"}, {Value: "no", Text: "On site"}}
}

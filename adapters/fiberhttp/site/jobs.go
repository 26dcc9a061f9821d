package site

import (
	"context"
	"errors"
	"html/template"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// homeView is the home page.
type homeView struct {
	Form        searchForm
	Total       int
	Newest      []result
	Roles       []filterValue
	Specialties []filterValue
	Canonical   string
}

// The numbers of jobs, and of roles and specialties, on the home page.
const (
	maxHomeJobs         = 6
	maxHomeFilterValues = 12
)

// readContext allows cached reads, at most web.MaxStale old, for guests. Signed-in users see
// their own changes at once.
func readContext(ctx context.Context, viewer *pages.Viewer) context.Context {
	if viewer == nil {
		return tx.AllowStale(ctx, web.MaxStale)
	}

	return ctx
}

// actorOf returns the actor of the viewer, and an anonymous actor for guests.
func actorOf(viewer *pages.Viewer) auth.Actor {
	if viewer == nil {
		return auth.Actor{}
	}

	return viewer.Actor()
}

// home shows the search form, the newest jobs and the most frequent roles and specialties.
func (s *Site) home(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := listings.FindInput{
		Page:   page.Request{Number: 1, Size: maxHomeJobs},
		Sort:   string(listings.ByDate),
		Facets: []string{"role", "specialty"},
	}

	results, err := s.services.Listings.Find(readContext(ctx, viewer), actorOf(viewer), in)
	if err != nil {
		return err
	}

	v := homeView{Form: newSearchForm(nil), Total: results.Total, Newest: s.results(results.Items, false), Canonical: s.publicURL + "/"}
	v.Roles, v.Specialties = homeFilterValues(results.Facets["role"]), homeFilterValues(results.Facets["specialty"])

	return s.render(c, homePage, viewer, v)
}

// homeFilterValues returns the values of a facet with the most jobs. A facet is a property by whose values the jobs
// are counted, such as the role.
func homeFilterValues(facet []listings.FacetValue) []filterValue {
	return web.Each(facet[:min(maxHomeFilterValues, len(facet))], func(value listings.FacetValue) filterValue {
		return filterValue{Value: value.Value, Label: capitalize(value.Label), Count: value.Count}
	})
}

// render renders a public page. Caches may store it if the viewer is a guest.
func (s *Site) render(c *fiber.Ctx, page *template.Template, viewer *pages.Viewer, view any) error {
	if err := s.renderer.Render(c, fiber.StatusOK, page, viewer, view); err != nil {
		return err
	}

	s.renderer.SetCaching(c)

	return nil
}

// jobsView is a page of search results.
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
	// UnknownPlace is the place of the search if it is not known, and Everywhere the path of
	// the search without it.
	UnknownPlace, Everywhere string
	// PlaceSuggestions are searches in places whose names begin like UnknownPlace.
	PlaceSuggestions []suggestion
	// CanSave is set if the viewer can save the search.
	CanSave bool
	// AlertQuery is the query of the search as a saved search.
	AlertQuery string
	// AlertPath is the form of guests for e-mails about new jobs of the search.
	AlertPath string
	// NotInAlerts lists the selected filters that saved searches and alerts do not have.
	NotInAlerts string
	// WithoutFilters is the path of the search without filters, empty if none is selected.
	WithoutFilters string
}

// correction is a misspelt word that the search replaced.
type correction struct{ From, To string }

// suggestion is another search, for a search without results.
type suggestion struct {
	Text, Path string
	Total      int
}

// pageLink is a link to another page of the results.
type pageLink struct {
	Number  int
	Path    string
	Current bool
}

// sorts are the orders of results.
var sorts = []pages.Choice{
	{Value: "", Text: "Best match"},
	{Value: "date", Text: "Newest"},
	{Value: "salary", Text: "Highest pay"},
	{Value: "distance", Text: "Nearest"},
	{Value: "title", Text: "Title"},
}

// jobs shows the results of a search. A mistake in the search is explained on the page.
func (s *Site) jobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	query := queryValues(c)
	v := jobsView{Form: newSearchForm(query), Sorts: sorts}
	v.Canonical, v.Atom = s.publicURL+v.Form.Path("/jobs"), v.Form.Path("/feeds/jobs.atom")
	v.WithoutFilters = v.Form.withoutFilters()
	in := v.Form.input(s.now())
	in.Page, in.Facets = pageRequest(query, pageSize), facetNames()

	results, err := s.services.Listings.Find(readContext(ctx, viewer), actorOf(viewer), in)
	if err != nil {
		if v.Problem, err = inputErrorMessage(err); err != nil {
			return err
		}

		return s.renderer.Render(c, fiber.StatusBadRequest, jobsPage, viewer, &v)
	}

	v.Total, v.Filters = results.Total, v.Form.filters(results.Facets)
	v.Exact, v.Relaxed = s.results(results.Items, false), s.results(results.Items, true)
	v.Chips = v.Form.chips(results, v.Filters)
	v.AlertQuery, v.NotInAlerts = v.Form.alertQuery(v.Filters), v.Form.notInAlerts()

	where, contract := v.Form.Get("where"), v.Form.Get("contract")
	isSeeker := viewer != nil && viewer.Actor().Seeker

	v.CanSave = isSeeker && v.AlertQuery+where+contract != "" // a search for all jobs cannot be saved
	if viewer == nil {
		v.AlertPath = newSearchForm(nil).Path(alertsPath, "q", v.AlertQuery, "where", where, "contract", contract)
	}

	for _, k := range results.Corrections {
		v.Corrections = append(v.Corrections, correction(k))
	}

	for _, k := range results.Suggestions {
		v.Suggestions = append(v.Suggestions, suggestion{Text: k.Text, Total: k.Total, Path: newSearchForm(nil).Path("/jobs", "q", k.Text)})
	}

	if results.IsUnknownPlace {
		if err := s.explainUnknownPlace(ctx, viewer, &v); err != nil {
			return err
		}
	}

	v.paginate(in.Page, results.NextCursor)

	return s.render(c, jobsPage, viewer, &v)
}

const (
	// placePrefix is the number of letters with which suggested places begin like an unknown one.
	placePrefix = 3
	// maxPlaceSuggestions is the number of places that are suggested for an unknown one.
	maxPlaceSuggestions = 5
)

// explainUnknownPlace adds the unknown place of the search to the page and, if there are no
// results, places with jobs whose names begin like it.
func (s *Site) explainUnknownPlace(ctx context.Context, viewer *pages.Viewer, v *jobsView) error {
	v.UnknownPlace, v.Everywhere = v.Form.Get("where"), v.Form.Path("/jobs", "where", "", "radius", "")
	if v.Total > 0 {
		return nil
	}

	prefix := []rune(v.UnknownPlace)

	completions, err := s.services.Listings.Complete(readContext(ctx, viewer), actorOf(viewer), string(prefix[:min(placePrefix, len(prefix))]))
	if err != nil {
		return err
	}

	for _, k := range completions {
		if k.Kind == search.SlotPlace && len(v.PlaceSuggestions) < maxPlaceSuggestions {
			path := v.Form.Path("/jobs", "where", k.Text)
			v.PlaceSuggestions = append(v.PlaceSuggestions, suggestion{Text: k.Text, Total: k.Total, Path: path})
		}
	}

	return nil
}

// paginate sets the links to the first and last page, and to the neighbours of the current
// page. Results after page.MaxExact have no page numbers: a link to the next page with the cursor leads to them.
func (v *jobsView) paginate(r page.Request, nextCursor string) {
	if r.Cursor == "" {
		v.From = (r.Number-1)*r.Size + 1
		v.To = v.From + len(v.Exact) - 1
		const neighbours = 2 // on each side

		last := min((v.Total+r.Size-1)/r.Size, page.MaxExact/r.Size)
		for n := 1; n <= last; n++ {
			isNeighbour := n >= r.Number-neighbours && n <= r.Number+neighbours
			if n == 1 || n == last || isNeighbour {
				v.Pages = append(v.Pages, pageLink{Number: n, Path: v.Form.Path("/jobs", "page", strconv.Itoa(n)), Current: n == r.Number})
			}
		}

		if r.Number < last {
			return
		}
	}

	if nextCursor != "" {
		v.Next = v.Form.Path("/jobs", "after", nextCursor)
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
	// IsOpen is false for a job that was closed or has expired. Its page stays for some time.
	IsOpen bool
	State  viewerState
	// IsVerified is set if the employer is verified. ShowsVerification is set on the public
	// page, but not in the preview.
	IsVerified, ShowsVerification bool
	VerifiedDomain                string // of an employer that is verified by its domain
}

// fact is a labelled property of a job.
type fact struct{ Label, Text string }

// newJobView collects what the page of a job and its preview show.
func (s *Site) newJobView(l listings.Listing, isOpen bool) jobView {
	v := jobView{
		Listing:      l,
		IsOpen:       isOpen,
		URL:          s.publicURL + jobPath(l),
		Facts:        jobFacts(l),
		Text:         markdown(l.Description),
		EmployerPath: employerPath(l.OrganizationID, l.Company),
	}
	if l.Deadline != nil && isOpen {
		v.DaysLeft = daysLeft(*l.Deadline, s.now())
	}

	return v
}

// job shows a job. One that is no longer open is shown without the data for search engines.
func (s *Site) job(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	listing, isOpen, err := s.services.Listings.Page(readContext(ctx, viewer), actorOf(viewer), c.Params("id"))
	if errors.Is(err, listings.ErrGone) {
		return s.renderGone(c, viewer)
	}

	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}

	if isOpen {
		SetShownListing(c, listing.ID)
	}

	v := s.newJobView(listing, isOpen)
	if isOpen {
		v.Posting = jobPosting(listing, v.URL, v.Text)
	}

	employers, err := s.services.Identity.OrganizationsOf(ctx, []string{listing.OrganizationID})
	if err != nil {
		return err
	}

	employer := employers[listing.OrganizationID]
	v.IsVerified = employer.IsVerified()
	v.VerifiedDomain = employer.VerifiedDomain()

	v.ShowsVerification = true
	if v.Similar, err = s.findSimilar(ctx, listing); err != nil {
		return err
	}

	if v.State, err = s.loadViewerState(ctx, viewer, listing.ID); err != nil {
		return err
	}

	c.Set(fiber.HeaderLink, "<"+v.URL+`>; rel="canonical"`)

	return s.render(c, jobPage, viewer, v)
}

// maxSimilarJobs is the number of similar jobs on the page of a job.
const maxSimilarJobs = 4

// findSimilar returns jobs with a similar title near the job. The page is shown without them
// if the title is no valid search or the search is unavailable.
func (s *Site) findSimilar(ctx context.Context, listing listings.Listing) ([]result, error) {
	const searched = maxSimilarJobs + 1 // the job itself can be among the results
	in := listings.FindInput{Text: listing.Title, Page: page.Request{Number: 1, Size: searched}}

	const maxText = 80 // runes of a title
	if r := []rune(in.Text); len(r) > maxText {
		in.Text = string(r[:maxText])
	}

	if listing.Place != nil {
		in.Filters.Location, in.Filters.Radius = listing.Location, new(50.0) // miles
	}

	results, err := s.services.Listings.Find(tx.AllowStale(ctx, web.MaxStale), auth.Actor{}, in)
	if err != nil {
		_, err = inputErrorMessage(err)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}

		return nil, nil
	}

	var out []result
	for _, r := range append(s.results(results.Items, false), s.results(results.Items, true)...) {
		if r.ID != listing.ID && len(out) < maxSimilarJobs {
			r.Reasons = nil // the visitor has not searched for the title
			out = append(out, r)
		}
	}

	return out, nil
}

// Radii returns the choices of the filter for the distance.
func (*jobsView) Radii() []pages.Choice {
	return []pages.Choice{
		{Value: "5", Text: "Within 5 miles"},
		{Value: "", Text: "Within 10 miles"}, // the default
		{Value: "25", Text: "Within 25 miles"},
		{Value: "50", Text: "Within 50 miles"},
		{Value: "100", Text: "Within 100 miles"},
	}
}

// Ages returns the choices of the filter for the time since publication.
func (*jobsView) Ages() []pages.Choice {
	return []pages.Choice{
		{Value: "", Text: "At any time"},
		{Value: "1", Text: "In the last day"},
		{Value: "3", Text: "In the last 3 days"},
		{Value: "7", Text: "In the last week"},
		{Value: "30", Text: "In the last month"},
	}
}

// Places returns the choices of the filter for remote work.
func (*jobsView) Places() []pages.Choice {
	return []pages.Choice{{Value: "", Text: "On site or remote"}, {Value: "yes", Text: "Remote"}, {Value: "no", Text: "On site"}}
}

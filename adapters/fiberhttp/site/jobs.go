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
	Total       int           // of all open jobs
	Newest      []result      // at most maxHomeJobs
	Roles       []filterValue // at most maxHomeFilterValues, as are the specialties
	Specialties []filterValue
	Canonical   string // the URL of the page for search engines
}

const (
	maxHomeJobs         = 6
	maxHomeFilterValues = 12
)

// readContext returns the context for reading what the viewer sees. Guests may get cached data, at most web.MaxStale
// old. Signed-in users get current data, so that they see their own changes at once.
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

// home shows the search form, the newest jobs, and the roles and specialties with the most jobs.
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

	return s.render(c, homePage, viewer, homeView{
		Form:        newSearchForm(nil), // empty
		Total:       results.Total,
		Newest:      exactResults(results.Items),
		Roles:       homeFilterValues(results.Facets["role"]),
		Specialties: homeFilterValues(results.Facets["specialty"]),
		Canonical:   s.publicURL + "/",
	})
}

// homeFilterValues returns the values of a facet with the most jobs. A facet is a property by whose values the jobs
// are counted, such as the role. Its values begin with the most frequent one.
func homeFilterValues(facet []listings.FacetValue) []filterValue {
	mostFrequent := facet[:min(maxHomeFilterValues, len(facet))]

	return web.Each(mostFrequent, func(value listings.FacetValue) filterValue {
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

// jobsView is a page of search results. Exact are the results that match the whole search, Relaxed those that match
// only a part of it.
type jobsView struct {
	Form    searchForm
	Problem string // the mistake in the search, if it has one; the page has no results then
	Total   int
	Exact   []result
	Relaxed []result
	// Chips are the conditions of the search, each of which the user can remove.
	Chips       []chip
	Filters     []filterGroup
	Corrections []correction
	Suggestions []suggestion
	// Pages are the links to numbered pages. Next is the path of the next page if the next page has
	// no number.
	Pages []pageLink
	Next  string
	// From and To are the numbers of the first and the last exact result on the page, counted from 1. They are 0 on pages
	// without a number.
	From, To  int
	Sorts     []pages.Choice
	Canonical string // the URL of the page for search engines
	Atom      string // the path of the feed of the search
	// UnknownPlace is the place of the search if it is not known, and Everywhere the path of
	// the search without a place.
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

// suggestion is another search with results, for a search without any. Total is the number of its results.
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
	form := newSearchForm(query)
	v := jobsView{
		Form:           form,
		Sorts:          sorts,
		Canonical:      s.publicURL + form.Path("/jobs"),
		Atom:           form.Path("/feeds/jobs.atom"),
		WithoutFilters: form.withoutFilters(),
	}

	in := form.input(s.now())
	in.Page = pageRequest(query, pageSize)
	in.Facets = facetNames()

	results, err := s.services.Listings.Find(readContext(ctx, viewer), actorOf(viewer), in)
	if err != nil {
		if v.Problem, err = inputErrorMessage(err); err != nil {
			return err
		}

		return s.renderer.Render(c, fiber.StatusBadRequest, jobsPage, viewer, &v)
	}

	v.Total = results.Total
	v.Exact, v.Relaxed = exactResults(results.Items), relaxedResults(results.Items)
	v.Filters = form.filters(results.Facets)
	v.Chips = form.chips(results, v.Filters)
	v.offerAlert(viewer)

	for _, replaced := range results.Corrections {
		v.Corrections = append(v.Corrections, correction(replaced))
	}

	for _, other := range results.Suggestions {
		path := newSearchForm(nil).Path("/jobs", "q", other.Text)
		v.Suggestions = append(v.Suggestions, suggestion{Text: other.Text, Total: other.Total, Path: path})
	}

	if results.IsUnknownPlace {
		if err := s.explainUnknownPlace(ctx, viewer, &v); err != nil {
			return err
		}
	}

	v.paginate(in.Page, results.NextCursor)

	return s.render(c, jobsPage, viewer, &v)
}

// offerAlert offers clinicians to save the search, and guests e-mails about its new jobs. It needs v.Filters.
func (v *jobsView) offerAlert(viewer *pages.Viewer) {
	v.AlertQuery = v.Form.alertQuery(v.Filters)
	v.NotInAlerts = v.Form.notInAlerts()

	where, contract := v.Form.Get("where"), v.Form.Get("contract")
	if viewer == nil {
		v.AlertPath = newSearchForm(nil).Path(alertsPath, "q", v.AlertQuery, "where", where, "contract", contract)
		return
	}

	isForAllJobs := v.AlertQuery == "" && where == "" && contract == ""
	v.CanSave = viewer.Actor().Seeker && !isForAllJobs
}

const (
	// placePrefix is the number of first letters that suggested places have in common with an unknown one.
	placePrefix = 3
	// maxPlaceSuggestions is the number of places that are suggested for an unknown one.
	maxPlaceSuggestions = 5
)

// explainUnknownPlace adds the unknown place of the search to the page and, if there are no
// results, places with jobs whose names begin like it.
func (s *Site) explainUnknownPlace(ctx context.Context, viewer *pages.Viewer, v *jobsView) error {
	v.UnknownPlace = v.Form.Get("where")
	v.Everywhere = v.Form.Path("/jobs", "where", "", "radius", "")

	if v.Total > 0 {
		return nil
	}

	letters := []rune(v.UnknownPlace)
	prefix := string(letters[:min(placePrefix, len(letters))])

	completions, err := s.services.Listings.Complete(readContext(ctx, viewer), actorOf(viewer), prefix)
	if err != nil {
		return err
	}

	for _, completion := range completions {
		isPlace := completion.Kind == search.SlotPlace // completions have other kinds too, such as roles
		if isPlace && len(v.PlaceSuggestions) < maxPlaceSuggestions {
			path := v.Form.Path("/jobs", "where", completion.Text)
			v.PlaceSuggestions = append(v.PlaceSuggestions, suggestion{Text: completion.Text, Total: completion.Total, Path: path})
		}
	}

	return nil
}

// paginate sets the links to other pages of the results. Pages have numbers up to page.MaxExact results. Links lead
// to the first and the last of the numbered pages, and to the neighbours of the requested page r. A page after the
// numbered pages has a cursor in place of a number. It only has a link to the next page, with the cursor that the
// search returned.
func (v *jobsView) paginate(r page.Request, nextCursor string) {
	hasNumber := r.Cursor == ""
	if hasNumber {
		v.From = (r.Number-1)*r.Size + 1
		v.To = v.From + len(v.Exact) - 1

		pagesOfAll := (v.Total + r.Size - 1) / r.Size // rounded up
		last := min(pagesOfAll, page.MaxExact/r.Size)

		const neighbours = 2 // on each side
		for n := 1; n <= last; n++ {
			isNeighbour := n >= r.Number-neighbours && n <= r.Number+neighbours
			if n == 1 || n == last || isNeighbour {
				v.Pages = append(v.Pages, pageLink{Number: n, Path: v.Form.Path("/jobs", "page", strconv.Itoa(n)), Current: n == r.Number})
			}
		}

		nextHasNumber := r.Number < last
		if nextHasNumber {
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
	Text         template.HTML  // the description
	Posting      map[string]any // the data for search engines, nil in the preview and for a job that is not open
	Similar      []result
	EmployerPath string
	DaysLeft     string // until the closing date, empty without one
	// IsOpen is false for a job that was closed or has expired. Its page stays for some time.
	IsOpen bool
	State  viewerState // whether the viewer has saved the job or applied
	// IsVerified is set if the employer is verified. ShowsVerification is set on the public
	// page, but not in the preview.
	IsVerified, ShowsVerification bool
	VerifiedDomain                string // of an employer that is verified by its domain
}

// fact is a labelled property of a job.
type fact struct{ Label, Text string }

// newJobView returns what both the page of a job and its preview show. The caller adds what only one of them has.
func (s *Site) newJobView(job listings.Listing, isOpen bool) jobView {
	v := jobView{
		Listing:      job,
		IsOpen:       isOpen,
		URL:          s.publicURL + jobPath(job),
		Facts:        jobFacts(job),
		Text:         markdown(job.Description),
		EmployerPath: employerPath(job.OrganizationID, job.Company),
	}
	if job.Deadline != nil && isOpen {
		v.DaysLeft = daysLeft(*job.Deadline, s.now())
	}

	return v
}

// job shows a job. A job that was open until recently is shown, too, but without the data for search engines. For a
// job that was closed earlier, the response is a page with status 410.
func (s *Site) job(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	listing, isOpen, err := s.services.Listings.GetForPage(readContext(ctx, viewer), actorOf(viewer), c.Params("id"))
	if errors.Is(err, listings.ErrGone) {
		return s.renderGone(c, viewer)
	}

	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}

	v := s.newJobView(listing, isOpen)
	if isOpen {
		v.Posting = jobPosting(listing, v.URL, v.Text)

		SetShownListing(c, listing.ID) // counts a view
	}

	employers, err := s.services.Identity.OrganizationsOf(ctx, []string{listing.OrganizationID})
	if err != nil {
		return err
	}

	employer := employers[listing.OrganizationID] // a job without an organization gets the zero value, which is not verified
	v.ShowsVerification = true
	v.IsVerified = employer.IsVerified()
	v.VerifiedDomain = employer.VerifiedDomain()

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

// findSimilar returns open jobs with a similar title near the job. If the title is not a valid search or the search
// takes too long, it returns no jobs and no error. The page is then shown without similar jobs.
func (s *Site) findSimilar(ctx context.Context, job listings.Listing) ([]result, error) {
	const searched = maxSimilarJobs + 1 // the job itself can be among the results
	in := listings.FindInput{Text: job.Title, Page: page.Request{Number: 1, Size: searched}}

	const maxText = 80 // runes of a title
	if title := []rune(in.Text); len(title) > maxText {
		in.Text = string(title[:maxText])
	}

	if job.Place != nil { // only a known place has a surrounding area
		in.Filters.Location, in.Filters.Radius = job.Location, new(50.0) // miles
	}

	// All visitors see the same jobs, so that the results can come from a cache.
	results, err := s.services.Listings.Find(tx.AllowStale(ctx, web.MaxStale), auth.Actor{}, in)
	if err != nil {
		_, err = inputErrorMessage(err) // nil for an invalid search
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}

		return nil, nil
	}

	var similar []result
	for _, found := range append(exactResults(results.Items), relaxedResults(results.Items)...) {
		if found.ID != job.ID && len(similar) < maxSimilarJobs {
			found.Reasons = nil // the visitor has not searched for the title
			similar = append(similar, found)
		}
	}

	return similar, nil
}

// Radii returns the choices of the filter for the distance in miles.
func (*jobsView) Radii() []pages.Choice {
	return []pages.Choice{
		{Value: "5", Text: "Within 5 miles"},
		{Value: "", Text: "Within 10 miles"}, // the default
		{Value: "25", Text: "Within 25 miles"},
		{Value: "50", Text: "Within 50 miles"},
		{Value: "100", Text: "Within 100 miles"},
	}
}

// Ages returns the choices of the filter for the time since publication in days.
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

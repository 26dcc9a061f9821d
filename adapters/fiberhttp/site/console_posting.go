package site

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/listings"
)

var (
	postingPage = pages.Parse(files, "html/console-posting.html", "html/console-parts.html")
	previewPage = pages.Parse(files, "html/console-preview.html", "html/job-parts.html", "html/console-parts.html")
)

// blankQuestions is the number of empty rows for more questions in the form.
const blankQuestions = 2

// postingView is the form that posts or edits a job.
type postingView struct {
	// ID is empty for a new job.
	ID, Title string
	Status    listings.Status
	Form      pages.Form
	Questions []questionRow
}

// questionRow is a question to applicants in the form. The names of its fields contain Number.
type questionRow struct {
	Number   int
	ID, Text string
	Required bool
}

// Label returns the label of the question.
func (q questionRow) Label() string { return fmt.Sprintf("Question %d", q.Number+1) }

// Field returns the name of a field of the question.
func (q questionRow) Field(name string) string { return fmt.Sprintf("questions.%d.%s", q.Number, name) }

// Contracts returns the choices for the contract.
func (postingView) Contracts() []pages.Choice { return optionalChoices(listings.ContractTypes) }

// Patterns returns the choices for the working pattern.
func (postingView) Patterns() []pages.Choice { return optionalChoices(listings.EmploymentTypes) }

// optionalChoices returns the values as choices, after one for "Not stated".
func optionalChoices(values []string) []pages.Choice {
	out := []pages.Choice{{Value: "", Text: "Not stated"}}
	for _, value := range values {
		out = append(out, pages.Choice{Value: value, Text: cmp.Or(valueTexts[value], value)})
	}

	return out
}

// Periods returns the choices for the period of pay, from hour to year.
func (postingView) Periods() []pages.Choice {
	var out []pages.Choice
	for _, period := range slices.Backward(listings.Periods) {
		text := "A " + period
		if period == "hour" {
			text = "An hour"
		}

		out = append(out, pages.Choice{Value: period, Text: text})
	}

	return out
}

// Currencies returns common currencies and, if it is another one, the currency of the job.
func (v postingView) Currencies() []pages.Choice {
	codes := []string{"GBP", "EUR", "USD", "AUD", "CAD", "CHF", "NZD"}
	if code := strings.ToUpper(v.Form.Value("salary.currency")); code != "" && !slices.Contains(codes, code) {
		codes = append(codes, code)
	}

	var out []pages.Choice
	for _, code := range codes {
		text := code
		if symbol := currencySymbols[code]; symbol != "" {
			text += " (" + symbol + ")"
		}

		out = append(out, pages.Choice{Value: code, Text: text})
	}

	return out
}

// IsRemote reports whether the check box for remote work is checked.
func (v postingView) IsRemote() bool { return v.Form.Values.Has("remote") }

// newPosting shows an empty form.
func (s *Site) newPosting(_ context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.Form{Values: url.Values{"salary.currency": {listings.DefaultCurrency}, "salary.period": {listings.DefaultPeriod}}}
	return s.showPosting(c, viewer, postingView{Form: form}, nil)
}

// editPosting shows the form with the values of a listing.
func (s *Site) editPosting(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	l, err := s.services.Listings.Get(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	return s.showPosting(c, viewer,
		postingView{ID: l.ID, Title: l.Title, Status: l.Status, Form: pages.Form{Values: postingValues(l)}},
		l.Questions)
}

// showPosting renders the form with the questions, and empty rows for more questions.
func (s *Site) showPosting(c *fiber.Ctx, viewer *pages.Viewer, v postingView, questions []listings.Question) error {
	// The rows are numbered again, because rows that were sent empty are dropped. The values of
	// the old numbers must not appear in the new rows.
	maps.DeleteFunc(v.Form.Values, func(name string, _ []string) bool { return strings.HasPrefix(name, "questions.") })

	for _, q := range questions {
		v.Questions = append(v.Questions, questionRow{Number: len(v.Questions), ID: q.ID, Text: q.Text, Required: q.Required})
	}

	for range blankQuestions {
		v.Questions = append(v.Questions, questionRow{Number: len(v.Questions)})
	}

	return s.renderer.Render(c, v.Form.Problem.Status(), postingPage, viewer, v)
}

// postingValues returns the initial values of the form for a stored job.
func postingValues(listing listings.Listing) url.Values {
	v := url.Values{
		"title":           {listing.Title},
		"description":     {listing.Description},
		"department":      {listing.Department},
		"contractType":    {listing.ContractType},
		"employmentType":  {listing.EmploymentType},
		"specialty":       {listing.Specialty},
		"location":        {listing.Location},
		"requirements":    {strings.Join(listing.Requirements, "\n")},
		"benefits":        {strings.Join(listing.Benefits, "\n")},
		"salary.currency": {listings.DefaultCurrency},
		"salary.period":   {listings.DefaultPeriod},
	}
	if listing.Remote {
		v.Set("remote", "yes")
	}

	if pay := listing.Salary.InMajorUnits(); pay != nil {
		v.Set("salary.currency", pay.Currency)
		v.Set("salary.period", pay.Period)

		for name, x := range map[string]*float64{"salary.min": pay.Min, "salary.max": pay.Max} {
			if x != nil {
				v.Set(name, strconv.FormatFloat(*x, 'f', -1, 64))
			}
		}
	}

	if listing.Deadline != nil {
		v.Set("applicationDeadline", listing.Deadline.Format(time.DateOnly))
	}

	return v
}

// jobInput is the job that the form describes.
type jobInput struct {
	listings.CreateInput
	problems []fault.Field // fields that are not numbers
}

// parsePosting converts the form to a job.
func parsePosting(form pages.Form) jobInput {
	var p jobInput
	p.Title, p.Description = form.Value("title"), form.Value("description")
	text := func(name string) *string { return new(form.Value(name)) }
	p.Department = text("department")
	p.ContractType = text("contractType")
	p.EmploymentType = text("employmentType")
	p.Specialty = text("specialty")
	p.Location = text("location")
	p.ApplicationDeadline = text("applicationDeadline")
	p.Remote = new(form.Values.Has("remote"))
	p.Requirements, p.Benefits = new(nonEmptyLines(form.Values.Get("requirements"))), new(nonEmptyLines(form.Values.Get("benefits")))

	p.Salary = &listings.SalaryInput{Min: p.parseAmount(form, "salary.min"), Max: p.parseAmount(form, "salary.max")}

	// Without an amount, the currency and the period are only the defaults of the form.
	hasAmount := form.Value("salary.min")+form.Value("salary.max") != ""
	if hasAmount {
		p.Salary.Currency, p.Salary.Period = text("salary.currency"), text("salary.period")
	}

	questions := []listings.QuestionInput{}

	const maxRows = 100 // more than the module accepts, so that it reports the excess
	for n := range maxRows {
		row := questionRow{Number: n}
		if text := form.Value(row.Field("text")); text != "" {
			questions = append(
				questions,
				listings.QuestionInput{ID: form.Value(row.Field("id")), Text: text, Required: form.Values.Has(row.Field("required"))},
			)
		}
	}

	p.Questions = &questions

	return p
}

// parseAmount parses the amount in a field, such as £36,000. It returns nil for an empty
// field, and adds a problem if the text is not a number.
func (p *jobInput) parseAmount(form pages.Form, name string) *float64 {
	text := strings.NewReplacer("£", "", "€", "", "$", "", ",", "", " ", "").Replace(form.Value(name))
	if text == "" {
		return nil
	}

	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.problems = append(p.problems, fault.Field{Name: name, Message: "must be a number, such as 36000 or 17.50"})
		return nil
	}

	return &x
}

// questions returns the questions for showPosting.
func (p *jobInput) questions() (questions []listings.Question) {
	for _, q := range *p.Questions {
		questions = append(questions, listings.Question(q))
	}

	return questions
}

// updateInput returns the changes of the stored job l. An empty status is not changed. The
// form shows only the date of the deadline: unless that changes, the deadline keeps its time.
func (p *jobInput) updateInput(l listings.Listing, status listings.Status) listings.UpdateInput {
	in := listings.UpdateInput{Title: &p.Title, Description: &p.Description, Details: p.Details}
	if status != "" {
		in.Status = new(string(status))
	}

	if p.keepsDeadline(l) {
		in.ApplicationDeadline = nil
	}

	return in
}

// keepsDeadline reports whether the form has the date of the deadline of the stored job l.
func (p *jobInput) keepsDeadline(l listings.Listing) bool {
	return l.Deadline != nil && l.Deadline.Format(time.DateOnly) == *p.ApplicationDeadline
}

// formError translates the fields of a validation error to those of the form, and adds the
// problems of the input, of which the first one of each field counts. It returns other errors unchanged,
// and nil if there is neither an error nor a problem.
func (p *jobInput) formError(err error) error {
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return err
	}

	fields := slices.Clone(p.problems)
	if err != nil {
		for _, f := range fault.Of(err).Fields {
			for _, name := range []string{"requirements", "benefits"} {
				// The module counts the items from 0. The form has one text field with a line for each.
				if index, isItem := strings.CutPrefix(f.Name, name+"."); isItem {
					line := parseInt(index) + 1
					f.Name, f.Message = name, fmt.Sprintf("in line %d %s", line, f.Message)
				}
			}

			f.Message = strings.ReplaceAll(f.Message, "salary.min", "the lowest pay")
			if !slices.ContainsFunc(fields, func(other fault.Field) bool { return other.Name == f.Name }) {
				fields = append(fields, f)
			}
		}
	}

	if len(fields) == 0 {
		return err
	}

	return fault.ErrInvalid.WithFields(fields...)
}

// submitPosting handles the form for a new job or a stored one. Its buttons show the preview
// or the form again, save a draft, publish the job, or save the changes.
func (s *Site) submitPosting(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor := viewer.Actor()
	form := pages.FormOf(c)
	v := postingView{}

	var stored listings.Listing
	if id := c.Params("id"); id != "" {
		var err error
		if stored, err = s.services.Listings.Get(ctx, actor, id); err != nil {
			return err
		}

		v.ID = stored.ID
		v.Title = stored.Title
		v.Status = stored.Status
	}

	in := parsePosting(form)
	v.Form = form

	action := form.Value("action")            // the button that was pressed
	if action == "edit" || action == "more" { // back from the preview, or more rows for questions
		return s.showPosting(c, viewer, v, in.questions())
	}

	// The deadline of a stored job that has expired may stay, unless the job is published again.
	in.RequireFutureDeadline = action == "publish" || !in.keepsDeadline(stored)

	// The preview also validates the input, whichever button was pressed.
	preview, err := s.services.Listings.Preview(ctx, actor, in.CreateInput)
	if err := in.formError(err); err != nil {
		return s.showPostingProblem(c, viewer, v, in, err)
	}

	if action == "preview" {
		return s.showPreview(c, viewer, v, preview)
	}

	publishes := action == "publish"

	saved, notice, err := s.savePosting(ctx, c, actor, stored, in, publishes)
	if err != nil {
		return s.showPostingProblem(c, viewer, v, in, in.formError(err))
	}

	return redirect(c, "/employer/jobs/"+saved.ID, notice)
}

// savePosting creates a job, or changes the stored one if it has an id. It returns the job and
// the key of the notice for the user. A new job that is not published is a draft.
func (s *Site) savePosting(
	ctx context.Context,
	c *fiber.Ctx,
	actor auth.Actor,
	stored listings.Listing,
	in jobInput,
	publishes bool,
) (saved listings.Listing, notice string, err error) {
	operation := createJobOperation
	if stored.ID != "" {
		operation = changeJobOperation
	}

	if err := s.renderer.TakeLimit(ctx, c, operation); err != nil {
		return saved, "", err
	}

	switch {
	case stored.ID != "" && publishes:
		saved, err = s.services.Listings.Update(ctx, actor, stored.ID, in.updateInput(stored, listings.Active))
	case stored.ID != "":
		saved, err = s.services.Listings.Update(ctx, actor, stored.ID, in.updateInput(stored, ""))
		return saved, "job-saved", err
	case publishes:
		saved, err = s.services.Listings.Create(ctx, actor, in.CreateInput)
	default:
		in.Status = new(string(listings.Draft))
		saved, err = s.services.Listings.Create(ctx, actor, in.CreateInput)
		return saved, "job-draft", err
	}

	return saved, publishedNotice(saved), err
}

// showPostingProblem renders the form with an error that the user can correct, and returns other
// errors.
func (s *Site) showPostingProblem(c *fiber.Ctx, viewer *pages.Viewer, v postingView, in jobInput, err error) error {
	v.Form.Problem = pages.FormProblem(err, noFormName)
	if v.Form.Problem == nil {
		return err
	}

	return s.showPosting(c, viewer, v, in.questions())
}

// previewView is a preview of the public page of a job.
type previewView struct {
	Job jobView
	// ID is the id of the stored job, empty for a new job.
	ID     string
	Status listings.Status
	State  jobState
	// Hidden are the values of the form if the job is not saved yet. The buttons of the
	// preview send them again.
	Hidden []hiddenValue
}

// hiddenValue is a hidden field.
type hiddenValue struct{ Name, Value string }

// showPreview shows the listing as visitors will see it. The preview stores nothing: it sends
// the values on in hidden fields.
func (s *Site) showPreview(c *fiber.Ctx, viewer *pages.Viewer, v postingView, l listings.Listing) error {
	const isOpen = true // as if the job were published

	preview := previewView{Job: s.newJobView(l, isOpen), ID: v.ID, Status: v.Status}
	for name, values := range v.Form.Values {
		for _, value := range values {
			if name != "csrf" && name != "action" && value != "" {
				preview.Hidden = append(preview.Hidden, hiddenValue{name, value})
			}
		}
	}

	slices.SortFunc(preview.Hidden, func(a, b hiddenValue) int { return cmp.Compare(a.Name, b.Name) })

	return s.renderer.Render(c, fiber.StatusOK, previewPage, viewer, preview)
}

// previewJob shows the public page of a stored job, which may not be published.
func (s *Site) previewJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	l, err := s.services.Listings.Get(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	states, err := s.jobStatesOf(ctx, viewer.Actor(), l)
	if err != nil {
		return err
	}

	v := previewView{Job: s.newJobView(l, l.Public(s.now())), ID: l.ID, State: states[l.ID]}

	return s.renderer.Render(c, fiber.StatusOK, previewPage, viewer, v)
}

// splitLines returns the trimmed lines of a text.
func splitLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimSpace(line))
	}

	return out
}

// parseInt parses a whole number. It returns 0 for other texts.
func parseInt(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

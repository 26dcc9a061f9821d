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
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/listings"
)

var (
	postingPage = pages.Parse(files, "html/console-posting.html", "html/console-parts.html")
	previewPage = pages.Parse(files, "html/console-preview.html", "html/job-parts.html", "html/console-parts.html")
)

// blankQuestions is the number of empty fields for further questions.
const blankQuestions = 2

// postingView is the form for a job.
type postingView struct {
	// ID is empty for a new job.
	ID, Title string
	Status    listings.Status
	Form      pages.Form
	Questions []questionRow
}

// questionRow is a question to applicants in the form. Its fields are named after Number.
type questionRow struct {
	Number   int
	ID, Text string
	Required bool
}

// Label returns the label of the question.
func (q questionRow) Label() string { return fmt.Sprintf("Question %d", q.Number+1) }

// Field returns the name of a field of the question.
func (q questionRow) Field(name string) string { return fmt.Sprintf("questions.%d.%s", q.Number, name) }

// Contracts returns the kinds of contracts.
func (postingView) Contracts() []pages.Choice { return withNone(listings.ContractTypes) }

// Patterns returns the working patterns.
func (postingView) Patterns() []pages.Choice { return withNone(listings.EmploymentTypes) }

func withNone(values []string) []pages.Choice {
	out := []pages.Choice{{Value: "", Text: "Not stated"}}
	for _, value := range values {
		out = append(out, pages.Choice{Value: value, Text: cmp.Or(valueTexts[value], value)})
	}
	return out
}

// Periods returns the periods of pay.
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

// Currencies returns common currencies, and the one of the form.
func (v postingView) Currencies() []pages.Choice {
	codes := []string{"GBP", "EUR", "USD", "AUD", "CAD", "CHF", "NZD"}
	if code := strings.ToUpper(v.Form.Value("salary.currency")); code != "" && !slices.Contains(codes, code) {
		codes = append(codes, code)
	}
	var out []pages.Choice
	for _, code := range codes {
		text := code
		if symbol := symbols[code]; symbol != "" {
			text += " (" + symbol + ")"
		}
		out = append(out, pages.Choice{Value: code, Text: text})
	}
	return out
}

// IsRemote reports whether the job can be done from elsewhere.
func (v postingView) IsRemote() bool { return v.Form.Values.Has("remote") }

func (s *Site) newPosting(_ context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.Form{Values: url.Values{"salary.currency": {listings.DefaultCurrency}, "salary.period": {listings.DefaultPeriod}}}
	return s.showPosting(c, who, postingView{Form: form}, nil)
}

func (s *Site) editPosting(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	l, err := s.services.Listings.Get(ctx, who.Actor(), c.Params("id"))
	if err != nil {
		return err
	}
	return s.showPosting(c, who, postingView{ID: l.ID, Title: l.Title, Status: l.Status, Form: pages.Form{Values: postingValues(l)}}, l.Questions)
}

// showPosting renders the form with the questions and empty fields for more of them.
func (s *Site) showPosting(c *fiber.Ctx, who *pages.Viewer, v postingView, questions []listings.Question) error {
	// The rows have other numbers than those that were sent, if some of these were empty.
	maps.DeleteFunc(v.Form.Values, func(name string, _ []string) bool { return strings.HasPrefix(name, "questions.") })
	for _, q := range questions {
		v.Questions = append(v.Questions, questionRow{len(v.Questions), q.ID, q.Text, q.Required})
	}
	for range blankQuestions {
		v.Questions = append(v.Questions, questionRow{Number: len(v.Questions)})
	}
	return s.renderer.Render(c, v.Form.Problem.Status(), postingPage, who, v)
}

// postingValues returns the values of the form for a job.
func postingValues(l listings.Listing) url.Values {
	v := url.Values{
		"title": {l.Title}, "description": {l.Description}, "department": {l.Department}, "contractType": {l.ContractType}, "employmentType": {l.EmploymentType},
		"specialty": {l.Specialty}, "location": {l.Location}, "requirements": {strings.Join(l.Requirements, "\n")}, "benefits": {strings.Join(l.Benefits, "\n")},
		"salary.currency": {listings.DefaultCurrency}, "salary.period": {listings.DefaultPeriod},
	}
	if l.Remote {
		v.Set("remote", "yes")
	}
	if pay := l.Salary.InMajorUnits(); pay != nil {
		v.Set("salary.currency", pay.Currency)
		v.Set("salary.period", pay.Period)
		for name, x := range map[string]*float64{"salary.min": pay.Min, "salary.max": pay.Max} {
			if x != nil {
				v.Set(name, strconv.FormatFloat(*x, 'f', -1, 64))
			}
		}
	}
	if l.Deadline != nil {
		v.Set("applicationDeadline", l.Deadline.Format(time.DateOnly))
	}
	return v
}

// jobInput is the input of the form for a job.
type jobInput struct {
	listings.CreateInput
	problems []fault.Field // of values that are not of the type of their field
}

func postingOf(form pages.Form) jobInput {
	var p jobInput
	p.Title, p.Description = form.Value("title"), form.Value("description")
	text := func(name string) *string { return new(form.Value(name)) }
	p.Department, p.ContractType, p.EmploymentType = text("department"), text("contractType"), text("employmentType")
	p.Specialty, p.Location, p.ApplicationDeadline = text("specialty"), text("location"), text("applicationDeadline")
	p.Remote = new(form.Values.Has("remote"))
	p.Requirements, p.Benefits = new(lines(form.Values.Get("requirements"))), new(lines(form.Values.Get("benefits")))
	p.Salary = &listings.SalaryInput{Min: p.amount(form, "salary.min"), Max: p.amount(form, "salary.max")}
	if form.Value("salary.min")+form.Value("salary.max") != "" {
		p.Salary.Currency, p.Salary.Period = text("salary.currency"), text("salary.period")
	}
	questions := []listings.QuestionInput{}
	const maxRows = 100
	for n := range maxRows {
		row := questionRow{Number: n}
		if text := form.Value(row.Field("text")); text != "" {
			questions = append(questions, listings.QuestionInput{ID: form.Value(row.Field("id")), Text: text, Required: form.Values.Has(row.Field("required"))})
		}
	}
	p.Questions = &questions
	return p
}

// amount returns the amount in the field, nil if it is empty.
func (p *jobInput) amount(form pages.Form, name string) *float64 {
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

// questions returns the questions for the form.
func (p *jobInput) questions() (out []listings.Question) {
	for _, q := range *p.Questions {
		out = append(out, listings.Question(q))
	}
	return out
}

// change returns the input for a change of the job l, with its status if it is not empty. A
// deadline that the form shows stays unchanged, with its time of the day.
func (p *jobInput) change(l listings.Listing, status listings.Status) listings.UpdateInput {
	in := listings.UpdateInput{Title: &p.Title, Description: &p.Description, Details: p.Details}
	if status != "" {
		in.Status = new(string(status))
	}
	if l.Deadline != nil && l.Deadline.Format(time.DateOnly) == *p.ApplicationDeadline {
		in.ApplicationDeadline = nil
	}
	return in
}

// error replaces the names of fields of the API by those of the form, and adds the
// problems of the input.
func (p *jobInput) error(err error) error {
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return err
	}
	all := slices.Clone(p.problems)
	if err != nil {
		for _, f := range fault.Of(err).Fields {
			for _, name := range []string{"requirements", "benefits"} {
				if number, isItem := strings.CutPrefix(f.Name, name+"."); isItem {
					f.Name, f.Message = name, fmt.Sprintf("in line %d %s", numberOf(number)+1, f.Message)
				}
			}
			f.Message = strings.ReplaceAll(f.Message, "salary.min", "the lowest pay")
			if !slices.ContainsFunc(all, func(other fault.Field) bool { return other.Name == f.Name }) {
				all = append(all, f)
			}
		}
	}
	if len(all) == 0 {
		return err
	}
	return fault.ErrInvalid.WithFields(all...)
}

// submitPosting handles the form for a new or an existing job: it shows the preview or the
// form again, saves a draft, publishes the job or saves its changes.
func (s *Site) submitPosting(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	by, form, v := who.Actor(), pages.FormOf(c), postingView{}
	var stored listings.Listing
	if id := c.Params("id"); id != "" {
		var err error
		if stored, err = s.services.Listings.Get(ctx, by, id); err != nil {
			return err
		}
		v.ID, v.Title, v.Status = stored.ID, stored.Title, stored.Status
	}
	in := postingOf(form)
	v.Form = form
	action := form.Value("action")
	if action == "edit" || action == "more" {
		return s.showPosting(c, who, v, in.questions())
	}
	preview, err := s.services.Listings.Preview(ctx, by, in.CreateInput)
	if err = in.error(err); err == nil && action == "preview" {
		return s.showPreview(c, who, v, preview)
	}
	var saved listings.Listing
	done := "job-saved"
	switch {
	case err != nil:
	case v.ID != "":
		status := listings.Status("")
		if action == "publish" {
			status, done = listings.Active, "job-published"
		}
		if err = s.renderer.TakeLimit(ctx, c, fiber.MethodPut+" /api/employers/jobs/:id"); err == nil {
			saved, err = s.services.Listings.Update(ctx, by, v.ID, in.change(stored, status))
		}
	default:
		if done = "job-published"; action != "publish" {
			in.Status, done = new(string(listings.Draft)), "job-draft"
		}
		if err = s.renderer.TakeLimit(ctx, c, fiber.MethodPost+" /api/employers/jobs"); err == nil {
			saved, err = s.services.Listings.Create(ctx, by, in.CreateInput)
		}
	}
	if err == nil {
		return redirect(c, "/employer/jobs/"+saved.ID, done)
	}
	if v.Form.Problem, err = problemOf(in.error(err), ""); err != nil {
		return err
	}
	return s.showPosting(c, who, v, in.questions())
}

// previewView is a job as the public sees it.
type previewView struct {
	Job jobView
	// ID is that of the stored job, empty for a new one.
	ID     string
	Status listings.Status
	State  badge
	// Hidden are the values of the form of a job that is not saved.
	Hidden []hiddenValue
}

// hiddenValue is a value of a form that is sent again.
type hiddenValue struct{ Name, Value string }

func (s *Site) showPreview(c *fiber.Ctx, who *pages.Viewer, v postingView, l listings.Listing) error {
	out := previewView{Job: s.newJobView(l, true), ID: v.ID, Status: v.Status}
	for name, values := range v.Form.Values {
		for _, value := range values {
			if name != "csrf" && name != "action" && value != "" {
				out.Hidden = append(out.Hidden, hiddenValue{name, value})
			}
		}
	}
	slices.SortFunc(out.Hidden, func(a, b hiddenValue) int { return cmp.Compare(a.Name, b.Name) })
	return s.renderer.Render(c, fiber.StatusOK, previewPage, who, out)
}

// previewJob shows a stored job as the public sees it, or would see it.
func (s *Site) previewJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	l, err := s.services.Listings.Get(ctx, who.Actor(), c.Params("id"))
	if err != nil {
		return err
	}
	v := previewView{Job: s.newJobView(l, l.Public(time.Now())), ID: l.ID, State: stateOf(l, time.Now())}
	return s.renderer.Render(c, fiber.StatusOK, previewPage, who, v)
}

// splitLines returns the trimmed lines of a text.
func splitLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// numberOf returns the whole number in a text, 0 for all other texts.
func numberOf(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

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

// blankQuestions is the number of empty rows at the end of the form, in which the employer can enter more questions.
const blankQuestions = 2

// postingView is the page with the form in which an employer writes a new job or edits a stored one.
type postingView struct {
	// ID, Title and Status are the values of the stored job. They are empty for a new job.
	ID, Title string
	Status    listings.Status
	Form      pages.Form
	Questions []questionRow
}

// questionRow is a row of the form: a question that applicants answer. Number counts the rows from 0. ID is
// the id of a stored question, and empty for a new one.
type questionRow struct {
	Number   int
	ID, Text string
	Required bool
}

// Label returns the label of the row, such as "Question 1" for the row with the number 0.
func (q questionRow) Label() string { return fmt.Sprintf("Question %d", q.Number+1) }

// Field returns the name of a form field of the row, such as "questions.0.text".
func (q questionRow) Field(name string) string { return fmt.Sprintf("questions.%d.%s", q.Number, name) }

// Contracts returns the choices for the contract.
func (postingView) Contracts() []pages.Choice { return optionalChoices(listings.ContractTypes) }

// Patterns returns the choices for the working pattern.
func (postingView) Patterns() []pages.Choice { return optionalChoices(listings.EmploymentTypes) }

// optionalChoices returns the values as choices. The first choice is "Not stated".
func optionalChoices(values []string) []pages.Choice {
	choices := []pages.Choice{{Value: "", Text: "Not stated"}}
	for _, value := range values {
		choices = append(choices, pages.Choice{Value: value, Text: cmp.Or(valueTexts[value], value)})
	}

	return choices
}

// Periods returns the choices for the period of pay, from year to hour.
func (postingView) Periods() []pages.Choice {
	var choices []pages.Choice
	for _, period := range slices.Backward(listings.Periods) {
		text := "A " + period
		if period == "hour" {
			text = "An hour"
		}

		choices = append(choices, pages.Choice{Value: period, Text: text})
	}

	return choices
}

// Currencies returns the choices for the currency of the pay. The API accepts other currencies too: if the job has one
// of those, it is added, so that editing the job keeps it.
func (v postingView) Currencies() []pages.Choice {
	codes := []string{"GBP", "EUR", "USD", "AUD", "CAD", "CHF", "NZD"}

	current := strings.ToUpper(v.Form.Value("salary.currency"))
	if current != "" && !slices.Contains(codes, current) {
		codes = append(codes, current)
	}

	var choices []pages.Choice
	for _, code := range codes {
		text := code
		if symbol := currencySymbols[code]; symbol != "" {
			text += " (" + symbol + ")"
		}

		choices = append(choices, pages.Choice{Value: code, Text: text})
	}

	return choices
}

// IsRemote reports whether the check box for remote work is checked. Browsers leave out unchecked boxes.
func (v postingView) IsRemote() bool { return v.Form.Values.Has("remote") }

// newPosting shows the form for a new job, which is empty except for the default currency and period of the pay.
func (s *Site) newPosting(_ context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	values := url.Values{"salary.currency": {listings.DefaultCurrency}, "salary.period": {listings.DefaultPeriod}}

	var noQuestions []listings.Question

	return s.showPosting(c, viewer, postingView{Form: pages.Form{Values: values}}, noQuestions)
}

// editPosting shows the form with the values of a stored job.
func (s *Site) editPosting(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	stored, err := s.services.Listings.Get(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	v := postingView{ID: stored.ID, Title: stored.Title, Status: stored.Status, Form: pages.Form{Values: postingValues(stored)}}

	return s.showPosting(c, viewer, v, stored.Questions)
}

// showPosting renders the form with a row for each question, and empty rows for more questions. The other fields show
// the values of v.Form. showPosting changes these values.
func (s *Site) showPosting(c *fiber.Ctx, viewer *pages.Viewer, v postingView, questions []listings.Question) error {
	// The rows are numbered anew, because rows that were sent empty are left out. The values that were sent with the
	// old numbers must not appear in the new rows.
	maps.DeleteFunc(v.Form.Values, func(name string, _ []string) bool { return strings.HasPrefix(name, "questions.") })

	for _, q := range questions {
		v.Questions = append(v.Questions, questionRow{Number: len(v.Questions), ID: q.ID, Text: q.Text, Required: q.Required})
	}

	for range blankQuestions {
		v.Questions = append(v.Questions, questionRow{Number: len(v.Questions)})
	}

	return s.renderer.Render(c, v.Form.Problem.Status(), postingPage, viewer, v)
}

// postingValues returns the initial values of the form for a stored job. Lists are text fields with a line for each item.
func postingValues(listing listings.Listing) url.Values {
	values := url.Values{
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
		values.Set("remote", "yes")
	}

	if pay := listing.Salary.InMajorUnits(); pay != nil {
		values.Set("salary.currency", pay.Currency)
		values.Set("salary.period", pay.Period)

		for name, amount := range map[string]*float64{"salary.min": pay.Min, "salary.max": pay.Max} {
			if amount != nil {
				values.Set(name, strconv.FormatFloat(*amount, 'f', -1, 64))
			}
		}
	}

	if listing.Deadline != nil {
		values.Set("applicationDeadline", listing.Deadline.Format(time.DateOnly))
	}

	return values
}

// jobInput is the job that the form describes.
type jobInput struct {
	listings.CreateInput
	problems []fault.Field // the fields whose text is not a number, which CreateInput cannot hold
}

// parsePosting converts the form to a job. It sets every property, because the form shows every property: an emptied field
// clears the property of a stored job, while a nil pointer would leave it unchanged.
func parsePosting(form pages.Form) jobInput {
	text := func(name string) *string { return new(form.Value(name)) }

	var in jobInput
	in.Title = form.Value("title")
	in.Description = form.Value("description")
	in.Department = text("department")
	in.ContractType = text("contractType")
	in.EmploymentType = text("employmentType")
	in.Specialty = text("specialty")
	in.Location = text("location")
	in.ApplicationDeadline = text("applicationDeadline")
	in.Remote = new(form.Values.Has("remote"))
	in.Requirements = new(nonEmptyLines(form.Values.Get("requirements")))
	in.Benefits = new(nonEmptyLines(form.Values.Get("benefits")))
	in.Salary = &listings.SalaryInput{Min: in.parseAmount(form, "salary.min"), Max: in.parseAmount(form, "salary.max")}

	// Without an amount, the currency and the period are only the defaults of the form.
	hasAmount := form.Value("salary.min") != "" || form.Value("salary.max") != ""
	if hasAmount {
		in.Salary.Currency, in.Salary.Period = text("salary.currency"), text("salary.period")
	}

	in.Questions = new(parseQuestions(form))

	return in
}

// parseQuestions returns the questions of the form. It leaves out rows without a text.
func parseQuestions(form pages.Form) []listings.QuestionInput {
	questions := []listings.QuestionInput{}

	const maxRows = 100 // more than the module accepts, so that it reports the excess
	for number := range maxRows {
		row := questionRow{Number: number}

		text := form.Value(row.Field("text"))
		if text == "" {
			continue
		}

		questions = append(
			questions,
			listings.QuestionInput{ID: form.Value(row.Field("id")), Text: text, Required: form.Values.Has(row.Field("required"))},
		)
	}

	return questions
}

// parseAmount parses the amount in a field, such as £36,000. It returns nil for an empty
// field. If the text is not a number, it returns nil and adds a problem to the input.
func (in *jobInput) parseAmount(form pages.Form, name string) *float64 {
	withoutSigns := strings.NewReplacer("£", "", "€", "", "$", "", ",", "", " ", "")

	text := withoutSigns.Replace(form.Value(name))
	if text == "" {
		return nil
	}

	amount, err := strconv.ParseFloat(text, 64)
	if err != nil {
		in.problems = append(in.problems, fault.Field{Name: name, Message: "must be a number, such as 36000 or 17.50"})
		return nil
	}

	return &amount
}

// questions returns the questions for showPosting.
func (in *jobInput) questions() (questions []listings.Question) {
	for _, question := range *in.Questions {
		questions = append(questions, listings.Question(question))
	}

	return questions
}

// keepStatus is the status argument of updateInput that leaves the status of the stored job as it is.
const keepStatus listings.Status = ""

// updateInput returns the input that changes the stored job to the job in the form. The input also sets the status
// of the job, unless status is keepStatus. The form shows only the date of the deadline, but a deadline that the
// API has set can also have a time. If the date is unchanged, the input leaves out the deadline, so that the stored
// deadline keeps its time.
func (in *jobInput) updateInput(stored listings.Listing, status listings.Status) listings.UpdateInput {
	update := listings.UpdateInput{Title: &in.Title, Description: &in.Description, Details: in.Details}
	if status != keepStatus {
		update.Status = new(string(status))
	}

	if in.keepsDeadline(stored) {
		update.ApplicationDeadline = nil
	}

	return update
}

// keepsDeadline reports whether the form has the date of the deadline of the stored job.
func (in *jobInput) keepsDeadline(stored listings.Listing) bool {
	return stored.Deadline != nil && stored.Deadline.Format(time.DateOnly) == *in.ApplicationDeadline
}

// formError returns the error that the form shows after the module has returned err. It contains the problems of the
// input and the invalid fields of err, by the names of the form's fields. A field that has a problem already is not
// added again: the module received no value for it.
//
// formError returns errors other than invalid input unchanged, and nil if there is neither an error nor a problem.
func (in *jobInput) formError(err error) error {
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return err
	}

	fields := slices.Clone(in.problems)
	if err != nil {
		for _, moduleField := range fault.Of(err).Fields {
			field := toFormField(moduleField)

			hasProblem := slices.ContainsFunc(fields, func(other fault.Field) bool { return other.Name == field.Name })
			if !hasProblem {
				fields = append(fields, field)
			}
		}
	}

	if len(fields) == 0 { // err is nil, or is about the input as a whole
		return err
	}

	return fault.ErrInvalid.WithFields(fields...)
}

// toFormField translates an invalid field of the module to the field of the form that its value comes from.
func toFormField(field fault.Field) fault.Field {
	for _, name := range []string{"requirements", "benefits"} {
		// The module names an item by its index from 0, such as requirements.2. The form has one text field with a line for
		// each item.
		if index, isItem := strings.CutPrefix(field.Name, name+"."); isItem {
			line := parseInt(index) + 1
			field.Name = name
			field.Message = fmt.Sprintf("in line %d %s", line, field.Message)
		}
	}

	// The message about salary.max compares it with salary.min.
	field.Message = strings.ReplaceAll(field.Message, "salary.min", "the lowest pay")

	return field
}

// submitPosting handles the form for a new job or a stored one. The field action is the button that was pressed. The
// button preview shows the job as visitors will see it, and edit returns from the preview to the form. The button
// more adds empty rows for questions. The button publish saves and publishes the job. Any other value saves the
// changes of a stored job, or saves a new job as a draft.
func (s *Site) submitPosting(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor := viewer.Actor()
	form := pages.FormOf(c)

	var stored listings.Listing // the zero value for a new job, whose path has no id
	if id := c.Params("id"); id != "" {
		var err error
		if stored, err = s.services.Listings.Get(ctx, actor, id); err != nil {
			return err
		}
	}

	v := postingView{ID: stored.ID, Title: stored.Title, Status: stored.Status, Form: form}
	in := parsePosting(form)

	action := form.Value("action")
	if action == "edit" || action == "more" {
		return s.showPosting(c, viewer, v, in.questions())
	}

	publishes := action == "publish"

	// The deadline of a stored job that has expired may stay, unless the job is published again.
	in.RequireFutureDeadline = publishes || !in.keepsDeadline(stored)

	// The module validates the input of a preview, which is done whichever button was pressed.
	preview, err := s.services.Listings.Preview(ctx, actor, in.CreateInput)
	if err = in.formError(err); err != nil {
		return s.showPostingProblem(c, viewer, v, in, err)
	}

	if action == "preview" {
		return s.showPreview(c, viewer, v, preview)
	}

	saved, notice, err := s.savePosting(ctx, c, actor, stored, in, publishes)
	if err != nil {
		return s.showPostingProblem(c, viewer, v, in, in.formError(err))
	}

	return redirect(c, "/employer/jobs/"+saved.ID, notice)
}

// savePosting changes the stored job, or creates a job if stored is the zero value. It returns the saved job and the key in
// EmployerNotices of the message for the user. It counts towards the rate limit of the API operation that does the same.
func (s *Site) savePosting(
	ctx context.Context,
	c *fiber.Ctx,
	actor auth.Actor,
	stored listings.Listing,
	in jobInput,
	publishes bool,
) (saved listings.Listing, notice string, err error) {
	isNew := stored.ID == ""

	operation := changeJobOperation
	if isNew {
		operation = createJobOperation
	}

	if err := s.renderer.TakeLimit(ctx, c, operation); err != nil {
		return saved, "", err
	}

	switch {
	case isNew && publishes: // the module publishes a new job that has no status
		saved, err = s.services.Listings.Create(ctx, actor, in.CreateInput)
		notice = publishedNotice(saved)
	case isNew:
		in.Status = new(string(listings.Draft))
		saved, err = s.services.Listings.Create(ctx, actor, in.CreateInput)
		notice = "job-draft"
	case publishes:
		saved, err = s.services.Listings.Update(ctx, actor, stored.ID, in.updateInput(stored, listings.Active))
		notice = publishedNotice(saved)
	default:
		saved, err = s.services.Listings.Update(ctx, actor, stored.ID, in.updateInput(stored, keepStatus))
		notice = "job-saved"
	}

	return saved, notice, err
}

// showPostingProblem renders the form with err, if the user can correct it. It returns all other errors.
func (s *Site) showPostingProblem(c *fiber.Ctx, viewer *pages.Viewer, v postingView, in jobInput, err error) error {
	v.Form.Problem = pages.FormProblem(err, noFormName)
	if v.Form.Problem == nil {
		return err
	}

	return s.showPosting(c, viewer, v, in.questions())
}

// previewView is a preview of the public page of a job: of a stored job, or of the form before it is saved.
type previewView struct {
	Job jobView
	// ID is the id of the stored job, empty for a new job.
	ID     string
	Status listings.Status // of the stored job, in the preview of the form
	State  jobState        // in the preview of a stored job
	// Hidden are the values of the form. The preview of a stored job has none.
	Hidden []hiddenValue
}

// hiddenValue is a hidden field of a form.
type hiddenValue struct{ Name, Value string }

// showPreview shows the job in the form as visitors will see it. The preview stores nothing: its hidden fields hold the
// values of the form, which its buttons send again, to save the job or to return to the form.
func (s *Site) showPreview(c *fiber.Ctx, viewer *pages.Viewer, v postingView, job listings.Listing) error {
	const isOpen = true // as if the job were published

	preview := previewView{Job: s.newJobView(job, isOpen), ID: v.ID, Status: v.Status}
	for name, values := range v.Form.Values {
		if name == "csrf" || name == "action" { // the preview has its own token, and its buttons have their own actions
			continue
		}

		for _, value := range values {
			if value != "" {
				preview.Hidden = append(preview.Hidden, hiddenValue{Name: name, Value: value})
			}
		}
	}

	slices.SortFunc(preview.Hidden, func(a, b hiddenValue) int { return cmp.Compare(a.Name, b.Name) })

	return s.renderer.Render(c, fiber.StatusOK, previewPage, viewer, preview)
}

// previewJob shows the public page of a stored job to its organization, even if the job is not public.
func (s *Site) previewJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	job, err := s.services.Listings.Get(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	states, err := s.jobStatesOf(ctx, viewer.Actor(), job)
	if err != nil {
		return err
	}

	isOpen := job.IsPublic(s.now())
	v := previewView{Job: s.newJobView(job, isOpen), ID: job.ID, State: states[job.ID]}

	return s.renderer.Render(c, fiber.StatusOK, previewPage, viewer, v)
}

// splitLines returns the trimmed lines of a text.
func splitLines(text string) []string {
	var trimmed []string
	for line := range strings.Lines(text) {
		trimmed = append(trimmed, strings.TrimSpace(line))
	}

	return trimmed
}

// parseInt parses a whole number. It returns 0 for other texts.
func parseInt(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/integrations"
)

// confirmationCode is the name of the argument and of the result with the code that confirms an
// application.
const confirmationCode = "confirmation_code"

// publicJob contains the fields of a job that the summary shows.
type publicJob struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Company struct {
		Name string `json:"name"`
	} `json:"company"`
	URL       string     `json:"url"`
	Questions []question `json:"questions"`
}

// question is a question of a job that applicants answer.
type question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Required bool   `json:"required"`
}

// summary is the result of a call without a confirmation code. The assistant shows it to the
// user before it calls the tool again with the code.
type summary struct {
	Status           string          `json:"status"`
	Message          string          `json:"message"`
	ConfirmationCode string          `json:"confirmation_code"`
	JobTitle         string          `json:"job_title"`
	Employer         string          `json:"employer"`
	JobURL           string          `json:"job_url"`
	Application      json.RawMessage `json:"application"`
}

var errCode = fault.New(fault.Invalid, "confirmation_code_invalid",
	"confirmation_code is not that of these arguments: they, the job or the user have changed. Nothing was sent. Call apply without confirmation_code, and show the new summary to the user")

// apply returns a summary and a confirmation code for a call without a code. With a valid code it
// sends the application.
func (s *Server) apply(ctx context.Context, c toolCall) (web.Answer, error) {
	code := strings.Join(parameterValues(c.arguments[confirmationCode]), "")
	delete(c.arguments, confirmationCode)

	content, err := json.Marshal(c.arguments)
	if err != nil {
		return web.Answer{}, err
	}

	if !c.caller.May(c.route.Scope) {
		return web.Answer{}, web.ErrScope
	}

	job, err := s.fetchJob(ctx, c)
	if code == "" {
		if err != nil {
			return web.Answer{}, err
		}

		return s.summarize(ctx, c, job, content)
	}

	// The job may have closed since the summary. The operation then returns an error, or the
	// stored response of an earlier call with the same key.
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return web.Answer{}, err
	}

	if !s.isConfirmed(c, code, content, job) {
		return web.Answer{}, errCode
	}

	// A repeated call with the same code sends the application only once.
	sum := sha256.Sum256([]byte(code))
	idempotencyKey := "mcp-" + hex.EncodeToString(sum[:])

	return s.execute(ctx, c.exchange, c.route, nil, content, idempotencyKey)
}

// summarize validates the application as far as possible before it is sent, and returns the
// summary.
func (s *Server) summarize(ctx context.Context, c toolCall, job publicJob, content []byte) (web.Answer, error) {
	if err := c.route.Op.Check(&web.Request{Body: content}); err != nil {
		return web.Answer{}, err
	}

	actor, err := s.options.Admission.Identity.ActorFor(ctx, c.caller.UserID)
	if err != nil {
		return web.Answer{}, err
	}

	if !actor.Seeker {
		return web.Answer{}, fault.ErrForbidden
	}

	// The operation would return the same error for this scope, so it reveals nothing new.
	applied, err := s.options.Hiring.AppliedAmong(ctx, actor.UserID, []string{job.ID})
	if err != nil {
		return web.Answer{}, err
	}

	if applied[job.ID] {
		return web.Answer{}, hiring.ErrAlreadyApplied
	}

	if err := checkAnswers(job.Questions, c.arguments["answers"]); err != nil {
		return web.Answer{}, err
	}

	// The code contains what the user agrees to.
	code, err := s.options.Vault.Encrypt(contentDigest(content)+contentDigest(job.confirmedContent()), c.codeOwner())
	if err != nil {
		return web.Answer{}, err
	}

	body, err := json.Marshal(summary{
		Status:           "confirmation_required",
		ConfirmationCode: code,
		JobTitle:         job.Title,
		Employer:         job.Company.Name,
		JobURL:           job.URL,
		Application:      content,
		Message: fmt.Sprintf("Nothing was sent yet. Show this to the user: an application for %q at %s, with the content below. "+
			"If they agree, call apply again with the same arguments and this confirmation_code.", job.Title, job.Company.Name),
	})

	return web.Answer{Status: http.StatusOK, Body: body}, err
}

// isConfirmed reports whether the code was issued to the caller for the content, and for the
// content of the job unless it is no longer public.
func (s *Server) isConfirmed(c toolCall, code string, content []byte, job publicJob) bool {
	agreed, err := s.options.Vault.Decrypt(code, c.codeOwner())
	if err != nil {
		return false
	}

	return agreed == contentDigest(content)+contentDigest(job.confirmedContent()) ||
		job.ID == "" && strings.HasPrefix(agreed, contentDigest(content))
}

// codeOwner returns the owner of a confirmation code: the user and the application together.
func (c toolCall) codeOwner() string { return "mcp " + c.caller.App.ID + " " + c.caller.UserID }

// confirmedContent returns the fields of the job that the user has confirmed with the code.
func (p publicJob) confirmedContent() []byte { return []byte(p.Title + "\x00" + p.Company.Name) }

// contentDigest returns a hash that identifies the content.
func contentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// fetchJob returns the job that the call applies for. Jobs are public, so that the scope for
// applications suffices.
func (s *Server) fetchJob(ctx context.Context, c toolCall) (publicJob, error) {
	route := s.routes[getJob]
	x := &exchange{address: c.address, requestID: c.requestID, header: c.header, caller: c.caller}
	x.caller.Scopes = []integrations.Scope{route.Scope}

	answer, err := s.execute(ctx, x, route, url.Values{"job_id": parameterValues(c.arguments["job_id"])}, nil, "")
	if err != nil {
		return publicJob{}, err
	}

	var job struct {
		Data publicJob `json:"data"`
	}
	err = json.Unmarshal(answer.Body, &job)

	return job.Data, err
}

// checkAnswers returns an error for an answer to an unknown question, and for a required question
// without an answer.
func checkAnswers(questions []question, raw json.RawMessage) error {
	var answers []hiring.Answer
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &answers); err != nil {
			return fault.InvalidField("answers", "must be a list of objects with question_id and answer")
		}
	}

	var wrong []fault.Field
	for i, a := range answers {
		isKnown := slices.ContainsFunc(questions, func(q question) bool { return q.ID == a.QuestionID })
		if !isKnown {
			name := fmt.Sprintf("answers.%d.question_id", i)
			wrong = append(wrong, fault.Field{Name: name, Message: "must be the id of a question of the job"})
		}
	}

	for _, q := range questions {
		isAnswered := slices.ContainsFunc(answers, func(a hiring.Answer) bool {
			return a.QuestionID == q.ID && strings.TrimSpace(a.Answer) != ""
		})
		if q.Required && !isAnswered {
			message := fmt.Sprintf("must answer the question %s: %s", q.ID, q.Text)
			wrong = append(wrong, fault.Field{Name: "answers", Message: message})
		}
	}

	if len(wrong) > 0 {
		return fault.ErrInvalid.WithFields(wrong...)
	}

	return nil
}

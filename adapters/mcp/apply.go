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

// An assistant must not apply for a job before the user has agreed. So the tool apply takes two calls. The first
// call sends nothing. It returns a summary for the user and a confirmation code, which contains what was
// summarized, in encrypted form. The second call has the same arguments and the code, and sends the
// application.

// confirmationCode is the name of the confirmation code in the arguments of the second call, and in the result
// of the first one.
const confirmationCode = "confirmation_code"

// publicJob has the fields of a job that the tool reads.
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

// summary is the result of the first call.
type summary struct {
	Status           string          `json:"status"`
	Message          string          `json:"message"` // what the assistant has to do
	ConfirmationCode string          `json:"confirmation_code"`
	JobTitle         string          `json:"job_title"`
	Employer         string          `json:"employer"`
	JobURL           string          `json:"job_url"`
	Application      json.RawMessage `json:"application"` // the arguments of the call
}

// errCode is the error of a second call whose code was not issued for it.
var errCode = fault.New(fault.Invalid, "confirmation_code_invalid",
	"confirmation_code is not that of these arguments: they, the job or the user have changed. Nothing was sent. Call apply without confirmation_code, and show the new summary to the user")

// apply handles a call of the tool. Without a code it returns a summary and a confirmation code. With a valid
// code it sends the application.
func (s *Server) apply(ctx context.Context, c toolCall) (web.Answer, error) {
	code := strings.Join(parameterValues(c.arguments[confirmationCode]), "")
	delete(c.arguments, confirmationCode)

	// The other arguments are the body of the operation. Their order in JSON is always the same.
	content, err := json.Marshal(c.arguments)
	if err != nil {
		return web.Answer{}, err
	}

	if !c.caller.May(c.route.Scope) {
		return web.Answer{}, web.ErrScope
	}

	job, err := s.fetchJob(ctx, c)

	isFirstCall := code == ""
	if isFirstCall {
		if err != nil {
			return web.Answer{}, err
		}

		return s.summarize(ctx, c, job, content)
	}

	// The job may have closed since the summary, so that it is not found and job is empty. The call is
	// executed nevertheless: the operation returns an error, or the stored response of an earlier call with
	// the same code.
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return web.Answer{}, err
	}

	if !s.isConfirmed(c, code, content, job) {
		return web.Answer{}, errCode
	}

	// A repeated call with the same code sends the application only once.
	sum := sha256.Sum256([]byte(code))
	idempotencyKey := "mcp-" + hex.EncodeToString(sum[:])

	return s.execute(ctx, c.exchange, operationCall{route: c.route, body: content, idempotencyKey: idempotencyKey})
}

// summarize handles the first call: it checks the application, and returns the summary.
func (s *Server) summarize(ctx context.Context, c toolCall, job publicJob, content []byte) (web.Answer, error) {
	if err := s.checkApplication(ctx, c, job, content); err != nil {
		return web.Answer{}, err
	}

	// The code contains hashes of what the user agrees to: the application, and the job.
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

// checkApplication returns the error that the operation would have, as far as that can be known without sending the
// application.
func (s *Server) checkApplication(ctx context.Context, c toolCall, job publicJob, content []byte) error {
	if err := c.route.Op.Check(&web.Request{Body: content}); err != nil {
		return err
	}

	actor, err := s.options.Admission.Identity.ActorFor(ctx, c.caller.UserID)
	if err != nil {
		return err
	}

	if !actor.Seeker {
		return fault.ErrForbidden
	}

	// The error for a repeated application reveals nothing new, because the operation has the same error.
	hasApplied, err := s.options.Hiring.FindApplied(ctx, actor.UserID, []string{job.ID})
	if err != nil {
		return err
	}

	if hasApplied[job.ID] {
		return hiring.ErrAlreadyApplied
	}

	return checkAnswers(job.Questions, c.arguments["answers"])
}

// isConfirmed reports whether the code was issued to the caller for the content of the application and for the
// job. If the job is no longer public, job is empty, and only the content is compared.
func (s *Server) isConfirmed(c toolCall, code string, content []byte, job publicJob) bool {
	agreed, err := s.options.Vault.Decrypt(code, c.codeOwner())
	if err != nil {
		return false
	}

	if isPublic := job.ID != ""; isPublic {
		return agreed == contentDigest(content)+contentDigest(job.confirmedContent())
	}

	return strings.HasPrefix(agreed, contentDigest(content))
}

// codeOwner returns the owner of a confirmation code: the user and the program that acts for the user. A code of
// another owner cannot be decrypted.
func (c toolCall) codeOwner() string { return "mcp " + c.caller.App.ID + " " + c.caller.UserID }

// confirmedContent returns the fields of the job on which the user's decision depends. If one of them changes, the
// user must confirm again.
func (p publicJob) confirmedContent() []byte { return []byte(p.Title + "\x00" + p.Company.Name) }

// contentDigest returns a hash of the content. Its length is always the same.
func contentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// fetchJob returns the job that the call applies for. The caller needs no scope for reading jobs: they are public,
// so that fetchJob gives the caller that scope.
func (s *Server) fetchJob(ctx context.Context, c toolCall) (publicJob, error) {
	route := s.routes[getJob]
	x := &exchange{address: c.address, requestID: c.requestID, header: c.header, caller: c.caller}
	x.caller.Scopes = []integrations.Scope{route.Scope}

	parameters := url.Values{"job_id": parameterValues(c.arguments["job_id"])}

	answer, err := s.execute(ctx, x, operationCall{route: route, parameters: parameters})
	if err != nil {
		return publicJob{}, err
	}

	var job struct {
		Data publicJob `json:"data"`
	}
	err = json.Unmarshal(answer.Body, &job)

	return job.Data, err
}

// checkAnswers returns an error that names each answer to an unknown question, and each required question without
// an answer. raw is the argument with the answers, nil if there is none.
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

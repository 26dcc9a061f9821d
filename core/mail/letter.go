package mail

import (
	"context"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"text/template"

	"github.com/locumhq/locum/core/job"
)

// Letter is a message before it has a form: what it says, in the order in which
// it says it. All letters take their form from one pair of templates, so that
// each has a text and an HTML part that say the same. What people typed is
// data in it and never markup.
type Letter struct {
	ID      string
	To      Address
	ReplyTo Address
	Subject string
	// Greeting is the name after Hello, empty for none.
	Greeting string
	Body     []Block
	// Unsubscribe and Invite are as in Message. A letter with Unsubscribe says
	// so at its end.
	Unsubscribe string
	Invite      *Invite
	// Home is the public URL of the service, for the end of the letter.
	Home string
}

// Block is one part of a letter's body; one of its fields is set.
type Block struct {
	Text  string  // a paragraph
	Link  *Link   // something to click, alone on its line
	Code  string  // to be copied as it stands
	Quote string  // what somebody else wrote, line breaks kept
	Facts []Fact  // name and value pairs
	Items []Entry // a list
}

// Link is something to click.
type Link struct{ Label, URL string }

// Fact is one line of a table.
type Fact struct{ Name, Value string }

// Entry is one item of a list.
type Entry struct{ Title, URL, Detail string }

//go:embed letter.txt letter.html
var forms embed.FS

var (
	textForm = template.Must(template.New("letter.txt").Funcs(template.FuncMap{"quoted": quoted}).ParseFS(forms, "letter.txt"))
	htmlForm = htmltemplate.Must(htmltemplate.New("letter.html").ParseFS(forms, "letter.html"))
)

// quoted marks every line of what somebody else wrote.
func quoted(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(text))
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// Message gives the letter its form.
func (l Letter) Message() (Message, error) {
	var text, html strings.Builder
	if err := errors.Join(textForm.Execute(&text, l), htmlForm.Execute(&html, l)); err != nil {
		return Message{}, fmt.Errorf("letter %s: %w", l.ID, err)
	}
	return Message{
		ID: l.ID, To: l.To, ReplyTo: l.ReplyTo, Subject: l.Subject, Text: text.String(), HTML: html.String(),
		Unsubscribe: l.Unsubscribe, Invite: l.Invite,
	}, nil
}

// Deliver sends a letter from a job: what the mail server refuses for good ends
// the job (job.Permanent), all else is tried again.
func Deliver(ctx context.Context, m Mailer, l Letter) error {
	message, err := l.Message()
	if err != nil {
		return job.Permanent(err)
	}
	if err := m.Send(ctx, message); errors.Is(err, ErrRefused) {
		return job.Permanent(err)
	} else if err != nil {
		return err
	}
	return nil
}

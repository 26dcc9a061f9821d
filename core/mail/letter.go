package mail

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"regexp"
	"strings"
	"text/template"
	"unicode"

	"github.com/locumhq/locum/core/task"
)

// Letter is a message before it has a form: what it says, in the order in which
// it says it. All letters take their form from one pair of templates, so that
// each has a text and an HTML part that say the same. What people typed is
// data in it and never markup, and only a Quote has more than one line.
type Letter struct {
	ID      string
	To      Address
	ReplyTo Address
	Subject string
	// Greeting is the name after Hello, empty for none. A name that mail
	// programs would turn into a link is not used: anybody can type one, for
	// anybody's address.
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
	textForm = template.Must(template.New("letter.txt").Funcs(template.FuncMap{"quoted": quoted, "line": line}).ParseFS(forms, "letter.txt"))
	htmlForm = htmltemplate.Must(htmltemplate.New("letter.html").ParseFS(forms, "letter.html"))
)

// lineEnds are what one program or another begins a new line after.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// quoted marks every line of what somebody else wrote.
func quoted(text string) string {
	text = lineEnds.Replace(strings.TrimSpace(text))
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// line is text without what could begin another.
func line(text string) string { return strings.Join(strings.FieldsFunc(text, endsWords), " ") }

func endsWords(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// linkable is what programs take for an address in plain text.
var linkable = regexp.MustCompile(`[/:@]|\.\pL{2}`)

// SafeName returns a name that others typed without URLs, which mail programs
// would turn into links, and the fallback if nothing is left.
func SafeName(name, fallback string) string {
	var words []string
	for word := range strings.FieldsSeq(name) {
		if !isURL.MatchString(word) {
			words = append(words, dotted.ReplaceAllString(word, ". $1"))
		}
	}
	return cmp.Or(strings.Join(words, " "), fallback)
}

var (
	isURL = regexp.MustCompile(`(?i)://|^\W*www\.|@|\.\pL{2,}[/?#:]`)
	// dotted is a dot that makes a domain of a word, as in St.Mary or evil.com.
	dotted = regexp.MustCompile(`\.([\pL\pN])`)
)

// Message gives the letter its form.
func (l Letter) Message() (Message, error) {
	if linkable.MatchString(l.Greeting) {
		l.Greeting = ""
	}
	l.To.Name = SafeName(l.To.Name, "")
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
// the job (task.Permanent), all else is tried again.
func Deliver(ctx context.Context, m Mailer, l Letter) error {
	message, err := l.Message()
	if err != nil {
		return task.Permanent(err)
	}
	if err := m.Send(ctx, message); errors.Is(err, ErrRefused) {
		return task.Permanent(err)
	} else if err != nil {
		return err
	}
	return nil
}

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

// Letter is the content of a message before it is rendered. All letters are rendered with
// one pair of templates, so that the text and HTML parts have the same content. User
// input is escaped, and only a Quote has more than one line.
type Letter struct {
	ID      string
	To      Address
	ReplyTo Address
	Subject string
	// Greeting is the name after Hello, empty for none. A name that mail programs would
	// turn into a link is omitted, because users choose names and addresses freely.
	Greeting string
	Body     []Block
	// Unsubscribe and Invite are as in Message. A letter with Unsubscribe has the link at
	// its end.
	Unsubscribe string
	Invite      *Invite
	// Home is the public URL of the service, for the footer.
	Home string
}

// Block is one part of a letter's body; one of its fields is set.
type Block struct {
	Text  string  // a paragraph
	Link  *Link   // on its own line
	Code  string  // copied verbatim
	Quote string  // text of another user, with its line breaks
	Facts []Fact  // name and value pairs
	Items []Entry // a list
}

// Link is a labelled link.
type Link struct{ Label, URL string }

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Entry is one item of a list.
type Entry struct{ Title, URL, Detail string }

//go:embed letter.txt letter.html
var forms embed.FS

var (
	textForm = template.Must(template.New("letter.txt").Funcs(template.FuncMap{"quoted": quoted, "line": line}).ParseFS(forms, "letter.txt"))
	htmlForm = htmltemplate.Must(htmltemplate.New("letter.html").ParseFS(forms, "letter.html"))
)

// lineEnds replaces all line separators with line feeds.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// quoted prefixes every line of the text of another user.
func quoted(text string) string {
	text = lineEnds.Replace(strings.TrimSpace(text))
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// line returns text on one line, without line separators and control characters.
func line(text string) string { return strings.Join(strings.FieldsFunc(text, endsWords), " ") }

func endsWords(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// linkable matches text that mail programs turn into links.
var linkable = regexp.MustCompile(`[/:@]|\.\pL{2}`)

// SafeName returns a name that a user typed without URLs, which mail programs would turn
// into links, and the fallback if nothing remains.
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
	// dotted matches a dot that makes a word look like a domain, as in St.Mary or
	// evil.com.
	dotted = regexp.MustCompile(`\.([\pL\pN])`)
)

// Message renders the letter.
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

// Deliver sends a letter from a task. A permanent rejection by the mail server is a
// permanent error (task.Permanent); other errors are retried.
func Deliver(ctx context.Context, m Mailer, l Letter) error {
	message, err := l.Message()
	if err != nil {
		return task.Permanent(err)
	}
	if err = m.Send(ctx, message); errors.Is(err, ErrRefused) {
		return task.Permanent(err)
	}
	return err
}

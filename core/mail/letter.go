package mail

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode"

	"github.com/locumhq/locum/core/task"
)

// Letter is an e-mail before it is rendered. All letters are rendered with one pair of
// templates, so that the text and HTML parts of an e-mail have the same content. User
// input is escaped and, except in a Quote, put on one line.
type Letter struct {
	ID      string
	To      Address
	ReplyTo Address
	Subject string
	// Greeting is the name after "Hello", or empty. A name that e-mail programs would turn
	// into a link is omitted: a user could choose it to advertise a site to other users.
	Greeting string
	Body     []Block
	// Unsubscribe and Invite have the same meaning as in Message. The Unsubscribe link is
	// also printed at the end of the letter.
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
	Quote string  // a text that another user wrote, with its line breaks
	Facts []Fact  // name and value pairs
	Items []Entry // a list
}

// Link is a labelled link.
type Link struct{ Label, URL string }

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Entry is one item of a list.
type Entry struct{ Title, URL, Detail string }

// lineEnds replaces all line separators with line feeds.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// quoteLines returns the text with "> " before each line.
func quoteLines(text string) string {
	text = lineEnds.Replace(strings.TrimSpace(text))
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// joinLines returns the text on one line, without control characters.
func joinLines(text string) string {
	return strings.Join(strings.FieldsFunc(text, isSpaceOrControl), " ")
}

// isSpaceOrControl reports whether joinLines replaces the character by a space.
func isSpaceOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

var (
	// linkable matches text that e-mail programs may turn into a link: a slash, colon or @, or a
	// dot with two letters after it, as in evil.com. Initials ("J. R. R.") do not match.
	linkable = regexp.MustCompile(`[/:@]|\.\pL{2}`)
	// urlWord matches a word with a URL (http://…, www.…, evil.com/…) or an e-mail address.
	urlWord = regexp.MustCompile(`(?i)://|^\W*www\.|@|\.\pL{2,}[/?#:]`)
	// innerDot matches a dot that makes a word look like a domain, as in St.Mary or
	// evil.com.
	innerDot = regexp.MustCompile(`\.([\pL\pN])`)
)

// SafeName returns a name that a user has typed without the parts that e-mail programs
// would turn into links. It returns the fallback if nothing else remains.
func SafeName(name, fallback string) string {
	var words []string
	for word := range strings.FieldsSeq(name) {
		if !urlWord.MatchString(word) {
			words = append(words, innerDot.ReplaceAllString(word, ". $1"))
		}
	}

	return cmp.Or(strings.Join(words, " "), fallback)
}

// Deliver renders and sends a letter, with the templates of the mailer if it has the method
// Templates. Tasks call it. If the mail server has rejected the letter for good, or the letter cannot be
// rendered, Deliver marks the error as permanent (task.Permanent), so that the task is not retried.
func Deliver(ctx context.Context, m Mailer, l Letter) error {
	message, err := templatesOf(m).Render(l)
	if err != nil {
		return task.Permanent(err)
	}

	err = m.Send(ctx, message)
	if errors.Is(err, ErrRefused) {
		return task.Permanent(err)
	}

	return err
}

package mail

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/task"
)

// TestLetter_Message_RendersTextAndHTML checks a letter with every kind of block: the exact text part, and
// the corresponding parts of the HTML.
func TestLetter_Message_RendersTextAndHTML(t *testing.T) {
	t.Parallel()

	message, err := defaultTemplates.Render(Letter{
		ID:       "1",
		To:       Address{Name: "Zoë", Email: "zoe@example.org"},
		Subject:  "Two posts & more",
		Greeting: "Zoë",
		Home:     "https://jobs.example.org",
		Body: []Block{
			{Text: "There is news."},
			{Link: &Link{Label: "Read it", URL: "https://jobs.example.org/a?b=1&c=2"}},
			{Code: "abc"},
			{Facts: []Fact{{Name: "Place", Value: "Ward 3"}, {Name: "Time", Value: "noon"}, {Name: "Floor", Value: ""}}},
			{Items: []Entry{{Title: "Nurse", URL: "https://jobs.example.org/1", Detail: "Leeds"}, {Title: "Porter"}}},
			{Quote: "one\r\ntwo"},
		},
		Unsubscribe: "https://jobs.example.org/unsubscribe?token=x",
	})
	require.NoError(t, err)
	require.Equal(t, `Hello Zoë,

There is news.

Read it:

https://jobs.example.org/a?b=1&c=2

abc

Place: Ward 3
Time: noon

- Nurse
  Leeds
  https://jobs.example.org/1

- Porter

> one
> two

locum
https://jobs.example.org

You get these messages because you asked for them. To end them:

https://jobs.example.org/unsubscribe?token=x
`, message.Text)
	require.NotContains(t, message.HTML, "Floor", "empty facts are omitted")

	for _, wantPart := range []string{
		`<html lang="en">`,
		"<title>Two posts &amp; more</title>",
		"<p>Hello Zoë,</p>",
		`href="https://jobs.example.org/a?b=1&amp;c=2"`, // the link
		"<dt", "Ward 3", // the facts
		"<li",        // the items
		"one\r\ntwo", // the quote
		"token=x",    // the address to unsubscribe
	} {
		require.Contains(t, message.HTML, wantPart)
	}
}

// TestLetter_UserInput_IsEscaped checks that no field of a letter can add HTML or a script link to the
// e-mail: most of them contain texts of users.
func TestLetter_UserInput_IsEscaped(t *testing.T) {
	t.Parallel()
	const evil = `"><script>alert(1)</script>`
	const scriptURL = "javascript:alert(1)"
	message, err := defaultTemplates.Render(Letter{
		Subject:  evil,
		Greeting: evil,
		Body: []Block{
			{Text: evil},
			{Quote: evil},
			{Code: evil},
			{Link: &Link{Label: evil, URL: scriptURL}},
			{Facts: []Fact{{Name: evil, Value: evil}}},
			{Items: []Entry{{Title: evil, URL: scriptURL, Detail: evil}}},
		},
	})
	require.NoError(t, err)
	require.NotContains(t, message.HTML, "<script")
	require.NotContains(t, message.HTML, `href="javascript:`)
}

// TestLetter_LineSeparators_Removed checks that a text of a user remains on one line, whichever line
// separators it has, so that it cannot look like a paragraph of the service ("Dear customer, pay here").
// Only a quote, in which each line begins with "> ", has several lines.
func TestLetter_LineSeparators_Removed(t *testing.T) {
	t.Parallel()
	const manyLines = "Asha\r\n\r\nDear customer,\u2028pay\u0085here\x0b"
	const oneLine = "Asha Dear customer, pay here"
	message, err := defaultTemplates.Render(Letter{
		Subject:  "x",
		Greeting: manyLines,
		Home:     "https://jobs.example.org",
		Body: []Block{
			{Text: manyLines},
			{Link: &Link{Label: manyLines, URL: "https://jobs.example.org/a"}},
			{Facts: []Fact{{Name: "Name", Value: manyLines}}},
			{Items: []Entry{{Title: manyLines, Detail: manyLines}}},
			{Quote: manyLines},
		},
	})
	require.NoError(t, err)
	const quote = "> Asha\n> \n> Dear customer,\n> pay\n> here"
	expected := strings.NewReplacer("ONE LINE", oneLine, "QUOTE", quote).Replace(`Hello ONE LINE,

ONE LINE

ONE LINE:

https://jobs.example.org/a

Name: ONE LINE

- ONE LINE
  ONE LINE

QUOTE

locum
https://jobs.example.org
`)
	require.Equal(t, expected, message.Text)
}

// TestLetter_GreetingWithURL_Omitted checks that a user cannot advertise a site with their name in e-mails
// of the service: a name that e-mail programs would turn into a link is not greeted.
func TestLetter_GreetingWithURL_Omitted(t *testing.T) {
	t.Parallel()

	const greeted, omitted = true, false

	for name, isGreeted := range map[string]bool{
		"Asha":                 greeted,
		"Dr. Niamh Ní Bhroin":  greeted,
		"J. R. R.":             greeted,
		"Zoë-Anne O’Neil":      greeted,
		"https://evil.example": omitted,
		"evil.example":         omitted,
		"a@evil.example":       omitted,
		"Win evil.example/now": omitted,
	} {
		message, err := defaultTemplates.Render(Letter{Greeting: name})
		require.NoError(t, err, name)
		require.Equal(t, isGreeted, strings.Contains(message.Text, "Hello"), "text for %s", name)
		require.Equal(t, isGreeted, strings.Contains(message.HTML, "Hello"), "HTML for %s", name)
	}
}

// TestSafeName_HoldsURLs_RemovesThem checks names in the text of e-mails, which cannot be left out like a
// greeting: URLs and addresses are removed, a bare domain is broken by a space, and ordinary points and
// slashes remain. The fallback takes the place of a name of which nothing remains.
func TestSafeName_HoldsURLs_RemovesThem(t *testing.T) {
	t.Parallel()

	const fallback = "the employer"

	for name, want := range map[string]string{
		"St Mary's Hospital":                    "St Mary's Hospital",
		"St.Mary’s, Dr. O'Neil & Co":            "St. Mary’s, Dr. O'Neil & Co",
		"Ward 7/8 (A&E)":                        "Ward 7/8 (A&E)",
		"Win money: https://evil.example/claim": "Win money:",
		"Win at www.evil.example now":           "Win at now",
		"Win at evil.example/claim now":         "Win at now",
		"Win at evil.example":                   "Win at evil. example",
		"mail a@evil.example":                   "mail",
		"HTTPS://EVIL.EXAMPLE":                  fallback,
	} {
		require.Equal(t, want, SafeName(name, fallback), name)
	}

	// Render treats the name of the recipient in the same way.
	message, err := defaultTemplates.Render(Letter{To: Address{Name: "Jo https://evil.example", Email: "jo@example.org"}})
	require.NoError(t, err)
	require.Equal(t, "Jo", message.To.Name)
}

// stubMailer is a Mailer that returns err.
type stubMailer struct{ err error }

func (m stubMailer) Send(context.Context, Message) error { return m.err }

// TestDeliver_Refused_IsPermanent checks that a task does not send a refused message again, but retries
// after any other error.
func TestDeliver_Refused_IsPermanent(t *testing.T) {
	t.Parallel()

	err := Deliver(t.Context(), stubMailer{err: nil}, Letter{})
	require.NoError(t, err)

	err = Deliver(t.Context(), stubMailer{err: ErrRefused}, Letter{})
	require.True(t, task.IsPermanent(err), "a refused message is not sent again")

	busy := errors.New("busy")
	err = Deliver(t.Context(), stubMailer{err: busy}, Letter{})
	require.ErrorIs(t, err, busy)
	require.False(t, task.IsPermanent(err), "after another error, the message is sent again")
}

package mail

import (
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/template"
)

// Templates render letters. The template letter.txt renders the text part of an e-mail, and
// letter.html its HTML part.
type Templates struct {
	text *template.Template     // of letter.txt
	html *htmltemplate.Template // of letter.html; it escapes all values
	// brand is the name of the service.
	brand string
}

const (
	textFile = "letter.txt"
	htmlFile = "letter.html"
)

//go:embed letter.txt letter.html
var templateFiles embed.FS

// NewTemplates returns the default templates with the name of the service.
func NewTemplates(brand string) *Templates {
	t, err := parseTemplates(templateFiles, templateFiles, brand)
	if err != nil {
		panic(err) // a mistake in an embedded file, which every test of the package would find
	}

	return t
}

// ReadTemplates reads letter.txt and letter.html from a folder, with the default for a file
// that is missing. It returns an error if one of them cannot render all parts of a letter.
func ReadTemplates(folder, brand string) (*Templates, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", folder)
	}

	files := os.DirFS(folder)

	sources := map[string]fs.FS{}
	for _, name := range []string{textFile, htmlFile} {
		sources[name] = templateFiles
		if _, err := fs.Stat(files, name); err == nil {
			sources[name] = files
		}
	}

	t, err := parseTemplates(sources[textFile], sources[htmlFile], brand)
	if err != nil {
		return nil, err
	}

	// Errors such as an unknown field occur only when a template is executed.
	data := letterData{sampleLetter, brand}

	return t, errors.Join(t.text.Execute(io.Discard, data), t.html.Execute(io.Discard, data))
}

// parseTemplates parses letter.txt and letter.html from two file systems. The text template can call two
// functions for user input: quoted puts "> " before each line, and line joins the lines.
func parseTemplates(textFS, htmlFS fs.FS, brand string) (*Templates, error) {
	functions := template.FuncMap{"quoted": quoteLines, "line": joinLines}
	text, textErr := template.New(textFile).Funcs(functions).ParseFS(textFS, textFile)
	html, htmlErr := htmltemplate.New(htmlFile).ParseFS(htmlFS, htmlFile)

	return &Templates{text: text, html: html, brand: brand}, errors.Join(textErr, htmlErr)
}

// letterData is the data of the templates.
type letterData struct {
	Letter
	Brand string
}

// sampleLetter has all parts of a letter, so that its rendering executes every branch of the templates.
var sampleLetter = Letter{
	Subject:     "Subject",
	Greeting:    "Name",
	Home:        "https://example.org",
	Unsubscribe: "https://example.org/unsubscribe",
	Body: []Block{
		{Text: "Text"},
		{Link: &Link{Label: "Label", URL: "https://example.org"}},
		{Code: "Code"},
		{Quote: "Quote"},
		{Facts: []Fact{{Name: "Name", Value: "Value"}}},
		{Items: []Entry{{Title: "Title", URL: "https://example.org", Detail: "Detail"}}},
	},
}

// Render renders the letter. It removes links from the names in it: users choose their names.
func (t *Templates) Render(l Letter) (Message, error) {
	if linkable.MatchString(l.Greeting) {
		l.Greeting = "" // a name that mail programs would show as a link can be used for phishing
	}

	const noFallback = "" // an address needs no name

	l.To.Name = SafeName(l.To.Name, noFallback)
	var text, html strings.Builder

	data := letterData{l, t.brand}
	if err := errors.Join(t.text.Execute(&text, data), t.html.Execute(&html, data)); err != nil {
		return Message{}, fmt.Errorf("letter %s: %w", l.ID, err)
	}

	return Message{
		ID:          l.ID,
		To:          l.To,
		ReplyTo:     l.ReplyTo,
		Subject:     l.Subject,
		Text:        text.String(),
		HTML:        html.String(),
		Unsubscribe: l.Unsubscribe,
		Invite:      l.Invite,
	}, nil
}

// defaultTemplates are the templates of mailers without templates of their own.
var defaultTemplates = NewTemplates("locum")

// templatesOf returns the templates of a mailer that has its own, and the default ones for
// other mailers.
func templatesOf(m Mailer) *Templates {
	if branded, ok := m.(interface{ Templates() *Templates }); ok {
		return branded.Templates()
	}

	return defaultTemplates
}

package arch

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Budgets of texts with a phrase that nonstandard matches. They may only fall.
const (
	maxComments = 10 // in 1,000 comment blocks
	maxMessages = 0
	maxPages    = 0
)

// nonstandard matches phrases that technical English avoids, in lower case: pronouns
// as subjects, definitions by a relative clause, programs that speak, hear or know, and
// metaphors for states and data structures.
var nonstandard = regexp.MustCompile(`\b(?:` + strings.Join([]string{
	// Subjects and definitions without a noun.
	`(?:some|no|any)body(?:'s|s)?`, `who(?:so)?ever`, `whomever`, `(?:is|are) (?:what|who|whom)`,
	`(?:one|two) too many`, `(?:is|are) (?:theirs|the caller's|their own matter)`,
	// Machinery that speaks, listens or has a mind.
	`(?:is|are|was|were|be|been|being) (?:told|asked)`, `told (?:to|of|by|that)`, `heard of`, `may hear`, `called off`,
	`tells? (?:of|that|who|whom|whether|the \w+ (?:of|that|what|how))`, `hears? (?:of|from|what|that)`,
	`says? (?:who|whom|which of|so|what|where|whether|no|nothing)`, `knows? (?:what|who|whom|nothing)`, `asks? (?:who|whom|whether)`,
	`looks? after`, `(?:come|comes|came) (?:again|back again|twice)`, `goes (?:together|on)`, `went on`,
	// States.
	`(?:is|are|was|were|be|has|have) (?:\w+ )?(?:gone|no more|away)`, `gone for good`, `stands? still`, `as it stands?`, `it stood`,
	`(?:stand|stands|stood) (?:in|on|at|there|under|with|after|before|open)`,
	`(?:the|a|this|that) moment`, `moments`, `the like`, `so (?:many|often)`, `what became of`,
	// Metaphors.
	`the house`, `doorbell`, `(?:the|a|its) bell`, `crowd(?:s|ed)?`, `rooms?`, `the till`, `taste`,
	`(?:wide|storage|empty) sockets?`, `sockets? (?:of|for) (?:the )?(?:modules?|ports?|storages?|adapters?)`,
}, "|") + `)\b`)

// terms are standard phrases that contain a phrase of nonstandard, such as "waiting room". They are removed from
// a text before it is searched.
var terms = regexp.MustCompile(`\b(?:` + strings.Join([]string{
	`410 gone`, `http\.statusgone`, `fault\.gone`, `(?:in|for) a moment`, `moments ago`,
	`(?:operating|emergency|delivery|waiting) rooms?`, `(?:makes?|need no|no|has|have|leaves?) room`, `room (?:for|number|or link)`,
}, "|") + `)\b`)

var inlineCode = regexp.MustCompile("`[^`]*`")

// findNonstandard returns the first phrase of the text that is not standard English, or
// an empty string. Code in backquotes does not count.
func findNonstandard(text string) string {
	text = strings.ToLower(text)

	// Most texts have no such phrase, so the two replacements are rarely necessary.
	if !nonstandard.MatchString(text) {
		return ""
	}

	text = inlineCode.ReplaceAllString(text, "x")
	text = terms.ReplaceAllString(text, "x")

	return nonstandard.FindString(text)
}

// checkedText is a text for readers, with its place: the name of the file and the line.
type checkedText struct{ place, text string }

// texts has the texts of the repository: the comments of the code, the messages of logs, errors and commands, and
// the paragraphs of pages for users.
type texts struct{ comments, messages, pages []checkedText }

// logMethods are the methods of a logger, with the index of the argument that is the message.
var logMethods = map[string]int{
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0,
	"DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
}

// messageFunctions are functions of which every literal argument is shown to clients.
var messageFunctions = map[string]bool{"fault.New": true, "fault.InvalidField": true}

// documentedFields are the fields of commands, routes and events whose texts are help or
// descriptions in the OpenAPI documents.
var documentedFields = map[string]bool{"Short": true, "Long": true, "Example": true, "Summary": true, "Description": true, "When": true}

// addFile adds the comment blocks and messages of a Go file. Generated files have none.
func (x *texts) addFile(name string, source []byte) error {
	positions := token.NewFileSet()

	file, err := parser.ParseFile(positions, name, source, parser.ParseComments)
	if err != nil {
		return err
	}

	if ast.IsGenerated(file) {
		return nil
	}

	place := func(pos token.Pos) string { return name + ":" + strconv.Itoa(positions.Position(pos).Line) }
	for _, comment := range file.Comments {
		if text := strings.Join(strings.Fields(comment.Text()), " "); text != "" {
			x.comments = append(x.comments, checkedText{place(comment.Pos()), text})
		}
	}

	isTest := strings.HasSuffix(name, "_test.go")
	ast.Inspect(file, func(node ast.Node) bool {
		message := messageIn(node, isTest)
		if message == nil {
			return true
		}

		// A message may be put together from several literals.
		ast.Inspect(message, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				x.messages = append(x.messages, checkedText{place(literal.Pos()), text})
			}

			return true
		})

		return true
	})

	return nil
}

// messageIn returns the part of a call or a struct field that clients, users or operators read as a message, or nil
// if there is none. The logs and fields of tests are not read by them.
func messageIn(node ast.Node, isTest bool) ast.Node {
	switch node := node.(type) {
	case *ast.CallExpr:
		method, ok := node.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}

		receiver := "" // or the package of a function; empty if it is the result of another call
		if ident, ok := method.X.(*ast.Ident); ok {
			receiver = ident.Name
		}

		if messageFunctions[receiver+"."+method.Sel.Name] {
			return node
		}

		isOfTesting := receiver == "t" // t.Error is no method of a logger

		argument, isLog := logMethods[method.Sel.Name]
		if isLog && !isTest && !isOfTesting && len(node.Args) > argument {
			return node.Args[argument]
		}
	case *ast.KeyValueExpr:
		if key, ok := node.Key.(*ast.Ident); ok && !isTest && documentedFields[key.Name] {
			return node.Value
		}
	}

	return nil
}

// addPage adds the paragraphs and the rows of tables of a Markdown file, without its code
// blocks, or the lines of a text file.
func (x *texts) addPage(name string, source []byte) {
	var paragraph []string // its lines so far
	var paragraphLine int  // the number of its first line

	endParagraph := func() {
		if len(paragraph) > 0 {
			place := name + ":" + strconv.Itoa(paragraphLine)
			x.pages = append(x.pages, checkedText{place, strings.Join(paragraph, " ")})
		}

		paragraph = nil
	}

	isCode := false

	lines := bufio.NewScanner(bytes.NewReader(source))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "```") {
			isCode = !isCode
			line = ""
		}

		isRow := strings.HasPrefix(line, "|") || filepath.Ext(name) == ".txt"
		if line == "" || isCode || isRow {
			endParagraph()
		}

		if line == "" || isCode {
			continue
		}

		if len(paragraph) == 0 {
			paragraphLine = number
		}

		paragraph = append(paragraph, line)
	}

	endParagraph()
}

// isPage reports whether a file is written for users, contributors or authors of adapters.
func isPage(name string) bool {
	if name == "README.md" || name == "adapters/web/descriptions.txt" {
		return true
	}

	isInFolder := func(folder string) bool { return strings.HasPrefix(name, folder) }
	folders := []string{".github/", "adapters/fiberhttp/guides/", "test/outsider/"}

	return filepath.Ext(name) == ".md" && slices.ContainsFunc(folders, isInFolder)
}

// readTexts reads the texts of the repository under root, without those of test data, of packages of Node.js and
// of hidden folders.
func readTexts(root string) (texts, error) {
	var x texts
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if entry.IsDir() {
			folder := entry.Name()

			isHidden := strings.HasPrefix(folder, ".") && folder != ".github" && path != root
			if folder == "testdata" || folder == "node_modules" || isHidden {
				return fs.SkipDir
			}

			return nil
		}

		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		name := filepath.ToSlash(relative)

		isThisFile := name == "test/arch/language_test.go" // which quotes nonstandard phrases
		if filepath.Ext(name) != ".go" && !isPage(name) || isThisFile {
			return nil
		}

		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		if isPage(name) {
			x.addPage(name, source)
			return nil
		}

		return x.addFile(name, source)
	})

	return x, err
}

// TestLanguage_Repository_IsStandardEnglish checks that the number of comments, messages and
// pages with a phrase of nonstandard does not exceed its budget.
func TestLanguage_Repository_IsStandardEnglish(t *testing.T) {
	t.Parallel()

	repository, err := readTexts(filepath.Join("..", ".."))
	require.NoError(t, err)

	for _, kind := range []struct {
		name   string
		texts  []checkedText
		budget int // the number of texts that may have such a phrase
	}{
		{name: "comments", texts: repository.comments, budget: len(repository.comments) * maxComments / 1_000},
		{name: "messages", texts: repository.messages, budget: maxMessages},
		{name: "pages", texts: repository.pages, budget: maxPages},
	} {
		require.NotEmpty(t, kind.texts, kind.name)

		var found []string
		for _, checked := range kind.texts {
			if phrase := findNonstandard(checked.text); phrase != "" {
				found = append(found, checked.place+": "+strconv.Quote(phrase)+": "+checked.text)
			}
		}

		t.Logf("%s: %d of %d, at most %d", kind.name, len(found), len(kind.texts), kind.budget)

		if len(found) > kind.budget {
			t.Errorf("%s: write in the words of the field:\n%s", kind.name, strings.Join(found, "\n"))
		}
	}
}

// TestFindNonstandard_Sentence_ReturnsPhrase checks that the phrases are found, and that terms
// of the field with the same words are not.
func TestFindNonstandard_Sentence_ReturnsPhrase(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"Whoever signs in twice is signed out.":                  "whoever",
		"The outbox tells of every change.":                      "tells of",
		"A file that is already gone is no error.":               "is already gone",
		"The store is away for a minute.":                        "is away",
		"Purpose is what a link is for.":                         "is what",
		"The list is not sorted if so many are found.":           "so many",
		"A name never stands in a key.":                          "stands in",
		"It keeps the moment of the last attempt.":               "the moment",
		"A task that failed comes again.":                        "comes again",
		"Each subscriber hears of the change.":                   "hears of",
		"A job that could not be started is one too many.":       "one too many",
		"Of nobody's listings is anything stored.":               "nobody's",
		"A port without an adapter is an empty socket.":          "empty socket",
		"A cover letter is stored once.":                         "",
		"The dead letter queue is read with a left join.":        "",
		"The right-hand side of an expression may be empty.":     "",
		"The response is 410 Gone.":                              "",
		"Another payment is in progress; try again in a moment.": "",
		"The channel has room for one value.":                    "",
		"Enqueue adds the task to the queue and returns its id.": "",
		"The column `told of` is the name of a test.":            "",
		"A Unix socket is closed at the end.":                    "",
	} {
		require.Equal(t, want, findNonstandard(text), text)
	}
}

// TestTexts_AddFile_FindsCommentsAndMessages checks which texts of a file are comments, messages
// and paragraphs. Keys and paths are none of them.
func TestTexts_AddFile_FindsCommentsAndMessages(t *testing.T) {
	t.Parallel()

	// A file with comments, log messages, an error, a command and a route.
	var x texts
	require.NoError(t, x.addFile("a.go", []byte(`// Package a is one block
// of two lines.
package a

func f() {
	log.Warn("a message", "key", "no message") // a comment
	slog.ErrorContext(ctx, "another "+name)
	_ = fault.New(fault.Invalid, "code", "A fault")
	_ = &cobra.Command{Use: "no message", Short: "A command"}
	_ = web.Route{Path: "no message", Summary: "A route"}
	fmt.Println("no message")
}
`)))
	require.Equal(t, []checkedText{{"a.go:1", "Package a is one block of two lines."}, {"a.go:6", "a comment"}},
		x.comments)
	require.Equal(
		t,
		[]checkedText{
			{"a.go:6", "a message"},
			{"a.go:7", "another "},
			{"a.go:8", "code"},
			{"a.go:8", "A fault"},
			{"a.go:9", "A command"},
			{"a.go:10", "A route"},
		},
		x.messages,
	)

	var generated texts
	require.NoError(t, generated.addFile("b.go", []byte("// Code generated by a tool. DO NOT EDIT.\n\npackage b\n")))
	require.Empty(t, generated.comments)

	var page texts
	page.addPage("a.md", []byte("# Title\n\nTwo\nlines.\n\n```go\ncode\n```\n| a | row |\n"))
	require.Equal(t, []checkedText{{"a.md:1", "# Title"}, {"a.md:3", "Two lines."}, {"a.md:9", "| a | row |"}},
		page.pages)

	var descriptions texts
	descriptions.addPage("a.txt", []byte("id: A UUID\nname: A name\n"))
	require.Equal(t, []checkedText{{"a.txt:1", "id: A UUID"}, {"a.txt:2", "name: A name"}}, descriptions.pages)

	for name, want := range map[string]bool{
		"README.md":                           true,
		".github/CONTRIBUTING.md":             true,
		".github/decisions/README.md":         true,
		"adapters/web/descriptions.txt":       true,
		"adapters/fiberhttp/guides/limits.md": true,
		"test/outsider/README.md":             true,
		"test/e2e/ROWS.md":                    false,
		"a.txt":                               false,
	} {
		require.Equal(t, want, isPage(name), name)
	}
}

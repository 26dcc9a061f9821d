package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// shellBlock matches a block of shell commands in Markdown.
var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestREADME_MainJob_WorksAsPasted runs the README's commands unchanged, in one
// shell, against a new server with the defaults and demo data.
func TestREADME_MainJob_WorksAsPasted(t *testing.T) {
	t.Parallel()

	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)

	_, section, found := strings.Cut(string(readme), "## The main job in ten calls")
	require.True(t, found)

	section, _, _ = strings.Cut(section, "\n## ")

	var script strings.Builder
	for _, block := range shellBlock.FindAllStringSubmatch(section, -1) {
		script.WriteString(block[1])
	}

	require.Equal(t, 10, strings.Count(script.String(), "curl "), "ten calls are promised")

	dir := t.TempDir()
	server := &testServer{
		dir:    dir,
		log:    &kit.Log{},
		exited: make(chan error, 1),
		env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LOCUM_HTTP_ADDR=127.0.0.1:0"},
	}
	require.Contains(t, server.run(t, "seed"), "@")
	server.serve(t)
	server.waitUntilReady(t)

	written, err := filepath.Glob(filepath.Join(dir, "data", "mail", "*.eml"))
	require.NoError(t, err)
	require.NotEmpty(t, written, "the mails of the demo data come, and are logged, before the address is printed")

	pasted := strings.ReplaceAll(script.String(), "http://localhost:8080", server.url)
	out, err := exec.Command("bash", "-ec", pasted+"\necho; echo JOB=$JOB APPLICATION=$APPLICATION").CombinedOutput()
	require.NoError(t, err, "%s", out)

	ids := regexp.MustCompile(`JOB=([0-9a-f-]{36}) APPLICATION=([0-9a-f-]{36})`).FindStringSubmatch(string(out))
	require.NotNil(t, ids, "%s", out)
	require.NotContains(t, string(out), `"success":false`)

	// The responses show the steps in order: the search, the interview, and the exported table.
	search, _, _ := strings.Cut(string(out), `"applications"`)
	require.Contains(t, search, ids[1], "the search finds the job")
	require.Contains(t, string(out), `"status":"interview"`)
	require.Contains(t, string(out), `"scheduledAt":"2031-03-03T10:00:00Z"`)
	require.Contains(t, string(out), ids[2]+","+ids[1]+`,"Registered Nurse, ICU",Niamh Byrne,`, "the table has it")
}

// numberedStep matches a step of the README that adds code to a file.
var numberedStep = regexp.MustCompile("(?s)\\d\\. \\*\\*`([^`]+)`\\*\\*.*?```go\n(.*?)```")

// addToSource returns the source of a file with the code of a step of the README, at the place that the README
// says: functions, which begin with a comment, at the end, and rows of a table before those of the operation
// renew.
func addToSource(t *testing.T, source, code string) string {
	t.Helper()

	isFunction := strings.HasPrefix(strings.TrimSpace(code), "//")
	if isFunction {
		return source + "\n" + code
	}

	above, _, found := strings.Cut(source, "/api/employers/jobs/:id/renew\"")
	require.True(t, found)

	// The row of renew begins with its line, or with the line of its brace if it has several lines.
	rowStart := strings.LastIndex(above, "\n")
	if strings.HasPrefix(strings.TrimSpace(above[rowStart:]), "Path:") {
		rowStart = strings.LastIndex(above, "\n\t\t{\n")
	}

	return source[:rowStart] + "\n" + code + source[rowStart:]
}

// TestREADME_AddAnEndpoint_Works applies the steps of the README to copies of the files,
// with which the tests are built and run.
func TestREADME_AddAnEndpoint_Works(t *testing.T) {
	t.Parallel()
	kit.NeedHeavy(t)

	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)

	_, section, found := strings.Cut(string(readme), "## Add an endpoint")
	require.True(t, found)

	section, _, _ = strings.Cut(section, "\n## ")
	steps := numberedStep.FindAllStringSubmatch(section, -1)
	require.Len(t, steps, 4)

	// The changed copies of the files, by the path of the original.
	dir, replaced := t.TempDir(), map[string]string{}
	for _, step := range steps {
		file, code := step[1], step[2]
		path, err := filepath.Abs(filepath.Join("..", "..", file))
		require.NoError(t, err)

		source, err := os.ReadFile(path)
		require.NoError(t, err)

		replaced[path] = filepath.Join(dir, filepath.Base(path))
		require.NoError(t, os.WriteFile(replaced[path], []byte(addToSource(t, string(source), code)), 0o600))
	}

	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)

	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))

	binary := filepath.Join(dir, "e2e.test")
	compiled, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", file, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(compiled))

	// run runs the tests whose names match the pattern in dir, and returns the beginning of their output.
	run := func(dir, pattern string, env ...string) (string, error) {
		test := exec.CommandContext(t.Context(), binary, "-test.run", pattern)
		test.Dir = dir
		test.Env = append(os.Environ(), append(env, "GOFLAGS=-overlay="+file)...)
		out, err := test.CombinedOutput()

		const maxOutput = 10_000 // bytes

		return string(out[:min(len(out), maxOutput)]), err
	}

	out, err := run(".", "^(TestRoleMatrix.*|TestEmployerJobs)$")
	require.NoError(t, err, out)

	// TestEveryOperation_HasATest fails until the command that it prints has updated the list of operations. It runs in
	// a copy of this folder with the changed tests, because the command changes a file.
	tests := t.TempDir()
	require.NoError(t, os.CopyFS(tests, os.DirFS(".")))

	for path, replacement := range replaced {
		if filepath.Base(filepath.Dir(path)) == "e2e" {
			text, err := os.ReadFile(replacement)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(tests, filepath.Base(path)), text, 0o600))
		}
	}

	out, err = run(tests, "^TestEveryOperation_HasATest$")
	require.Error(t, err)
	require.NotContains(t, out, "no test is named")

	out, err = run(tests, "^TestEveryOperation_HasATest$", "LOCUM_TEST_WRITE=1")
	require.NoError(t, err, out)
}

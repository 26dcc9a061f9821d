package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

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
	w := &testServer{dir: dir, log: &kit.Log{}, exited: make(chan error, 1), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LOCUM_HTTP_ADDR=127.0.0.1:0"}}
	require.Contains(t, w.run(t, "seed"), "@")
	w.serve(t)
	w.ready(t)
	written, err := filepath.Glob(filepath.Join(dir, "data", "mail", "*.eml"))
	require.NoError(t, err)
	require.NotEmpty(t, written, "the mails of the demo data come, and are logged, before the address is printed")
	pasted := strings.ReplaceAll(script.String(), "http://localhost:8080", w.url)
	out, err := exec.Command("bash", "-ec", pasted+"\necho; echo JOB=$JOB APPLICATION=$APPLICATION").CombinedOutput()
	require.NoError(t, err, "%s", out)
	ids := regexp.MustCompile(`JOB=([0-9a-f-]{36}) APPLICATION=([0-9a-f-]{36})`).FindStringSubmatch(string(out))
	require.NotNil(t, ids, "%s", out)
	require.NotContains(t, string(out), `"success":false`)
	search, _, _ := strings.Cut(string(out), `"applications"`)
	require.Contains(t, search, ids[1], "the search finds the job")
	require.Contains(t, string(out), `"status":"interview"`)
	require.Contains(t, string(out), `"scheduledAt":"2031-03-03T10:00:00Z"`)
	require.Contains(t, string(out), ids[2]+","+ids[1]+`,"Registered Nurse, ICU",Niamh Byrne,`, "the table has it")
}

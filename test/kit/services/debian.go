package services

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// fetched returns the root of a folder with the unpacked Debian packages and
// their dependencies that the machine lacks, and the environment that programs in
// it need. Nothing is installed: the folder is a cache of the current user,
// filled on first use. Several processes may call it at the same time.
func fetched(packages ...string) (root string, env []string, err error) {
	for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb", "dpkg-query"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", nil, fmt.Errorf("not installed, and without %s it cannot be fetched as a Debian package", tool)
		}
	}
	cache, err := cacheDir()
	if err != nil {
		return "", nil, err
	}
	root = filepath.Join(cache, packages[0]+"-"+runtime.GOARCH)
	lock, err := os.OpenFile(root+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = lock.Close() }() // which also unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := fetch(cache, root, packages); err != nil {
			return "", nil, fmt.Errorf("fetching %s: %w", packages[0], err)
		}
	}
	libs, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*"))
	more, _ := filepath.Glob(filepath.Join(root, "lib/*-linux-*"))
	return root, []string{"LD_LIBRARY_PATH=" + strings.Join(append(libs, more...), ":")}, nil
}

// cacheDir returns a directory that all users can read if this process is root,
// because the programs in it then run as another user, who has no access to
// root's home.
func cacheDir() (string, error) {
	base := "/var/cache"
	if os.Getuid() != 0 || os.Getenv("XDG_CACHE_HOME") != "" {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(base, "locum-test")
	return dir, os.MkdirAll(dir, 0o755)
}

// worthFetching matches the dependencies that are downloaded: libraries, and parts of the
// programs. Other dependencies serve the installation of a package. theServer matches parts of
// servers, which are downloaded even if the machine has them.
var (
	worthFetching = regexp.MustCompile(`^(lib|lua|redis|postgresql|ure|uno-libs|chromium-common|fontconfig-config|fonts-)[a-z0-9.+-]*$`)
	theServer     = regexp.MustCompile(`^(redis|postgresql)-`)
)

// fetch downloads and unpacks the packages into a temporary folder, and then renames it to root,
// so that an interrupted download leaves no incomplete root.
func fetch(cache, root string, packages []string) error {
	tempFile, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tempFile) }()
	debs, tree := filepath.Join(tempFile, "debs"), filepath.Join(tempFile, "tree")
	for _, dir := range []string{debs, tree} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	apt := apt{dir: debs}
	if err := apt.download(packages); err != nil {
		// The machine's package lists are missing or old: use separate lists,
		// which needs no privilege and does not change the machine's.
		if err := apt.ownLists(filepath.Join(tempFile, "apt")); err != nil {
			return err
		}
		if err := apt.download(packages); err != nil {
			return err
		}
	}
	found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range found {
		if out, err := exec.Command("dpkg-deb", "-x", deb, tree).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb -x %s: %w: %s", deb, err, out)
		}
	}
	return os.Rename(tree, root)
}

// apt runs the programs of APT in a folder, with options.
type apt struct {
	dir     string
	options []string
}

// run returns the output of a program of APT.
func (a *apt) run(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, append(a.options, args...)...)
	cmd.Dir = a.dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, complaint.Bytes())
	}
	return out, nil
}

// ownLists makes apt use package lists in the folder, and downloads them.
func (a *apt) ownLists(dir string) error {
	lists, archives := filepath.Join(dir, "lists"), filepath.Join(dir, "cache")
	for _, d := range []string{filepath.Join(lists, "partial"), filepath.Join(archives, "archives", "partial")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	a.options = []string{"-o", "Dir::State::lists=" + lists, "-o", "Dir::Cache=" + archives, "-o", "APT::Sandbox::User="}
	_, err := a.run("apt-get", "update", "-q")
	return err
}

// download downloads the packages and their missing dependencies into the folder.
func (a *apt) download(packages []string) error {
	wanted, err := a.missing(packages)
	if err != nil {
		return err
	}
	_, err = a.run("apt-get", append([]string{"download", "-q"}, wanted...)...)
	return err
}

// missing returns the packages themselves, whether installed or not, and their
// dependencies that are not installed.
func (a *apt) missing(packages []string) ([]string, error) {
	installed := map[string]bool{}
	out, err := exec.Command("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), " installed"); ok {
			installed[name] = true
		}
	}
	closure, err := a.run("apt-cache", append([]string{"depends", "--recurse", "--no-recommends", "--no-suggests",
		"--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"}, packages...)...)
	if err != nil {
		return nil, err
	}
	needs := dependencies(string(closure))
	have := func(name string) bool { return installed[name] && !theServer.MatchString(name) }
	wanted := slices.Clone(packages)
	for i := 0; i < len(wanted); i++ {
		for _, anyOf := range needs[wanted[i]] {
			name := anyOf[0]
			if worthFetching.MatchString(name) && !slices.ContainsFunc(anyOf, have) && !slices.Contains(wanted, name) {
				wanted = append(wanted, name)
			}
		}
	}
	return wanted, nil
}

// dependencies parses the output of apt-cache depends: a package, then indented
// its dependencies, where a bar marks an alternative to the next line.
func dependencies(closure string) map[string][][]string {
	needs := map[string][][]string{}
	var of string
	var anyOf []string
	for line := range strings.Lines(closure) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			of, anyOf = line, nil
			continue
		}
		kind, name, ok := strings.Cut(line, "Depends: ")
		if !ok { // a provider of the virtual package above
			continue
		}
		anyOf = append(anyOf, name)
		if !strings.Contains(kind, "|") {
			needs[of] = append(needs[of], anyOf)
			anyOf = nil
		}
	}
	return needs
}

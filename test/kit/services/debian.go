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
// those of their dependencies that are not installed on the machine, and the
// setting of LD_LIBRARY_PATH that programs in the folder need. Nothing is
// installed: the folder is a cache of the current user, filled on first use.
// Several processes may call fetched at the same time.
func fetched(packages ...string) (root, libraryPath string, err error) {
	for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb", "dpkg-query"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", "", fmt.Errorf("not installed, and without %s it cannot be fetched as a Debian package", tool)
		}
	}

	cache, err := cacheDir()
	if err != nil {
		return "", "", err
	}

	root = filepath.Join(cache, packages[0]+"-"+runtime.GOARCH)

	lock, err := os.OpenFile(root+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", "", err
	}

	defer func() { _ = lock.Close() }() // which also unlocks

	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", "", err
	}

	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := fetch(cache, root, packages); err != nil {
			return "", "", fmt.Errorf("fetching %s: %w", packages[0], err)
		}
	}

	usrLibraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*"))
	libraries, _ := filepath.Glob(filepath.Join(root, "lib/*-linux-*"))

	return root, "LD_LIBRARY_PATH=" + strings.Join(append(usrLibraries, libraries...), ":"), nil
}

// cacheDir returns the directory of downloaded and built programs. If this process
// is root, it is not in root's home: the programs then run as another user, who has
// no access to it.
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

var (
	// fetchedDependency matches the dependencies that are downloaded: libraries, and parts of
	// the programs. Other dependencies are needed only to install a package.
	fetchedDependency = regexp.MustCompile(
		`^(lib|lua|redis|postgresql|ure|uno-libs|chromium-common|fontconfig-config|fonts-)[a-z0-9.+-]*$`)
	// serverPart matches parts of servers, which are downloaded even if they are installed: all
	// parts of a server must have the same version.
	serverPart = regexp.MustCompile(`^(redis|postgresql)-`)
)

// fetch downloads and unpacks the packages into a temporary folder, and then renames it to root,
// so that an interrupted download leaves no incomplete root.
func fetch(cache, root string, packages []string) error {
	tempDir, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return err
	}

	defer func() { _ = os.RemoveAll(tempDir) }()

	debs := filepath.Join(tempDir, "debs")

	tree := filepath.Join(tempDir, "tree")
	for _, dir := range []string{debs, tree} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}

	apt := apt{dir: debs}
	if err := apt.download(packages); err != nil {
		// The package lists of the machine are probably missing or outdated. Separate lists
		// need no privilege and leave those of the machine as they are.
		if err := apt.useOwnLists(filepath.Join(tempDir, "apt")); err != nil {
			return err
		}

		if err := apt.download(packages); err != nil {
			return err
		}
	}

	downloaded, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}

	for _, deb := range downloaded {
		if out, err := exec.Command("dpkg-deb", "-x", deb, tree).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb -x %s: %w: %s", deb, err, out)
		}
	}

	return os.Rename(tree, root)
}

// apt runs the programs of APT.
type apt struct {
	dir     string   // the folder in which the programs run: downloads are stored there
	options []string // of every program
}

// run returns the output of a program of APT.
func (a *apt) run(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, append(a.options, args...)...)
	cmd.Dir = a.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.Bytes())
	}

	return out, nil
}

// useOwnLists makes apt use package lists in the folder, and downloads them.
func (a *apt) useOwnLists(dir string) error {
	lists := filepath.Join(dir, "lists")

	cache := filepath.Join(dir, "cache")
	for _, partial := range []string{filepath.Join(lists, "partial"), filepath.Join(cache, "archives", "partial")} {
		if err := os.MkdirAll(partial, 0o755); err != nil {
			return err
		}
	}

	a.options = []string{
		"-o", "Dir::State::lists=" + lists,
		"-o", "Dir::Cache=" + cache,
		"-o", "APT::Sandbox::User=", // apt's own user cannot write to the folder
	}
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

	out, err = a.run("apt-cache", append([]string{"depends", "--recurse", "--no-recommends", "--no-suggests",
		"--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"}, packages...)...)
	if err != nil {
		return nil, err
	}

	dependenciesOf := parseDependencies(string(out))
	isPresent := func(name string) bool { return installed[name] && !serverPart.MatchString(name) }

	wanted := slices.Clone(packages)
	for i := 0; i < len(wanted); i++ { // wanted grows in the loop
		for _, alternatives := range dependenciesOf[wanted[i]] {
			if slices.ContainsFunc(alternatives, isPresent) {
				continue
			}

			preferred := alternatives[0]
			if fetchedDependency.MatchString(preferred) && !slices.Contains(wanted, preferred) {
				wanted = append(wanted, preferred)
			}
		}
	}

	return wanted, nil
}

// parseDependencies parses the output of apt-cache depends: the name of a package, and indented
// below it one line per dependency. A bar before "Depends" marks an alternative to the next
// line. The result has the dependencies by package, each as a list of alternatives.
func parseDependencies(output string) map[string][][]string {
	dependenciesOf := map[string][][]string{}
	var pkg string

	var alternatives []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			pkg = line
			alternatives = nil
			continue
		}

		prefix, name, isDependency := strings.Cut(line, "Depends: ")
		if !isDependency { // a package that provides the virtual package of the previous line
			continue
		}

		alternatives = append(alternatives, name)
		if !strings.Contains(prefix, "|") {
			dependenciesOf[pkg] = append(dependenciesOf[pkg], alternatives)
			alternatives = nil
		}
	}

	return dependenciesOf
}

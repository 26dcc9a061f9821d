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

// fetchPackages returns a folder with the unpacked files of the Debian packages, and of those of
// their dependencies that are not installed on the machine. The first call downloads the packages;
// later calls return the same folder, which is in the cache of the current user. Nothing is
// installed.
//
// root is the path of the folder, which has the place of the root directory for the packages.
// libraryPath is the value of LD_LIBRARY_PATH that programs in the folder need. Several processes
// may call fetchPackages at the same time.
func fetchPackages(packages ...string) (root, libraryPath string, err error) {
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

	unlock, err := lockFile(root + ".lock")
	if err != nil {
		return "", "", err
	}
	defer unlock()

	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := downloadAndUnpack(cache, root, packages); err != nil {
			return "", "", fmt.Errorf("fetching %s: %w", packages[0], err)
		}
	}

	// The names of the library folders contain the architecture, such as x86_64-linux-gnu.
	usrLibraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*"))
	libraries, _ := filepath.Glob(filepath.Join(root, "lib/*-linux-*"))

	return root, strings.Join(append(usrLibraries, libraries...), ":"), nil
}

// lockFile waits until this process has the exclusive lock of a file, which it creates if the file
// does not exist. The caller must call unlock.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}

	unlock = func() { _ = file.Close() } // closing the file releases its lock
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		unlock()
		return nil, err
	}

	return unlock, nil
}

// cacheDir returns the directory of downloaded and built programs, which it creates. If this
// process is root, the directory is not in the home directory of root: the servers run as another
// user, who has no access to that home directory.
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
	// neededDependency matches the names of the dependencies that are downloaded: libraries, and
	// parts of the programs. Other dependencies are needed only to install a package.
	neededDependency = regexp.MustCompile(
		`^(lib|lua|redis|postgresql|ure|uno-libs|chromium-common|fontconfig-config|fonts-)[a-z0-9.+-]*$`)

	// serverPart matches the names of packages that are parts of a server. They are downloaded even
	// if they are installed, because all parts of a server must have the same version.
	serverPart = regexp.MustCompile(`^(redis|postgresql)-`)
)

// downloadAndUnpack creates the folder root with the unpacked files of the packages and of their
// missing dependencies. It works in a temporary folder of the cache, and moves the complete result
// to root at the end, so that an interrupted download leaves no incomplete root.
func downloadAndUnpack(cache, root string, packages []string) error {
	tempDir, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return err
	}

	defer func() { _ = os.RemoveAll(tempDir) }()

	debs := filepath.Join(tempDir, "debs") // the downloaded packages
	tree := filepath.Join(tempDir, "tree") // their unpacked files

	for _, dir := range []string{debs, tree} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}

	apt := apt{dir: debs}
	if err := apt.download(packages); err != nil {
		// The package lists of the machine are probably missing or outdated. To update them would
		// need root privileges and change the machine: other lists are downloaded instead.
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

// apt runs the programs of APT, the package manager of Debian.
type apt struct {
	dir     string   // the working directory of the programs, in which they store downloads
	options []string // the first arguments of every program
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

// useOwnLists downloads package lists into the folder dir, and makes a use them.
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

// download downloads the packages and their missing dependencies into the working directory.
func (a *apt) download(packages []string) error {
	wanted, err := a.withMissingDependencies(packages)
	if err != nil {
		return err
	}

	_, err = a.run("apt-get", append([]string{"download", "-q"}, wanted...)...)

	return err
}

// listInstalled returns the names of the packages that are installed on the machine.
func listInstalled() (map[string]bool, error) {
	output, err := exec.Command("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n").Output()
	if err != nil {
		return nil, err
	}

	installed := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		if name, isInstalled := strings.CutSuffix(strings.TrimSpace(line), " installed"); isInstalled {
			installed[name] = true
		}
	}

	return installed, nil
}

// withMissingDependencies returns the packages, whether they are installed or not, and those of
// their direct and indirect dependencies that are needed and not installed.
func (a *apt) withMissingDependencies(packages []string) ([]string, error) {
	installed, err := listInstalled()
	if err != nil {
		return nil, err
	}

	output, err := a.run("apt-cache", append([]string{"depends", "--recurse", "--no-recommends", "--no-suggests",
		"--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"}, packages...)...)
	if err != nil {
		return nil, err
	}

	dependenciesOf := parseDependencies(string(output))
	isPresent := func(name string) bool { return installed[name] && !serverPart.MatchString(name) }

	// The loop appends dependencies to wanted, and later also visits their dependencies.
	wanted := slices.Clone(packages)
	for i := 0; i < len(wanted); i++ {
		for _, alternatives := range dependenciesOf[wanted[i]] {
			if slices.ContainsFunc(alternatives, isPresent) {
				continue
			}

			preferred := alternatives[0]
			if neededDependency.MatchString(preferred) && !slices.Contains(wanted, preferred) {
				wanted = append(wanted, preferred)
			}
		}
	}

	return wanted, nil
}

// parseDependencies parses the output of apt-cache depends: the name of a package, and indented
// below it one line per dependency. A bar before "Depends" means that the package on the next line
// is an alternative. The result has the dependencies by the name of the package. Each dependency is
// a list of alternatives.
func parseDependencies(output string) map[string][][]string {
	dependenciesOf := map[string][][]string{}
	var packageName string
	var alternatives []string // of the dependency that is not complete yet

	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			packageName = line
			alternatives = nil
			continue
		}

		prefix, name, isDependency := strings.Cut(line, "Depends: ")
		if !isDependency {
			continue // a package that provides the virtual package of the previous line
		}

		alternatives = append(alternatives, name)
		if !strings.Contains(prefix, "|") {
			dependenciesOf[packageName] = append(dependenciesOf[packageName], alternatives)
			alternatives = nil
		}
	}

	return dependenciesOf
}

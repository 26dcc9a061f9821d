package heavy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A test of an attack proves something if it fails without the control that it is
// about. So here each control is taken out of the source, which go build's overlay
// does for the tests and for the program that they build alike, and its test has to
// fail.

// cut takes a control out: in the file, what is there by what stands in its place.
type cut struct{ file, is, becomes string }

// removal is a control with its tests. Where several controls hold one attack, all
// of them are cut.
type removal struct {
	name  string
	cuts  []cut
	tests []attack
}

// attack is a test, with its subtests, of a package.
type attack struct{ pkg, test string }

const (
	receivers = "modules/integrations/receiver.go"
	sender    = "adapters/webhookout/webhookout.go"
)

// registered and dialled are where an address that is not public is refused. The
// second asks the guard of the dialer, which is given addresses and no socket: no
// packet leaves whatever it says.
var (
	registered = attack{"./modules/integrations", "TestReceiversOutsideOfThePublicInternetAreRefused"}
	dialled    = attack{"./adapters/webhookout", "TestNoConnectionIsMadeToWhatIsNotPublic"}
)

// family is the control of one family of addresses: at registration, and at the
// dialer together with the second list that it asks.
func family(name, is, becomes string) removal {
	return removal{"SSRF, " + name + ", at registration and, with the dialer's second list, at the dialer",
		[]cut{{receivers, is, becomes}, {sender, "return public.Safe(network, address, c)", "_ = public\n\t\treturn nil"}}, []attack{registered, dialled}}
}

// network is a family that is in the list of networks.
func network(name, prefix string) removal { return family(name, `"`+prefix+`", `, "") }

// version6 is a family that is outside of what IPv6 gives out.
func version6(name, exempt string) removal {
	return family(name, "!globalIPv6.Contains(ip)", "!globalIPv6.Contains(ip) && !"+exempt)
}

// form is a way to write an address, which registration alone sees.
func form(name, is, becomes string) removal {
	return removal{"SSRF, " + name + ", at registration", []cut{{receivers, is, becomes}}, []attack{registered}}
}

// addresses are the controls of where webhooks go.
func addresses() []removal {
	return []removal{
		network("loopback", "127.0.0.0/8"), network("unspecified", "0.0.0.0/8"), network("10/8", "10.0.0.0/8"), network("172.16/12", "172.16.0.0/12"), network("192.168/16", "192.168.0.0/16"),
		network("metadata and link local", "169.254.0.0/16"), network("CGNAT", "100.64.0.0/10"), network("6to4", "2002::/16"),
		version6("loopback of version 6", "ip.IsLoopback()"), version6("IPv4-mapped", "ip.Is4In6()"), version6("unique local", "ip.IsPrivate()"),
		version6("NAT64", `netip.MustParsePrefix("64:ff9b::/96").Contains(ip)`), version6("unspecified of version 6", "ip.IsUnspecified()"),
		form("localhost", `if host == "localhost" || strings.HasSuffix(host, ".localhost") {`, `if host == "" {`),
		form("decimal, octal and short", "if !number(last) {", `if !number(last) || strings.Count(host, ".") < 3 || strings.HasPrefix(host, "0") {`),
		form("hex", "return strings.Trim(hex, \"0123456789abcdef\") == \"\"", "return hex == \"?\""),
		form("user information", "case u.User != nil:", "case u.User != nil && private:"),
		form("the scheme", `case u.Scheme != "https" && (!private || u.Scheme != "http"):`, `case u.Scheme == "":`),
		form("ports", `port != "" && !Reachable(port)`, `port == "?"`),
		{"SSRF, ports at the dialer", []cut{{sender, "if !integrations.Reachable(port) {", "if !integrations.Reachable(port) && port == \"\" {"}}, []attack{dialled}},
		// It stops at the first address that is reached, which is 127.0.0.1.
		{"SSRF, the dialer is guarded at all", []cut{{sender, "dialer.Control = guard()", "_ = guard"}}, []attack{{"./adapters/webhookout", "TestAReceiverOnThisMachineIsNotReachedByAnyName"}}},
		{"SSRF, redirects are not followed", []cut{{sender, "return http.ErrUseLastResponse", "return nil"}}, []attack{{"./adapters/webhookout", "TestWhatIsSentArrivesAndWhatComesBackIsBounded"}}},
	}
}

func TestEveryTestOfAnAttackFailsWithoutItsControl(t *testing.T) {
	heavy(t)
	all := slices.Concat(addresses(), signIns(), credentials())
	on := &bench{dir: t.TempDir()}
	t.Run("and passes with it", func(t *testing.T) {
		byPackage := map[string][]string{}
		for _, r := range all {
			for _, a := range r.tests {
				byPackage[a.pkg] = append(byPackage[a.pkg], a.test)
			}
		}
		for pkg, tests := range byPackage {
			out := on.test(t, "", pkg, tests)
			for _, test := range tests {
				require.Contains(t, out, "--- PASS: "+underscored(test)+" ", "%s: %s", pkg, out)
			}
		}
	})
	turn := make(chan struct{}, 2)
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			turn <- struct{}{}
			defer func() { <-turn }()
			flags := without(t, r.cuts)
			byPackage := map[string][]string{}
			for _, a := range r.tests {
				byPackage[a.pkg] = append(byPackage[a.pkg], a.test)
			}
			for pkg, tests := range byPackage {
				out := on.test(t, flags, pkg, tests)
				require.NotRegexp(t, `build failed|setup failed|building: |did not start|panic: `, out)
				for _, test := range tests {
					require.Contains(t, out, "--- FAIL: "+underscored(test)+" ", "%s", out)
				}
			}
		})
	}
}

// underscored is the name of a test as its output has it.
func underscored(test string) string { return strings.ReplaceAll(test, " ", "_") }

// bench runs tests.
type bench struct {
	dir  string
	once sync.Once
	e2e  string
}

// test runs tests of a package and returns what they say.
func (b *bench) test(t *testing.T, flags, pkg string, tests []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-v", "-run", pattern(tests), pkg)
	cmd.Dir = filepath.Join("..", "..")
	if pkg == server {
		// These tests are the same without any control: what is cut is in the program,
		// which they build by themselves.
		b.once.Do(func() {
			b.e2e = filepath.Join(b.dir, "e2e.test")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", b.e2e, pkg)
			build.Dir = cmd.Dir
			out, err := build.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
		cmd = exec.CommandContext(t.Context(), b.e2e, "-test.v", "-test.run", pattern(tests))
		cmd.Dir = filepath.Join("..", "..", pkg)
	}
	cmd.Env = append(os.Environ(), "LOCUM_TEST_HEAVY=", "GOFLAGS="+flags)
	out, _ := cmd.CombinedOutput() // that tests fail is what is asked for
	return string(out)
}

// pattern is what go test selects the tests by.
func pattern(tests []string) string {
	var levels [][]string
	for _, test := range tests {
		for i, part := range strings.Split(underscored(test), "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			if part = regexp.QuoteMeta(part); !slices.Contains(levels[i], part) {
				levels[i] = append(levels[i], part)
			}
		}
	}
	parts := make([]string, len(levels))
	for i, names := range levels {
		parts[i] = "^(" + strings.Join(names, "|") + ")$"
	}
	return strings.Join(parts, "/")
}

// without writes the files without what is cut, and returns the flags of go that
// put them in place of those that are there: an overlay and, for the library,
// which no overlay may touch, a copy of it that go.mod is led to.
func without(t *testing.T, cuts []cut) string {
	t.Helper()
	dir := t.TempDir()
	flags := "-ldflags=-w"
	var library string
	texts, replaced := map[string]string{}, map[string]string{}
	for _, c := range cuts {
		path, err := filepath.Abs(filepath.Join("..", "..", c.file))
		require.NoError(t, err)
		if rest, ok := strings.CutPrefix(c.file, fosite); ok {
			if library == "" {
				library = filepath.Join(dir, "library")
				flags += " -modfile=" + copied(t, dir, library)
			}
			path = filepath.Join(library, rest)
		}
		text, read := texts[path]
		if !read {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			text = string(raw)
		}
		require.Equal(t, 1, strings.Count(text, c.is), "%s: the control is not there, or more than once: %s", c.file, c.is)
		texts[path] = strings.Replace(text, c.is, c.becomes, 1)
	}
	for path, text := range texts {
		if library != "" && strings.HasPrefix(path, library) {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			continue
		}
		replaced[path] = filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		require.NoError(t, os.WriteFile(replaced[path], []byte(text), 0o600))
	}
	raw, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, raw, 0o600))
	return flags + " -overlay=" + overlay
}

// copied copies the library to the directory, and writes a go.mod that leads
// there.
func copied(t *testing.T, dir, library string) string {
	t.Helper()
	module := strings.TrimSuffix(fosite, "/")
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(library, os.DirFS(strings.TrimSpace(string(out)))))
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		if name == "go.mod" {
			raw = fmt.Appendf(raw, "\nreplace %s => %s\n", module, library)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	return filepath.Join(dir, "go.mod")
}

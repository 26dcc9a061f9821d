package heavy

import (
	"encoding/json"
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

// The test of an attack is meaningful if it fails without the control that it
// covers. So each control is removed from the source, with the overlay of go
// build for the tests and for the program that they build, and its test has to
// fail.

// cut removes a control: it replaces the old text by the new one in the file.
type cut struct{ file, old, new string }

// removal is the removal of a control, and its tests. If several controls prevent
// one attack, all of them are removed.
type removal struct {
	name  string
	cuts  []cut
	tests []testName
}

// testName names a test, with its subtests, of a package.
type testName struct{ pkg, test string }

const (
	receivers = "modules/integrations/receiver.go"
	sender    = "adapters/webhookout/webhookout.go"
	hooks     = "modules/integrations/webhook.go"
)

// registered and dialled return the tests that refuse an address that is not
// public, by the kind of address. The second calls the guard of the dialer with
// addresses and no socket: no packet is sent whatever the result.
func registered(what string) testName {
	return testName{"./modules/integrations", "TestCheckURL_NotPublic_IsRefused/" + what}
}

func dialled(what string) testName {
	return testName{"./adapters/webhookout", "TestDial_NotPublic_IsRefused/" + what}
}

// family returns the control of one family of addresses: at registration, and at
// the dialer together with its second list.
func family(is, becomes string, names ...string) removal {
	r := removal{name: "SSRF, " + strings.Join(names, " and ") + ", at registration and, with the dialer's second list, at the dialer",
		cuts: []cut{{receivers, is, becomes}, {sender, "return public.Safe(network, address, c)", "_ = public\n\t\treturn nil"}}}
	for _, name := range names {
		r.tests = append(r.tests, registered(name), dialled(name))
	}
	return r
}

// network returns the control of a family in the list of networks.
func network(prefix string, names ...string) removal { return family(`"`+prefix+`", `, "", names...) }

// version6 returns the control of a family outside of the allocated IPv6 space.
func version6(exempt string, names ...string) removal {
	return family("!globalIPv6.Contains(ip)", "!globalIPv6.Contains(ip) && !"+exempt, names...)
}

// form returns the control of a notation of addresses, which only registration
// sees.
func form(name, is, becomes string) removal {
	return removal{"SSRF, " + name + ", at registration", []cut{{receivers, is, becomes}}, []testName{registered(name)}}
}

// addresses returns the controls of the destinations of webhooks.
func addresses() []removal {
	return []removal{
		network("127.0.0.0/8", "loopback"), family(`"127.0.0.0/8", `, `"127.0.0.1/32", `, "other 127/8"), network("0.0.0.0/8", "unspecified"),
		network("10.0.0.0/8", "10/8"), network("172.16.0.0/12", "172.16/12"), network("192.168.0.0/16", "192.168/16"),
		network("169.254.0.0/16", "169.254/16"), network("100.64.0.0/10", "100.64/10"), network("2002::/16", "6to4 and Teredo"),
		version6("ip.IsLoopback()", "loopback of version 6"), version6("ip.Is4In6()", "IPv4-mapped dotted", "IPv4-mapped hex"), version6("ip.IsPrivate()", "unique local"),
		version6(`netip.MustParsePrefix("64:ff9b::/96").Contains(ip)`, "NAT64"), version6("ip.IsUnspecified()", "unspecified of version 6"),
		form("localhost", `if host == "localhost" || strings.HasSuffix(host, ".localhost") {`, `if host == "" {`),
		{"SSRF, localhost with a dot, at registration: the dot is taken away, and no name ends with one", []cut{{receivers, `host = strings.TrimSuffix(host, ".")`, ""},
			{receivers, `return label == "" || strings`, `return label != "" && strings`}}, []testName{registered("localhost with a dot")}},
		form("decimal", "|| isNumericLabel(lastLabel);", `|| isNumericLabel(lastLabel) && strings.Contains(host, ".");`),
		form("octal", "|| isNumericLabel(lastLabel);", `|| isNumericLabel(lastLabel) && !strings.HasPrefix(host, "0");`),
		form("short", "|| isNumericLabel(lastLabel);", `|| isNumericLabel(lastLabel) && strings.Count(host, ".") != 1;`),
		form("hex", "return strings.Trim(hex, \"0123456789abcdef\") == \"\"", "return hex == \"?\""),
		form("user information", "case u.User != nil:", "case u.User != nil && allowPrivate:"),
		{"SSRF, other schemes, at registration: http, and all others", []cut{{receivers, `case u.Scheme == "http" && !allowPrivate:`, `case u.Scheme == "" && !allowPrivate:`},
			{receivers, `case u.Scheme != "https" && u.Scheme != "http":`, `case u.Scheme == "":`}}, []testName{registered("other schemes")}},
		form("ports", `port != "" && !isPermittedPort(port)`, `port == "?" && isPermittedPort(port)`),
		{"SSRF, an address is looked at when it is registered and when it is changed", []cut{
			{hooks, "if err := checkReceiver(url, s.PrivateReceivers); err != nil {\n\t\treturn e,", "if err := checkReceiver(url, true); err != nil {\n\t\treturn e,"},
			{hooks, "if err := checkReceiver(url, s.PrivateReceivers); err != nil {\n\t\t\t\treturn err", "if err := checkReceiver(url, true); err != nil {\n\t\t\t\treturn err"}},
			[]testName{onServer("TestDeveloperWebhooks", "POST /api/developers/apps/:id/webhooks"), onServer("TestDeveloperWebhooks", "GET /api/developers/apps/:id/webhooks and GET and PUT and DELETE /api/developers/apps/:id/webhooks/:webhookId")}},
		{"SSRF, ports at the dialer", []cut{{sender, "if !integrations.Reachable(port) {", "if !integrations.Reachable(port) && port == \"\" {"}}, []testName{dialled("ports")}},
		// It stops at the first address that is reached, which is 127.0.0.1.
		{"SSRF, the dialer is guarded at all", []cut{{sender, "dialer.Control = publicAddressesOnly()", "_ = publicAddressesOnly"}}, []testName{{"./adapters/webhookout", "TestSend_LoopbackByAnyName_IsRefused"}}},
		{"SSRF, redirects are not followed", []cut{{sender, "return http.ErrUseLastResponse", "return nil"}}, []testName{{"./adapters/webhookout", "TestSend_ResponseIsBounded"}}},
	}
}

func controls() []removal { return slices.Concat(addresses(), signIns(), credentials()) }

// A change of a control's source text fails this test, which runs in every build.
func TestControls_SourceTexts_AreFoundOnce(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, r := range controls() {
		require.False(t, names[r.name], "two are called %s", r.name)
		names[r.name] = true
		applyCuts(t, r.cuts)
	}
}

func TestControls_Removed_AttackTestsFail(t *testing.T) {
	skipUnlessHeavy(t)
	all := controls()
	on := &testRunner{dir: t.TempDir()}
	t.Run("with all controls", func(t *testing.T) {
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
			flags := buildFlags(t, r.cuts)
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

// underscored returns the name of a test as go test prints it.
func underscored(test string) string { return strings.ReplaceAll(test, " ", "_") }

// testRunner runs tests.
type testRunner struct {
	dir  string
	once sync.Once
	e2e  string
}

// test runs tests of a package and returns their output.
func (b *testRunner) test(t *testing.T, flags, pkg string, tests []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-v", "-run", pattern(tests), pkg)
	cmd.Dir = filepath.Join("..", "..")
	if pkg == server {
		// These tests do not depend on the control: the change is in the
		// program, which they build themselves.
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
	out, _ := cmd.CombinedOutput() // the tests are expected to fail
	return string(out)
}

// pattern returns the -run pattern that selects the tests.
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

// buildFlags writes the files without the controls and returns the flags of go
// that use them.
func buildFlags(t *testing.T, cuts []cut) string {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	for path, text := range applyCuts(t, cuts) {
		replaced[path] = filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		require.NoError(t, os.WriteFile(replaced[path], []byte(text), 0o600))
	}
	raw, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, raw, 0o600))
	return "-ldflags=-w -overlay=" + overlay
}

// applyCuts returns the texts of the files without the controls, by path.
func applyCuts(t *testing.T, cuts []cut) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, c := range cuts {
		path, err := filepath.Abs(filepath.Join("..", "..", c.file))
		require.NoError(t, err)
		text, read := texts[path]
		if !read {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			text = string(raw)
		}
		require.Equal(t, 1, strings.Count(text, c.old), "%s: the control is missing or not unique: %s", c.file, c.old)
		texts[path] = strings.Replace(text, c.old, c.new, 1)
	}
	return texts
}

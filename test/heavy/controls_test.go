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

// The test of an attack is meaningful only if it fails without the security control that it
// covers. So the tests in this file remove each control from the source, and require that the
// tests of the control fail. They do not change the files of the repository: the -overlay flag
// of go build names other files to read instead.
//
// Other files of this package list controls too: signInControls and credentials.

// cut is a change of a source file that removes a control: it replaces the old text, which the
// file contains once, by the new one.
type cut struct{ file, old, new string }

// removal removes a security control. If several controls prevent the same attack, it removes
// all of them. Without the control, each of the tests must fail.
type removal struct {
	name  string
	cuts  []cut
	tests []testName
}

// testName is a test of a package, such as TestCheckURL/ports.
type testName struct{ pkg, test string }

// The files from which controls of webhooks are removed.
const (
	receivers = "modules/integrations/receiver.go"
	sender    = "adapters/webhookout/webhookout.go"
	hooks     = "modules/integrations/webhook.go"
)

// registrationTest returns the subtest of the kind of address in a test that checks that such
// addresses, which are not public, are refused when a webhook is registered.
func registrationTest(kind string) testName {
	return testName{"./modules/integrations", "TestCheckURL_NotPublic_IsRefused/" + kind}
}

// dialTest returns the subtest of the kind of address in a test that checks that the dialer of
// the sender of webhooks refuses such addresses. The test sends no packet, because it calls the
// control function of the dialer without a connection.
func dialTest(kind string) testName {
	return testName{"./adapters/webhookout", "TestDial_NotPublic_IsRefused/" + kind}
}

// addressFamily removes the control of a family of addresses, which is the same at registration
// and in the dialer. The dialer also asks a library for public addresses. This second control is
// removed as well, because each of the two prevents the attack alone. names are the subtests of
// registrationTest and dialTest that fail then.
func addressFamily(original, replacement string, names ...string) removal {
	families := strings.Join(names, " and ")
	family := removal{
		name: "SSRF, " + families + ", at registration and, with the dialer's second list, at the dialer",
		cuts: []cut{
			{file: receivers, old: original, new: replacement},
			{file: sender, old: "return public.Safe(network, address, c)", new: "_ = public\n\t\treturn nil"},
		},
	}

	for _, name := range names {
		family.tests = append(family.tests, registrationTest(name), dialTest(name))
	}

	return family
}

// networkFamily removes a prefix from the list of networks that are not public.
func networkFamily(prefix string, names ...string) removal {
	return addressFamily(`"`+prefix+`", `, "", names...)
}

// ipv6Family removes the control of IPv6 addresses outside of the allocated space for those for
// which the Go condition exempt is true.
func ipv6Family(exempt string, names ...string) removal {
	return addressFamily("!globalIPv6.Contains(ip)", "!globalIPv6.Contains(ip) && !"+exempt, names...)
}

// notation removes the control of a notation of addresses, which exists only at registration.
func notation(name, original, replacement string) removal {
	return removal{
		name:  "SSRF, " + name + ", at registration",
		cuts:  []cut{{file: receivers, old: original, new: replacement}},
		tests: []testName{registrationTest(name)},
	}
}

// webhookControls returns the controls of the destinations of webhooks.
func webhookControls() []removal {
	return []removal{
		networkFamily("127.0.0.0/8", "loopback"),
		addressFamily(`"127.0.0.0/8", `, `"127.0.0.1/32", `, "other 127/8"),
		networkFamily("0.0.0.0/8", "unspecified"),
		networkFamily("10.0.0.0/8", "10/8"),
		networkFamily("172.16.0.0/12", "172.16/12"),
		networkFamily("192.168.0.0/16", "192.168/16"),
		networkFamily("169.254.0.0/16", "169.254/16"),
		networkFamily("100.64.0.0/10", "100.64/10"),
		networkFamily("2002::/16", "6to4 and Teredo"),
		ipv6Family("ip.IsLoopback()", "loopback of version 6"),
		ipv6Family("ip.Is4In6()", "IPv4-mapped dotted", "IPv4-mapped hex"),
		ipv6Family("ip.IsPrivate()", "unique local"),
		ipv6Family(`netip.MustParsePrefix("64:ff9b::/96").Contains(ip)`, "NAT64"),
		ipv6Family("ip.IsUnspecified()", "unspecified of version 6"),
		notation("localhost", `if host == "localhost" || strings.HasSuffix(host, ".localhost") {`, `if host == "" {`),
		{
			name: "SSRF, localhost with a trailing dot, at registration: the dot is removed or refused",
			cuts: []cut{
				{file: receivers, old: `host = strings.TrimSuffix(host, ".")`, new: ""},
				{file: receivers, old: `return label == "" || strings`, new: `return label != "" && strings`},
			},
			tests: []testName{registrationTest("localhost with a dot")},
		},
		notation("decimal", "|| isNumericLabel(lastLabel);",
			`|| isNumericLabel(lastLabel) && strings.Contains(host, ".");`),
		notation("octal", "|| isNumericLabel(lastLabel);",
			`|| isNumericLabel(lastLabel) && !strings.HasPrefix(host, "0");`),
		notation("short", "|| isNumericLabel(lastLabel);",
			`|| isNumericLabel(lastLabel) && strings.Count(host, ".") != 1;`),
		notation("hex", "return strings.Trim(hex, \"0123456789abcdef\") == \"\"", "return hex == \"?\""),
		notation("user information", "case u.User != nil:", "case u.User != nil && allowPrivate:"),
		{
			name: "SSRF, http and other schemes, at registration",
			cuts: []cut{
				{
					file: receivers,
					old:  `case u.Scheme == "http" && !allowPrivate:`,
					new:  `case u.Scheme == "" && !allowPrivate:`,
				},
				{
					file: receivers,
					old:  `case u.Scheme != "https" && u.Scheme != "http":`,
					new:  `case u.Scheme == "":`,
				},
			},
			tests: []testName{registrationTest("other schemes")},
		},
		notation("ports", `port != "" && !isPermittedPort(port)`, `port == "?" && isPermittedPort(port)`),
		{name: "SSRF, addresses are checked when they are registered and changed", cuts: []cut{
			{
				file: hooks,
				old:  "if err := checkReceiver(url, s.PrivateReceivers); err != nil {\n\t\treturn endpoint,",
				new:  "if err := checkReceiver(url, true); err != nil {\n\t\treturn endpoint,",
			},
			{
				file: hooks,
				old:  "if err := checkReceiver(url, s.PrivateReceivers); err != nil {\n\t\t\t\treturn err",
				new:  "if err := checkReceiver(url, true); err != nil {\n\t\t\t\treturn err",
			}},
			tests: []testName{
				serverTest("TestDeveloperWebhooks", "POST /api/developers/apps/:id/webhooks"),
				serverTest(
					"TestDeveloperWebhooks",
					"GET /api/developers/apps/:id/webhooks and GET and PUT and DELETE /api/developers/apps/:id/webhooks/:webhookId",
				),
			}},
		{
			name: "SSRF, ports at the dialer",
			cuts: []cut{{
				file: sender,
				old:  "if !integrations.IsPublicPort(port) {",
				new:  "if !integrations.IsPublicPort(port) && port == \"\" {",
			}},
			tests: []testName{dialTest("ports")},
		},
		// Without the control, the test fails at its first address, 127.0.0.1.
		{
			name:  "SSRF, the dialer checks addresses",
			cuts:  []cut{{file: sender, old: "dialer.Control = publicAddressesOnly()", new: "_ = publicAddressesOnly"}},
			tests: []testName{{"./adapters/webhookout", "TestSend_LoopbackByAnyName_IsRefused"}},
		},
		{
			name:  "SSRF, redirects are not followed",
			cuts:  []cut{{file: sender, old: "return http.ErrUseLastResponse", new: "return nil"}},
			tests: []testName{{"./adapters/webhookout", "TestSend_ResponseIsBounded"}},
		},
	}
}

// controls returns all security controls that have a test.
func controls() []removal { return slices.Concat(webhookControls(), signInControls(), credentials()) }

// TestControls_SourceTexts_AreFoundOnce checks that each old text of a cut is in its file once.
// It runs in every build, so that a change of a control's source is noticed before `make
// check-heavy`.
func TestControls_SourceTexts_AreFoundOnce(t *testing.T) {
	t.Parallel()

	names := map[string]bool{}
	for _, control := range controls() {
		require.False(t, names[control.name], "duplicate name: %s", control.name)

		names[control.name] = true
		applyCuts(t, control.cuts) // fails if an old text is missing or not unique
	}
}

// TestControls_Removed_AttackTestsFail checks that the tests of attacks pass with all controls,
// and that each one fails when its control is removed. A program that does not build or start
// does not count as a failed attack.
func TestControls_Removed_AttackTestsFail(t *testing.T) {
	skipUnlessHeavy(t)

	removals := controls()
	runner := &testRunner{dir: t.TempDir()}
	t.Run("with all controls", func(t *testing.T) {
		var allTests []testName
		for _, control := range removals {
			allTests = append(allTests, control.tests...)
		}

		const noFlags = ""
		for pkg, tests := range testsByPackage(allTests) {
			output := runner.test(t, noFlags, pkg, tests)
			for _, test := range tests {
				require.Contains(t, output, "--- PASS: "+underscored(test)+" ", "%s: %s", pkg, output)
			}
		}
	})

	const maxParallel = 2 // each removal builds and runs programs
	slots := make(chan struct{}, maxParallel)

	for _, control := range removals {
		t.Run(control.name, func(t *testing.T) {
			t.Parallel()

			slots <- struct{}{}
			defer func() { <-slots }()

			flags := buildFlags(t, control.cuts)
			for pkg, tests := range testsByPackage(control.tests) {
				output := runner.test(t, flags, pkg, tests)
				require.NotRegexp(t, `build failed|setup failed|building: |did not start|panic: `, output)

				for _, test := range tests {
					require.Contains(t, output, "--- FAIL: "+underscored(test)+" ", "%s", output)
				}
			}
		})
	}
}

// testsByPackage returns the names of the tests by their package.
func testsByPackage(tests []testName) map[string][]string {
	byPackage := map[string][]string{}
	for _, t := range tests {
		byPackage[t.pkg] = append(byPackage[t.pkg], t.test)
	}

	return byPackage
}

// underscored returns the name of a test as go test prints it.
func underscored(test string) string { return strings.ReplaceAll(test, " ", "_") }

// testRunner runs tests with changed sources.
type testRunner struct {
	dir  string    // the folder of e2e
	once sync.Once // compiles e2e
	e2e  string    // the compiled tests of package server, which run on a running server
}

// test runs tests of a package with the additional flags of go build, and returns their output.
func (b *testRunner) test(t *testing.T, flags, pkg string, tests []string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-v", "-run", pattern(tests), pkg)

	cmd.Dir = filepath.Join("..", "..")
	if pkg == server {
		// These tests build the program with the changed sources themselves. They do not
		// contain the changed sources, so that they are compiled once for all controls.
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
	output, _ := cmd.CombinedOutput() // the tests are expected to fail

	return string(output)
}

// pattern returns the -run pattern that selects the tests with all their subtests. It has an
// alternative A/B for each test, and is not merged level by level, as (A|C)/(B|D): the deepest
// test would then restrict the subtests of the others.
func pattern(tests []string) string {
	alternatives := make([]string, len(tests))
	for i, test := range tests {
		levels := strings.Split(underscored(test), "/")
		for j, level := range levels {
			levels[j] = "^" + regexp.QuoteMeta(level) + "$"
		}

		alternatives[i] = strings.Join(levels, "/")
	}

	return strings.Join(alternatives, "|")
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

	return "-ldflags=-w -overlay=" + overlay // -w omits debug information, which no test needs
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

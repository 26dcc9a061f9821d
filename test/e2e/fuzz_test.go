package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/test/kit"
)

// seed returns the seed of a random test. By default it is constant, so that only a change of
// the code can make the test fail. With LOCUM_TEST_FUZZ it is random; LOCUM_TEST_SEED repeats a
// run with its seed.
func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("LOCUM_TEST_SEED"), 10, 64); err == nil {
		return n
	}
	if os.Getenv("LOCUM_TEST_FUZZ") != "" {
		return rand.Uint64()
	}
	return 1
}

// TestFuzz_RandomRequests_AnsweredAsDocumented sends random requests to every operation, as
// every kind of caller. The server must not fail, must respond as the OpenAPI document says, and
// must not change data of other users. LOCUM_TEST_FUZZ is the number of requests for each
// operation.
func TestFuzz_RandomRequests_AnsweredAsDocumented(t *testing.T) {
	rounds, seed := 6, seed()
	if n, err := strconv.Atoi(os.Getenv("LOCUM_TEST_FUZZ")); err == nil {
		rounds = n
	}
	type operation struct {
		described
		method, path string
	}
	var all []operation
	_, portalAPI := openAPI(t)
	_, developerAPI := openAPIOf(t, developer.API(adapters.Services{}, ""))
	for _, d := range []described{portalAPI, developerAPI} {
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
				all = append(all, operation{d, strings.ToUpper(method), path})
			}
		}
	}
	onEachSetup(t, func(t *testing.T, server *testServer) {
		defer func() {
			if t.Failed() {
				t.Logf("repeat with LOCUM_TEST_FUZZ=%d LOCUM_TEST_SEED=%d", rounds, seed)
			}
		}()
		victims := newMatrixUsersWithResources(t, server)
		victimIDs := []string{
			victims.seeker.id,
			victims.employer.id,
			victims.listing,
			victims.application,
			victims.bookmark,
			victims.document,
			victims.app,
			victims.key,
			victims.webhook,
			victims.consentedApp,
		}
		before := kit.RowsContaining(t, server.databaseURL(), volatileColumns, victimIDs...)
		f := &fuzzer{Rand: rand.New(rand.NewPCG(seed, 0)), foreignIDs: victims.resources(), succeeded: map[string]bool{}}
		operations := slices.Clone(all)
		for range rounds {
			c := newMatrixUsersWithResources(t, server) // a round may delete the resources of its users
			f.ownIDs = c.resources()
			f.Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })
			for _, o := range operations {
				f.document = o.described
				f.call(t, c, o.method, o.path)
			}
		}
		t.Logf("%d of %d operations succeeded at least once", len(f.succeeded), len(all))
		after := kit.RowsContaining(t, server.databaseURL(), volatileColumns, victimIDs...)
		for table, rows := range before {
			for _, row := range rows {
				require.Contains(t, after[table], row, "a row of another user in %s has changed", table)
			}
		}
		require.NotContains(t, server.log.String(), "panic")
		require.NotContains(t, server.log.String(), `"level":"ERROR"`)
	})
}

// volatileColumns are the tables and columns that may change without a request of their owner.
var volatileColumns = []string{
	"tasks", "outbox", "alert_listings", "listing_views.views", "seekers.digest_after", "seekers.digest_waiting",
	"exports.state", "exports.rows_done", "exports.rows_total", "exports.finished_at",
	"webhook_deliveries", "webhook_endpoints.failing_since", "webhook_endpoints.updated_at", "webhook_endpoints.version",
}

// resources returns the ids of resources by the part of a path that precedes them.
func (u *matrixUsers) resources() map[string]string {
	return map[string]string{
		"/listings/":        u.listing,
		"/jobs/":            u.listing,
		"/recommendations/": u.listing,
		"/applications/":    u.application,
		"/exports/":         u.export,
		"/notifications/":   u.notification,
		"/bookmarks/":       u.bookmark,
		"/documents/":       u.document,
		"/team/":            u.member,
		"":                  u.seeker.id,
		"/apps/":            u.app,
		"/keys/":            u.key,
		"/webhooks/":        u.webhook,
		"/deliveries/":      u.delivery,
		"/consents/":        u.consentedApp,
		"vacancy":           u.vacancy,
	}
}

// fuzzer creates random requests from the OpenAPI document.
type fuzzer struct {
	*rand.Rand
	document           described
	ownIDs, foreignIDs map[string]string
	succeeded          map[string]bool // the operations that have succeeded
}

// one returns one of the values at random.
func one[T any](f *fuzzer, of ...T) T { return of[f.IntN(len(of))] }

// chance returns true with a probability of one in n.
func (f *fuzzer) chance(n int) bool { return f.IntN(n) == 0 }

// sessionEndings are the operations that end the caller's session or delete the caller's account.
var sessionEndings = []string{
	"POST /api/auth/logout",
	"DELETE /api/jobseekers/profile",
	"DELETE /api/employers/profile",
	"POST /api/auth/change-password",
}

// call sends a request to the operation, mostly valid and by a caller who may execute it, and
// records a success.
func (f *fuzzer) call(t testing.TB, users *matrixUsers, method, path string) {
	t.Helper()
	op := f.document.Paths[path][strings.ToLower(method)]
	rightful := users.seeker.client
	if strings.HasPrefix(path, "/api/employers") || strings.HasPrefix(path, "/api/listings") && method != "GET" {
		rightful = users.employer.client
	}
	who := one(f, rightful, rightful, rightful, rightful, users.seeker.client, users.employer.client,
		users.bare.client, users.otherEmployer.client, users.otherSeeker.client, users.guest).fromNewAddress()
	programs := strings.HasPrefix(path, "/api/v1/") // the developer API, whose callers are programs
	if programs {
		who = one(f, users.reader, users.reader, users.writer, users.writer, users.writer, users.reader, users.seeker.client, users.guest)
		key := who.apiKey
		who = who.fromNewAddress()
		who.apiKey = key
	}
	// The operations that would end the session of a caller only run without one.
	if f.chance(20) || slices.Contains(sessionEndings, method+" "+path) {
		who.token = one(f, "", "nonsense", "eyJhbGciOiJub25lIn0.e30.")
	}
	if f.chance(10) {
		who.key = one(f, "again", `"quoted"`, strings.Repeat("k", 300), "é")
	}
	url := path
	query := []string{}
	for _, p := range op.Parameters {
		switch p.In {
		case "path":
			// The path segments before a parameter select the kind of its id.
			before, _, _ := strings.Cut(url, "{"+p.Name+"}")
			id := f.id(before)
			if uuid.Validate(id) != nil {
				id = escapeQuery(id)
			}
			url = strings.ReplaceAll(url, "{"+p.Name+"}", id)
		case "query":
			if f.chance(4) {
				query = append(query, p.Name+"="+escapeQuery(f.text(p.Schema)))
			}
		}
	}
	if len(query) > 0 {
		url += "?" + strings.Join(query, "&")
	}
	if a := who.requireHandled(t, method, url, f.body(op.RequestBody.Content)); a.status < 300 {
		f.succeeded[method+" "+path] = true
	}
}

// id returns an id, usually of the kind that the path ends with, of the caller or
// of another user.
func (f *fuzzer) id(path string) string {
	of := f.ownIDs
	if f.chance(3) {
		of = f.foreignIDs
	}
	switch f.IntN(8) {
	case 0:
		return one(f, hostileText...)
	case 1: // an id of any kind
		return one(f, slices.Sorted(maps.Values(of))...)
	}
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		if kind != "" && strings.HasSuffix(path, kind) {
			return of[kind]
		}
	}
	return of["/listings/"]
}

// text returns a value of a string parameter.
func (f *fuzzer) text(schema map[string]any) string {
	if f.chance(3) {
		return one(f, hostileText...)
	}
	if v := f.value(schema, 0); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// body returns a body for the media types of an operation: random, or its documented example,
// mostly with one part replaced.
func (f *fuzzer) body(content map[string]exampled) any {
	if len(content) == 0 {
		return nil
	}
	media := one(f, slices.Sorted(maps.Keys(content))...)
	v := f.value(content[media].Schema, 0)
	if f.chance(2) {
		// Receivers outside of this machine are not even resolved.
		_ = json.Unmarshal(
			bytes.ReplaceAll(content[media].Example, []byte("wardfinder.example.com/hooks"), []byte("receiver.invalid/hooks")),
			&v,
		)
	}
	if media != "application/json" {
		fields, separate := form{}, parts{}
		for name, value := range asObject(v) {
			fields[name], separate[name] = []string{fmt.Sprint(value)}, fmt.Sprint(value)
		}
		return one[any](f, fields, separate)
	}
	switch f.IntN(6) {
	case 0, 1: // unchanged
	case 2:
		return one(f, append(slices.Clone(wrongJSON), hostileJSON...)...)
	default:
		v = f.corrupt(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	if f.chance(20) && len(raw) > 2 { // cut off, or with a wrong byte in it
		at := f.IntN(len(raw))
		return one(f, raw[:at], append(slices.Clone(raw[:at]), append([]byte{byte(f.IntN(256))}, raw[at:]...)...))
	}
	return raw
}

// asObject returns v as an object, empty if it is none.
func asObject(v any) object {
	o, _ := v.(object)
	return o
}

// value returns a random value of a schema.
func (f *fuzzer) value(schema map[string]any, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		schema = f.document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	if choices, ok := schema["anyOf"].([]any); ok {
		schema, _ = one(f, choices...).(object)
		return f.value(schema, depth+1)
	}
	if enum, ok := schema["enum"].([]any); ok && !f.chance(20) {
		return one(f, enum...)
	}
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind, _ = one(f, kinds...).(string)
	}
	switch kind {
	case "object":
		out := object{}
		properties, _ := schema["properties"].(object)
		required, _ := schema["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if depth < 6 && (slices.Contains(required, any(name)) || f.chance(2)) {
				inner, _ := properties[name].(object)
				out[name] = f.namedValue(name, inner, depth+1)
			}
		}
		return out
	case "array":
		out := []any{}
		items, _ := schema["items"].(object)
		for range f.IntN(4) {
			if depth < 6 {
				out = append(out, f.value(items, depth+1))
			}
		}
		return out
	case "string":
		return one(f, "nurse", "Leeds", "2026-12-24", "2026-12-24T10:00:00Z", "Zoë 🚑", "", strings.Repeat("x", f.IntN(300)), f.ownIDs[""])
	case "integer":
		return one(f, 0, 1, 2, 20, 100, -1, 1<<40)
	case "number":
		return one(f, 0, 1, 30000.5, -1, 1e12, 0.001)
	case "boolean":
		return f.chance(2)
	}
	return nil
}

// namedValue returns a value for a member: an id, an address or, by its schema, any other
// value.
func (f *fuzzer) namedValue(name string, schema map[string]any, depth int) any {
	switch {
	case name == "job_id":
		return one(f, f.ownIDs["vacancy"], f.ownIDs["vacancy"], f.id("/jobs/"))
	case strings.HasSuffix(name, "Id"), name == "candidate_id", name == "id", name == "uuid":
		return f.id("")
	case name == "email" && schema["type"] != "boolean":
		return one(f, newEmail(), "x", "a@b", "é@example.org")
	}
	return f.value(schema, depth)
}

// corrupt replaces one part of a value.
func (f *fuzzer) corrupt(v any) any {
	switch node := v.(type) {
	case object:
		if len(node) == 0 {
			break
		}
		name := one(f, slices.Sorted(maps.Keys(node))...)
		switch f.IntN(4) {
		case 0:
			delete(node, name)
		case 1:
			node[one(f, "", "organizationId", "user_id", "status", "version", "__proto__", "deleted_at")] = one[any](f, f.id(""), 1, nil, true)
		default:
			node[name] = f.corrupt(node[name])
		}
		return node
	case []any:
		if len(node) == 0 || f.chance(4) {
			break
		}
		node[f.IntN(len(node))] = f.corrupt(node[f.IntN(len(node))])
		return node
	}
	text := one(f, append(slices.Clone(wrongJSON), hostileJSON...)...)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return one(f, hostileText...)
}

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

// TestFuzz_RandomRequests_AnsweredAsDocumented sends random requests to every operation, as every kind of
// caller. The server must not fail, must respond as the OpenAPI document says, and must not change data
// of users who send no requests.
//
// A round sends one request to each operation. LOCUM_TEST_FUZZ is the number of rounds. Each round has
// new users with one resource of each kind, which newMatrixUsersWithResources creates, because the
// requests may delete resources.
func TestFuzz_RandomRequests_AnsweredAsDocumented(t *testing.T) {
	seed := seed()

	rounds := 6 // few enough for every run of the tests
	if n, err := strconv.Atoi(os.Getenv("LOCUM_TEST_FUZZ")); err == nil {
		rounds = n
	}

	allOperations := fuzzedOperations(t)
	onEachSetup(t, func(t *testing.T, server *testServer) {
		defer func() {
			if t.Failed() {
				t.Logf("repeat with LOCUM_TEST_FUZZ=%d LOCUM_TEST_SEED=%d", rounds, seed)
			}
		}()

		// The victims send no requests. Their rows in the database, which contain one of these ids, must be
		// the same after the rounds as before.
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
		f := &fuzzer{
			Rand:       rand.New(rand.NewPCG(seed, 0)),
			foreignIDs: victims.resources(),
			succeeded:  map[string]bool{},
		}

		operations := slices.Clone(allOperations)
		for range rounds {
			callers := newMatrixUsersWithResources(t, server)
			f.ownIDs = callers.resources()
			f.Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })

			for _, operation := range operations {
				f.document = operation.document
				f.call(t, callers, operation.method, operation.path)
			}
		}

		t.Logf("%d of %d operations succeeded at least once", len(f.succeeded), len(allOperations))

		after := kit.RowsContaining(t, server.databaseURL(), volatileColumns, victimIDs...)
		for table, rows := range before {
			for _, row := range rows {
				require.Contains(t, after[table], row, "a row of another user in %s has changed", table)
			}
		}

		require.NotContains(t, server.log.String(), "panic", "the log of the server")
		require.NotContains(t, server.log.String(), `"level":"ERROR"`, "the log of the server")
	})
}

// seed returns the seed of a random test. LOCUM_TEST_SEED sets it, to repeat a run. Otherwise the seed is
// random if LOCUM_TEST_FUZZ is set. By default it is constant, so that only a change of the code can make
// the test fail.
func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("LOCUM_TEST_SEED"), 10, 64); err == nil {
		return n
	}

	if os.Getenv("LOCUM_TEST_FUZZ") != "" {
		return rand.Uint64()
	}

	return 1
}

// fuzzedOperation is an operation of an API, with the document that describes it.
type fuzzedOperation struct {
	document     openAPIDocument
	method, path string
}

// fuzzedOperations returns the operations of the portal API and of the developer API, in the
// same order in every run.
func fuzzedOperations(t *testing.T) []fuzzedOperation {
	t.Helper()
	var operations []fuzzedOperation
	_, portalAPI := openAPI(t)

	_, developerAPI := openAPIOf(t, developer.API(adapters.Services{}, ""))
	for _, document := range []openAPIDocument{portalAPI, developerAPI} {
		for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
			for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
				operations = append(operations, fuzzedOperation{
					document: document,
					method:   strings.ToUpper(method),
					path:     path,
				})
			}
		}
	}

	return operations
}

// volatileColumns are the tables and columns that background tasks may change without a request of the
// owner. A name without a point is a table.
var volatileColumns = []string{
	"tasks", "outbox", "alert_listings", "listing_views.views", "seekers.digest_after", "seekers.digest_waiting",
	"exports.state", "exports.rows_done", "exports.rows_total", "exports.finished_at",
	"webhook_deliveries", "webhook_endpoints.failing_since", "webhook_endpoints.updated_at", "webhook_endpoints.version",
}

// resources returns the ids of the users' resources. The key is the part of a path after which the id
// stands. Two ids are for members of bodies, and their keys are no part of a path: "" for the id of the
// user, and "vacancy" for a listing without applications.
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
	document           openAPIDocument
	ownIDs, foreignIDs map[string]string
	succeeded          map[string]bool // the operations that have succeeded
}

// one returns one of the values at random.
func one[T any](f *fuzzer, values ...T) T { return values[f.IntN(len(values))] }

// oneIn returns true with a probability of one in n.
func (f *fuzzer) oneIn(n int) bool { return f.IntN(n) == 0 }

// sessionEndings are the operations that end the caller's session or delete the caller's account.
var sessionEndings = []string{
	"POST /api/auth/logout",
	"DELETE /api/jobseekers/profile",
	"DELETE /api/employers/profile",
	"POST /api/auth/change-password",
}

// call sends a request to the operation and records a success. Most requests are valid and come from a
// caller who may execute the operation.
func (f *fuzzer) call(t testing.TB, users *matrixUsers, method, path string) {
	t.Helper()

	operation := f.document.Paths[path][strings.ToLower(method)]
	caller := f.caller(users, method, path)

	// Operations that end a session are always sent without a valid token. Later requests need the
	// session.
	if f.oneIn(20) || slices.Contains(sessionEndings, method+" "+path) {
		caller.token = one(f, "", "nonsense", "eyJhbGciOiJub25lIn0.e30.")
	}

	if f.oneIn(10) {
		caller.key = one(f, "again", `"quoted"`, strings.Repeat("k", 300), "é")
	}

	url := path

	query := []string{}
	for _, parameter := range operation.Parameters {
		switch parameter.In {
		case "path":
			// The part of the path before a parameter says of which kind the id is. See resources.
			placeholder := "{" + parameter.Name + "}"
			before, _, _ := strings.Cut(url, placeholder)

			id := f.id(before)
			if uuid.Validate(id) != nil {
				id = escapeQuery(id)
			}

			url = strings.ReplaceAll(url, placeholder, id)
		case "query":
			if f.oneIn(4) {
				query = append(query, parameter.Name+"="+escapeQuery(f.text(parameter.Schema)))
			}
		}
	}

	if len(query) > 0 {
		url += "?" + strings.Join(query, "&")
	}

	resp := caller.requireHandled(t, method, url, f.body(operation.RequestBody.Content))
	if resp.status < 300 {
		f.succeeded[method+" "+path] = true
	}
}

// caller returns a client at a new address, usually one that may execute the operation. The lists of
// clients contain some of them several times, so that these are chosen more often.
func (f *fuzzer) caller(users *matrixUsers, method, path string) *client {
	if strings.HasPrefix(path, "/api/v1/") { // the developer API, whose callers are programs
		program := one(f, users.reader, users.reader, users.writer, users.writer, users.writer, users.reader,
			users.seeker.client, users.guest)
		caller := program.fromNewAddress()
		caller.apiKey = program.apiKey

		return caller
	}

	authorized := users.seeker.client
	if strings.HasPrefix(path, "/api/employers") || strings.HasPrefix(path, "/api/listings") && method != "GET" {
		authorized = users.employer.client
	}

	return one(f, authorized, authorized, authorized, authorized, users.seeker.client, users.employer.client,
		users.withoutPermissions.client, users.otherEmployer.client, users.otherSeeker.client, users.guest).
		fromNewAddress()
}

// id returns an id of a resource of the caller or of the victims, usually of the kind that stands after the
// path. It may also be a hostile text or an id of another kind.
func (f *fuzzer) id(path string) string {
	ids := f.ownIDs
	if f.oneIn(3) {
		ids = f.foreignIDs
	}

	switch f.IntN(8) {
	case 0:
		return one(f, hostileText...)
	case 1: // an id of any kind
		return one(f, slices.Sorted(maps.Values(ids))...)
	}

	// An id of the kind that stands after the path.

	for _, kind := range slices.Sorted(maps.Keys(ids)) {
		if kind != "" && strings.HasSuffix(path, kind) {
			return ids[kind]
		}
	}

	return ids["/listings/"] // the path has no kind of resource
}

// text returns a value of a string parameter.
func (f *fuzzer) text(schema map[string]any) string {
	if f.oneIn(3) {
		return one(f, hostileText...)
	}

	value := f.value(schema, 0)
	if value == nil {
		return ""
	}

	return fmt.Sprint(value)
}

// body returns a body for an operation with the media types: a random value of its schema or the
// documented example. Most bodies in JSON have one part replaced.
func (f *fuzzer) body(content map[string]mediaType) any {
	if len(content) == 0 {
		return nil
	}

	mediaType := one(f, slices.Sorted(maps.Keys(content))...)

	value := f.value(content[mediaType].Schema, 0)
	if f.oneIn(2) {
		// The host of webhooks in the example could exist. The server must not send requests to it, so that
		// a host that never exists replaces it.
		example := bytes.ReplaceAll(content[mediaType].Example,
			[]byte("wardfinder.example.com/hooks"), []byte("receiver.invalid/hooks"))
		_ = json.Unmarshal(example, &value)
	}

	if mediaType != "application/json" {
		urlencoded := form{}

		multipart := parts{}
		for name, member := range asObject(value) {
			urlencoded[name] = []string{fmt.Sprint(member)}
			multipart[name] = fmt.Sprint(member)
		}

		return one[any](f, urlencoded, multipart)
	}

	switch f.IntN(6) {
	case 0, 1: // unchanged
	case 2:
		return one(f, append(slices.Clone(wrongJSON), hostileJSON...)...)
	default:
		value = f.corrupt(value)
	}

	raw, err := json.Marshal(value)
	if err != nil {
		return "{}"
	}

	// One body in twenty is malformed.
	if f.oneIn(20) && len(raw) > 2 {
		at := f.IntN(len(raw))
		cutOff := raw[:at]
		withRandomByte := slices.Concat(raw[:at], []byte{byte(f.IntN(256))}, raw[at:])

		return one(f, cutOff, withRandomByte)
	}

	return raw
}

// asObject returns the value as an object, or no members if it is not an object.
func asObject(value any) object {
	members, _ := value.(object)
	return members
}

// maxDepth is the depth below which random objects and arrays are empty, because schemas may be recursive.
const maxDepth = 6

// value returns a random value of a schema in JSON Schema. The depth is the number of objects and arrays
// that contain the value.
func (f *fuzzer) value(schema map[string]any, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		schema = f.document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}

	if choices, ok := schema["anyOf"].([]any); ok {
		schema, _ = one(f, choices...).(object)
		return f.value(schema, depth+1)
	}

	if enum, ok := schema["enum"].([]any); ok && !f.oneIn(20) {
		return one(f, enum...)
	}

	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind, _ = one(f, kinds...).(string)
	}

	switch kind {
	case "object":
		members := object{}
		properties, _ := schema["properties"].(object)

		required, _ := schema["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if depth < maxDepth && (slices.Contains(required, any(name)) || f.oneIn(2)) {
				memberSchema, _ := properties[name].(object)
				members[name] = f.namedValue(name, memberSchema, depth+1)
			}
		}

		return members
	case "array":
		items := []any{}

		itemSchema, _ := schema["items"].(object)
		for range f.IntN(4) {
			if depth < maxDepth {
				items = append(items, f.value(itemSchema, depth+1))
			}
		}

		return items
	case "string":
		return one(f, "nurse", "Leeds", "2026-12-24", "2026-12-24T10:00:00Z", "Zoë 🚑", "",
			strings.Repeat("x", f.IntN(300)), f.ownIDs[""])
	case "integer":
		return one(f, 0, 1, 2, 20, 100, -1, 1<<40)
	case "number":
		return one(f, 0, 1, 30000.5, -1, 1e12, 0.001)
	case "boolean":
		return f.oneIn(2)
	}

	return nil
}

// namedValue returns a random value for a member. Its name may say that the value is an id or an e-mail
// address. Otherwise the value is one of the schema.
func (f *fuzzer) namedValue(name string, schema map[string]any, depth int) any {
	switch {
	case name == "job_id":
		// Mostly the listing without applications, for which an application can succeed.
		return one(f, f.ownIDs["vacancy"], f.ownIDs["vacancy"], f.id("/jobs/"))
	case strings.HasSuffix(name, "Id"), name == "candidate_id", name == "id", name == "uuid":
		return f.id("")
	case name == "email" && schema["type"] != "boolean":
		return one(f, newEmail(), "x", "a@b", "é@example.org")
	}

	return f.value(schema, depth)
}

// corrupt deletes, adds or replaces one part of a value, and returns the changed value. A value that is
// not an object or array is replaced by a hostile one.
func (f *fuzzer) corrupt(value any) any {
	switch node := value.(type) {
	case object:
		if len(node) == 0 {
			break
		}

		name := one(f, slices.Sorted(maps.Keys(node))...)
		switch f.IntN(4) {
		case 0:
			delete(node, name)
		case 1: // a member that a client must not be able to set
			added := one(f, "", "organizationId", "user_id", "status", "version", "__proto__", "deleted_at")
			node[added] = one[any](f, f.id(""), 1, nil, true)
		default:
			node[name] = f.corrupt(node[name])
		}

		return node
	case []any:
		if len(node) == 0 || f.oneIn(4) {
			break
		}

		target := f.IntN(len(node))
		source := f.IntN(len(node)) // may be another item, which then occurs twice
		node[target] = f.corrupt(node[source])

		return node
	}

	text := one(f, append(slices.Clone(wrongJSON), hostileJSON...)...)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}

	return one(f, hostileText...)
}

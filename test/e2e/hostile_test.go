package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/web"
)

// wrongJSON contains a value of every JSON type. Each is sent in every part of a body.
var wrongJSON = []string{`null`, `true`, `-1`, `1e400`, `""`, `"x"`, `"\ud800"`, `"\u0000"`, `[]`, `[null]`, `{}`, `{"": 1}`}

// hostileJSON contains hostile values. Every fifth of them is sent in each part of a body.
var hostileJSON = []string{
	// numbers at and beyond the limits of int64 and float64
	`0`, `1.5`, `-0`, `1e308`, `-1e-400`,
	`9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`,
	// white space, NUL, lone surrogates, invalid UTF-8, invisible and combining characters
	`" "`, `"\t\r\n"`, `"a\u0000b"`, `"\udfffx"`, "\"\xff\"", "\"\xed\xa0\x80\"",
	`"🚑\u202e\u200b\ufeff"`, `"e\u0301\u0301\u0301"`,
	// injection into SQL, LIKE, mail headers, HTML, spreadsheets and templates
	`"'; DROP TABLE listings; --"`, `"%_\\*\"'` + "`" + `"`, `"x\r\nBcc: all@example.org"`,
	`"<script>alert(1)</script>"`, `"=1+1"`, `"{{.}}${x}%s%n"`,
	// long texts
	`"` + strings.Repeat("x", 30_000) + `"`, `"` + strings.Repeat("é", 200) + `"`,
	// arrays and objects with unexpected members
	`[[]]`, `[{}]`, `["a", 1, {}]`, `{"__proto__": {"a": 1}}`, `{"a": 1, "a": 2}`,
	`{"a": 1e200000}`, `{"a": "\ud800"}`, `[` + strings.Repeat(`{},`, 300) + `{}]`,
	strings.Repeat(`[`, 20) + strings.Repeat(`]`, 20),
	strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60),
	// timestamps
	`"2026-13-45T99:99:99Z"`, `"0000-01-01"`, `"9999-12-31T23:59:59Z"`, `"2026-01-01T00:00:00+99:99"`,
	// malformed JSON
	`NaN`, `undefined`, `'a'`, `01`, ``,
}

// hostileText are hostile values for queries and paths.
var hostileText = []string{
	"", " ", "x", "0", "-1", "1.5", "1e9", "99999999999999999999", "-99999999999999999999",
	"NaN", "Infinity", "null", "true", "[]", "a,b", "{}",
	"\x00", "a\x00b", "\xff", "\xed\xa0\x80", "🚑", "é", "İ", "\r\n", "\u202e",
	"'", `"`, "*", "%", "_", `\`, `'; --`, "..", "../..", "<script>",
	strings.Repeat("x", 3000), "2026-13-45", "0000-01-01",
	nowhere + "0", strings.ToUpper(nowhere), "00000000-0000-0000-0000-000000000000",
	"{" + nowhere + "}", strings.ReplaceAll(nowhere, "-", ""), "urn:uuid:" + nowhere,
}

// hostileBodies contains bodies with all members, for routes whose row in the matrix has a body
// with few members or none.
var hostileBodies = map[string]func(c *matrixUsers) any{
	"POST /api/auth/register": func(*matrixUsers) any {
		return object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
	},
	"POST /api/auth/register-employer": func(*matrixUsers) any {
		return object{"email": newEmail(), "password": password, "name": "N", "companyName": "C", "industry": "I", "companySize": "S"}
	},
	"POST /api/auth/login":           func(c *matrixUsers) any { return object{"email": c.seeker.email, "password": "wrong"} },
	"POST /api/auth/refresh":         func(*matrixUsers) any { return object{"refreshToken": "none"} },
	"POST /api/auth/forgot-password": func(*matrixUsers) any { return object{"email": newEmail()} },
	"POST /api/auth/reset-password":  func(*matrixUsers) any { return object{"token": "none", "password": password} },
	"POST /api/auth/verify-email":    func(*matrixUsers) any { return object{"token": "none"} },
	"POST /api/employers/jobs":       func(*matrixUsers) any { return fullListing() },
	"PUT /api/employers/jobs/:id":    func(*matrixUsers) any { return merge(fullListing(), object{"status": "active"}) },
	"POST /api/employers/jobs/batch": func(*matrixUsers) any { return object{"jobs": []object{fullListing()}} },
	"PUT /api/employers/jobs/batch": func(c *matrixUsers) any {
		return object{"jobs": []object{merge(fullListing(), object{"id": c.listing, "status": "active"})}}
	},
	"PATCH /api/listings/:id": func(*matrixUsers) any { return object{"meta": object{"listing": object{"title": "T"}}} },
	"POST /api/jobseekers/applications": func(c *matrixUsers) any {
		return object{"listingId": c.listing, "coverLetter": "Dear all", "answers": []object{{"question_id": "pin", "answer": "x"}}}
	},
	"POST /api/listings/search": func(*matrixUsers) any {
		return object{
			"query":   "nurse",
			"sort":    "date",
			"page":    1,
			"limit":   5,
			"cursor":  "",
			"filters": object{"location": "Leeds", "radius": 5},
		}
	},
	"PUT /api/employers/team/:id/permissions": func(*matrixUsers) any {
		return object{"role": "viewer", "permissions": object{"jobs": object{"create": true}}}
	},
}

// TestHostileInput sends wrong and hostile values in every part of every body, query and path
// of the portal API, as a caller who may execute the route. Every response must be documented
// and no server error.
func TestHostileInput(t *testing.T) {
	onEachSetupIfHeavy(t, func(t *testing.T, server *testServer) {
		users := newMatrixUsersWithResources(t, server)
		moderator := server.moderator(t)
		t.Run("routes", func(t *testing.T) {
			for _, route := range routes() {
				key := route.Method + " " + route.Path
				row := matrix[key]
				if key == "POST /api/auth/logout" {
					continue // would end the session
				}
				t.Run(key, func(t *testing.T) {
					path := fixedPath(route.Path)
					if row.path != nil {
						path = row.path
					}
					who := users.guest
					switch {
					case route.Audience == web.Employer:
						who = users.employer.client
					case route.Audience == web.Moderator:
						who = moderator.client
					case route.Auth != web.None:
						who = users.seeker.client
					}
					switch key { // a valid body deletes the account
					case "DELETE /api/jobseekers/profile":
						who = server.seeker(t).client
					case "DELETE /api/employers/profile":
						who = server.employer(t).client
					}
					h := hostileRoute{t: t, users: users, who: who, route: route, path: path(users), row: row}
					h.sendBodies()
					h.sendQueries()
					h.sendPaths()
				})
			}
		})
		require.NotContains(t, server.log.String(), "panic")
		require.NotContains(t, server.log.String(), `"level":"ERROR"`)
	})
}

// hostileRoute is a route with the caller and the valid request that the hostile ones vary.
type hostileRoute struct {
	t     *testing.T
	users *matrixUsers
	who   *client
	route web.Route
	path  string // with ids of the users' resources
	row   matrixRow
}

// send sends a request to the route from a new address, because many routes are rate limited.
func (h hostileRoute) send(path string, body any) *response {
	h.t.Helper()
	return h.who.fromNewAddress().requireHandled(h.t, h.route.Method, path, body)
}

// requireHandled requires a documented response that is not a server error.
func (c *client) requireHandled(t testing.TB, method, path string, body any) *response {
	t.Helper()
	c.t = t
	resp, request, sent := c.exchange(method, path, body)
	if resp.status >= 500 {
		log := strings.Split(strings.TrimSpace(c.server.log.String()), "\n")
		require.Fail(t, "the server failed", "%s %s %.500s: %s\n%s", method, path, sent, resp.raw,
			strings.Join(log[max(0, len(log)-3):], "\n"))
	}
	c.validateResponse(request, sent, resp)
	return resp
}

// sendBodies sends a valid body with hostile values in place of each part.
func (h hostileRoute) sendBodies() {
	h.t.Helper()
	if !h.route.TakesBody() {
		return
	}
	body := h.row.body
	if full, ok := hostileBodies[h.route.Method+" "+h.route.Path]; ok {
		body = full
	}
	if body == nil {
		body = withBody(object{})
	}
	for i, path := range bodyPaths(h.route.Op.In, plainJSON(h.t, body(h.users)), nil) {
		for j, value := range append(slices.Clone(wrongJSON), hostileJSON...) {
			// All hostile values in all parts would take too long: each part gets another
			// fifth.
			if j >= len(wrongJSON) && j%5 != i%5 {
				continue
			}
			// A placeholder is encoded and then replaced, because some values are not valid JSON.
			const placeholder = "@@here@@"
			var encoded bytes.Buffer
			enc := json.NewEncoder(&encoded)
			enc.SetEscapeHTML(false)
			require.NoError(h.t, enc.Encode(setPart(plainJSON(h.t, body(h.users)), path, placeholder)))
			h.send(h.path, strings.Replace(encoded.String(), `"`+placeholder+`"`, value, 1))
		}
	}
	for _, malformed := range []string{
		"", " ", "\xef\xbb\xbf{}", "{", "}", "{}{}", `{"a":}`, "\x00", "a=b&c=d", "<xml/>",
		strings.Repeat("[", 100_000),
	} {
		h.send(h.path, malformed)
	}
}

// sendQueries sends every hostile text as every parameter.
func (h hostileRoute) sendQueries() {
	h.t.Helper()
	in := h.route.Op.In
	for _, name := range fieldNames(in, "query") {
		for _, text := range hostileText {
			h.send(h.path+"?"+name+"="+escapeQuery(text), h.body())
		}
		h.send(h.path+"?"+name+"=1&"+name+"=2", h.body())
		for _, value := range []string{"%", "%zz", "%u1234", "+", "a;b", "=", "[]=1"} {
			h.send(h.path+"?"+name+"="+value, h.body())
		}
	}
	if h.route.Method == http.MethodGet {
		h.send(h.path+"?unknown=1&&=&?%00=1", nil)
	}
}

// body returns the valid body of the route, or nil if it has none.
func (h hostileRoute) body() any {
	if h.row.body == nil {
		return nil
	}
	return h.row.body(h.users)
}

// sendPaths sends paths with invalid ids.
func (h hostileRoute) sendPaths() {
	h.t.Helper()
	before, after, ok := strings.Cut(h.route.Path, ":id")
	if !ok {
		return
	}
	for _, text := range hostileText {
		path := before + escapeQuery(text) + after
		resp := h.who.fromNewAddress().try(h.route.Method, path, h.body())
		switch {
		case h.row.foreignStatus != 0:
			require.Contains(h.t, []int{h.row.foreignStatus, http.StatusNotFound}, resp.status, "%s: %s", path, resp.raw)
		case slices.Contains(h.route.Errors, http.StatusUnauthorized): // the token of a link is checked before the id
			require.Contains(h.t,
				[]int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed}, resp.status,
				"%s: %s", path, resp.raw)
		default:
			require.Contains(h.t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, resp.status, "%s: %s", path, resp.raw)
		}
		require.Equal(h.t, false, resp.body["success"], "%s", resp.raw)
	}
}

// plainJSON returns a value as encoding/json decodes it.
func plainJSON(t testing.TB, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// bodyPaths returns the paths of all parts of a body: the fields of the input
// type and those of the example.
func bodyPaths(in reflect.Type, example any, prefix []any) [][]any {
	out := [][]any{prefix}
	step := func(s any) []any { return append(slices.Clone(prefix), s) }
	switch v := example.(type) {
	case object:
		names := fieldNames(in, "json")
		for name := range v {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			out = append(out, bodyPaths(fieldType(in, name), v[name], step(name))...)
		}
	case []any:
		for i, item := range v {
			out = append(out, bodyPaths(itemType(in), item, step(i))...)
		}
	}
	return out
}

// dereference returns the type to which a pointer type points.
func dereference(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// itemType returns the type of a slice's elements, or nil for another type.
func itemType(t reflect.Type) reflect.Type {
	if t = dereference(t); t != nil && t.Kind() == reflect.Slice {
		return t.Elem()
	}
	return nil
}

// fieldNames returns the names that a tag gives to the fields of a struct type, embedded ones
// included.
func fieldNames(t reflect.Type, tag string) []string {
	var out []string
	if t = dereference(t); t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get(tag), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// fieldType returns the type of the field with the name in JSON, or nil if there is none.
func fieldType(t reflect.Type, json string) reflect.Type {
	if t = dereference(t); t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == json {
			return f.Type
		}
	}
	return nil
}

// setPart sets the part of the body at the path, of member names and indexes, and returns the
// body.
func setPart(body any, steps []any, value any) any {
	if len(steps) == 0 {
		return value
	}
	switch at := steps[0].(type) {
	case string:
		o := body.(object)
		o[at] = setPart(o[at], steps[1:], value)
	case int:
		l := body.([]any)
		l[at] = setPart(l[at], steps[1:], value)
	}
	return body
}

// TestPublicRoutes_IgnoreTokens checks that an invalid token does not keep a user from the
// routes that need none, such as signing in.
func TestPublicRoutes_IgnoreTokens(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		users := newMatrixUsersWithResources(t, server)
		for _, route := range routes() {
			if route.Auth != web.None {
				continue
			}
			body := func() any {
				if full, ok := hostileBodies[route.Method+" "+route.Path]; ok {
					return full(users)
				}
				return nil
			}
			without := server.guest(t)
			with := server.guest(t)
			with.token = "expired"
			require.Equal(t, without.send(route.Method, route.Path, body()).status,
				with.send(route.Method, route.Path, body()).status, "%s %s", route.Method, route.Path)
		}
	})
}

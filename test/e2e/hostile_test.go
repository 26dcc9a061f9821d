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

// wrongJSON contains values of every JSON type. The test sends each of them in every part of a body:
// in place of the whole body, and of each member and item.
var wrongJSON = []string{`null`, `true`, `-1`, `1e400`, `""`, `"x"`, `"\ud800"`, `"\u0000"`, `[]`, `[null]`, `{}`, `{"": 1}`}

// hostileJSON contains hostile values. All of them in every part of a body would take too long, so
// that each part gets a fifth of them, and the next part another fifth.
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

// hostileBodies contains valid bodies with all members, by route. The matrix, a table of the other
// tests, has a valid request for each route. hostileBodies replaces those of its bodies that have few
// members or none.
var hostileBodies = map[string]func(u *matrixUsers) any{
	"POST /api/auth/register": func(*matrixUsers) any {
		return object{"email": newEmail(), "password": password, "name": "N", "userType": "jobseeker"}
	},
	"POST /api/auth/register-employer": func(*matrixUsers) any {
		return object{"email": newEmail(), "password": password, "name": "N", "companyName": "C", "industry": "I", "companySize": "S"}
	},
	"POST /api/auth/login":           func(u *matrixUsers) any { return object{"email": u.seeker.email, "password": "wrong"} },
	"POST /api/auth/refresh":         func(*matrixUsers) any { return object{"refreshToken": "none"} },
	"POST /api/auth/forgot-password": func(*matrixUsers) any { return object{"email": newEmail()} },
	"POST /api/auth/reset-password":  func(*matrixUsers) any { return object{"token": "none", "password": password} },
	"POST /api/auth/verify-email":    func(*matrixUsers) any { return object{"token": "none"} },
	"POST /api/employers/jobs":       func(*matrixUsers) any { return fullListing() },
	"PUT /api/employers/jobs/:id":    func(*matrixUsers) any { return merge(fullListing(), object{"status": "active"}) },
	"POST /api/employers/jobs/batch": func(*matrixUsers) any { return object{"jobs": []object{fullListing()}} },
	"PUT /api/employers/jobs/batch": func(u *matrixUsers) any {
		return object{"jobs": []object{merge(fullListing(), object{"id": u.listing, "status": "active"})}}
	},
	"PATCH /api/listings/:id": func(*matrixUsers) any { return object{"meta": object{"listing": object{"title": "T"}}} },
	"POST /api/jobseekers/applications": func(u *matrixUsers) any {
		return object{"listingId": u.listing, "coverLetter": "Dear all", "answers": []object{{"question_id": "pin", "answer": "x"}}}
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

// TestHostileInput sends wrong and hostile values in every part of every body, query and path of the
// portal API. The caller may execute the route, so that the values get past the authorization. Every
// response must be as the OpenAPI document says, and must not be a server error. The log must contain
// no error.
//
// routes returns the routes of the portal API. newMatrixUsersWithResources creates users with one
// resource of each kind, such as a listing, whose ids the valid requests contain.
func TestHostileInput(t *testing.T) {
	onEachSetupIfHeavy(t, func(t *testing.T, server *testServer) {
		users := newMatrixUsersWithResources(t, server)
		moderator := server.moderator(t)
		t.Run("routes", func(t *testing.T) {
			for _, route := range routes() {
				key := route.Method + " " + route.Path

				if key == "POST /api/auth/logout" {
					continue // would end the session that the other requests need
				}

				t.Run(key, func(t *testing.T) {
					row := matrix[key]

					// A path without ids is not in the row.
					path := fixedPath(route.Path)
					if row.path != nil {
						path = row.path
					}

					caller := users.guest
					switch {
					// A valid request to these two routes deletes the account of the caller.
					case key == "DELETE /api/jobseekers/profile":
						caller = server.seeker(t).client
					case key == "DELETE /api/employers/profile":
						caller = server.employer(t).client
					case route.Audience == web.Employer:
						caller = users.employer.client
					case route.Audience == web.Moderator:
						caller = moderator.client
					case route.Auth != web.None:
						caller = users.seeker.client
					}

					h := hostileRoute{t: t, users: users, caller: caller, route: route, path: path(users), row: row}
					h.sendBodies()
					h.sendQueries()
					h.sendPaths()
				})
			}
		})

		require.NotContains(t, server.log.String(), "panic", "the log of the server")
		require.NotContains(t, server.log.String(), `"level":"ERROR"`, "the log of the server")
	})
}

// TestPublicRoutes_IgnoreTokens checks that public routes, such as the one to sign in, ignore the access
// token of a request. A user with an invalid token must be able to sign in.
func TestPublicRoutes_IgnoreTokens(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		users := newMatrixUsersWithResources(t, server)
		for _, route := range routes() {
			if route.Auth != web.None {
				continue
			}

			body := func() any {
				if fullBody, ok := hostileBodies[route.Method+" "+route.Path]; ok {
					return fullBody(users)
				}

				return nil
			}

			withoutToken := server.guest(t).send(route.Method, route.Path, body())
			withInvalidToken := server.guest(t).withInvalidToken().send(route.Method, route.Path, body())
			require.Equal(t, withoutToken.status, withInvalidToken.status, "%s %s", route.Method, route.Path)
		}
	})
}

// hostileRoute is a route with a caller and a valid request. Its methods send the request with one part
// replaced by a hostile value.
type hostileRoute struct {
	t      *testing.T
	users  *matrixUsers
	caller *client // may execute the route
	route  web.Route
	path   string // with ids of the users' resources
	row    matrixRow
}

// send sends a request to the route and requires a documented response that is not a server error. The
// request comes from a new address, because many routes limit the requests of an address.
func (h hostileRoute) send(path string, body any) *response {
	h.t.Helper()
	return h.caller.fromNewAddress().requireHandled(h.t, h.route.Method, path, body)
}

// requireHandled sends a request and requires a documented response that is not a server error.
func (c *client) requireHandled(t testing.TB, method, path string, body any) *response {
	t.Helper()

	c.t = t

	resp, request, sent := c.exchange(method, path, body)
	if resp.status >= 500 {
		const shownLines = 3
		log := strings.Split(strings.TrimSpace(c.server.log.String()), "\n")
		lastLines := log[max(0, len(log)-shownLines):]
		require.Fail(t, "the server failed", "%s %s %.500s: %s\n%s", method, path, sent, resp.raw,
			strings.Join(lastLines, "\n"))
	}

	c.validateResponse(request, sent, resp)

	return resp
}

// sendBodies sends a valid body with wrong and hostile values in place of each part, and then texts that
// are no JSON.
func (h hostileRoute) sendBodies() {
	h.t.Helper()

	if !h.route.TakesBody() {
		return
	}

	newBody := h.row.body
	if fullBody, ok := hostileBodies[h.route.Method+" "+h.route.Path]; ok {
		newBody = fullBody
	}

	if newBody == nil {
		newBody = withBody(object{})
	}

	const fifths = 5 // see hostileJSON

	parts := bodyPaths(h.route.Op.In, plainJSON(h.t, newBody(h.users)), nil)
	for partIndex, part := range parts {
		values := slices.Clone(wrongJSON)
		for i, value := range hostileJSON {
			if i%fifths == partIndex%fifths {
				values = append(values, value)
			}
		}

		// Each request has its own body, because replacePart changes it.
		for _, value := range values {
			h.send(h.path, h.replacePart(plainJSON(h.t, newBody(h.users)), part, value))
		}
	}

	for _, malformed := range []string{
		"", " ", "\xef\xbb\xbf{}", "{", "}", "{}{}", `{"a":}`, "\x00", "a=b&c=d", "<xml/>",
		strings.Repeat("[", 100_000),
	} {
		h.send(h.path, malformed)
	}
}

// replacePart returns the JSON of the body with the value in place of the part, which is a path as
// bodyPaths returns it. The value is JSON, or a text that is not valid JSON. replacePart changes the body.
func (h hostileRoute) replacePart(body any, part []any, value string) string {
	h.t.Helper()

	// Encoding the value would make it valid JSON. Therefore a placeholder is encoded, and then replaced
	// by the value.
	const placeholder = "@@here@@"
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	require.NoError(h.t, encoder.Encode(setPart(body, part, placeholder)))

	return strings.Replace(encoded.String(), `"`+placeholder+`"`, value, 1)
}

// sendQueries sends every hostile text as each parameter of the query, repeated parameters, and values
// with invalid percent-encoding.
func (h hostileRoute) sendQueries() {
	h.t.Helper()

	// The fields of the input type have tags with the names of their parameters.
	for _, name := range fieldNames(h.route.Op.In, "query") {
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

	before, after, hasID := strings.Cut(h.route.Path, ":id")
	if !hasID {
		return
	}

	for _, text := range hostileText {
		path := before + escapeQuery(text) + after
		resp := h.caller.fromNewAddress().try(h.route.Method, path, h.body())

		// Some texts, such as "..", lead to the path of another route, which does not have this method.
		allowed := []int{http.StatusNotFound, http.StatusMethodNotAllowed}
		switch {
		// The route has another status than 404 for resources that are not the caller's.
		case h.row.foreignStatus != 0:
			allowed = []int{http.StatusNotFound, h.row.foreignStatus}
		// The route has links with a token, which it checks before the id.
		case slices.Contains(h.route.Errors, http.StatusUnauthorized):
			allowed = append(allowed, http.StatusUnauthorized)
		}

		require.Contains(h.t, allowed, resp.status, "%s: %s", path, resp.raw)
		require.Equal(h.t, false, resp.body["success"], "%s", resp.raw)
	}
}

// plainJSON returns a copy of a value as encoding/json decodes it: objects are maps and arrays are []any.
func plainJSON(t testing.TB, value any) any {
	t.Helper()

	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	var decoded any
	require.NoError(t, json.Unmarshal(encoded, &decoded))

	return decoded
}

// bodyPaths returns the paths of all parts of a body: the members that the input type has, and those of
// the example. A path is a list of member names and indexes. The path of the whole body is prefix, with
// which all paths begin.
func bodyPaths(in reflect.Type, example any, prefix []any) [][]any {
	paths := [][]any{prefix}

	extend := func(step any) []any { return append(slices.Clone(prefix), step) }
	switch value := example.(type) {
	case object:
		names := fieldNames(in, "json")
		for name := range value {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}

		slices.Sort(names)

		for _, name := range names {
			paths = append(paths, bodyPaths(fieldType(in, name), value[name], extend(name))...)
		}
	case []any:
		for i, item := range value {
			paths = append(paths, bodyPaths(itemType(in), item, extend(i))...)
		}
	}

	return paths
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
	t = dereference(t)
	if t != nil && t.Kind() == reflect.Slice {
		return t.Elem()
	}

	return nil
}

// fieldNames returns the names that a tag gives to the fields of a struct type, embedded ones
// included.
func fieldNames(t reflect.Type, tag string) []string {
	t = dereference(t)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}

	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get(tag), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}

	return names
}

// fieldType returns the type of the struct's field with the name in JSON, or nil if there is none.
func fieldType(t reflect.Type, jsonName string) reflect.Type {
	t = dereference(t)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}

	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == jsonName {
			return field.Type
		}
	}

	return nil
}

// setPart replaces the part of the body at the path by the value, and returns the body. The path is a
// list of member names and indexes. An empty path is the whole body.
func setPart(body any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}

	switch step := path[0].(type) {
	case string:
		members := body.(object)
		members[step] = setPart(members[step], path[1:], value)
	case int:
		items := body.([]any)
		items[step] = setPart(items[step], path[1:], value)
	}

	return body
}

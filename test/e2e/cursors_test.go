package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForgedCursors checks that no forged cursor makes the server fail. Cursors are opaque, but
// a client may decode and change them; such a cursor either works or is a 400.
func TestForgedCursors(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		for i := range 3 {
			id := employer.listing(object{"title": "Nurse", "location": "Leeds", "salary": object{"min": 30000 + i}})
			seeker.application(id, nil)
		}

		server.addMember(t, employer, nil)
		server.addMember(t, employer, nil)

		// Every kind of list, with a user who may read it.
		for path, reader := range map[string]*client{
			"/api/listings?":                              server.guest(t),
			"/api/listings?sort=salary&":                  server.guest(t),
			"/api/listings?sort=distance&location=Leeds&": server.guest(t),
			"/api/listings?search=nurse&sort=relevance&":  server.guest(t),
			"/api/employers/jobs?":                        employer.client,
			"/api/employers/applications?":                employer.client,
			"/api/jobseekers/applications?":               seeker.client,
			"/api/employers/team?":                        employer.client,
		} {
			t.Run(path, func(t *testing.T) {
				client := *reader
				client.t = t
				cursor := client.get(path + "limit=1").ok(200).text("data.nextCursor")
				client.get(path + "limit=1&cursor=" + cursor).ok(200)

				const maxLength = 600 // longer ones are refused for their length, as the one of 513 characters is
				for _, forged := range forgeCursors(cursor) {
					if len(forged) > maxLength {
						continue
					}

					list := client.requireHandled(t, "GET", path+"limit=1&cursor="+escapeQuery(forged), nil)
					require.Contains(t, []int{200, 400}, list.status, "%s", list.raw)
				}
			})
		}
	})
}

// forgeCursors returns cursors that the list did not issue: malformed ones, and the given one
// with every member of its payload replaced. A cursor is the base64 of a name, a dot and a JSON
// object.
func forgeCursors(cursor string) (forged []string) {
	const maxCursor = 512 // characters
	forged = []string{
		// No cursors: other text, an id, and a payload without its encoding.
		"x",
		"'",
		"AAAA",
		nowhere,
		strings.ToUpper(nowhere),
		"own.{}",
		// The cursor with more, fewer and other characters.
		cursor + "x",
		cursor[1:],
		strings.ToUpper(cursor),
		// Text just above and below the maximum length.
		strings.Repeat("A", maxCursor+1),
		strings.Repeat("A", maxCursor-1),
	}

	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return forged
	}

	listName, payload, _ := bytes.Cut(decoded, []byte("."))

	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return forged
	}

	forge := func(payload string) {
		forged = append(forged, base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%s.%s", listName, payload))))
	}

	// Other payloads than a JSON object with the members.
	for _, invalid := range []string{"", "{", "{}", "[]", "null", `"x"`, strings.Repeat("[", 200)} {
		forge(invalid)
	}

	// Values that a payload could have, but at the limits of timestamps and numbers.
	plausible := []string{
		`"0001-01-01T00:00:00Z"`, `"-1"`, `2`, `1`, `1e15`, `1e18`, `9.3e18`, `0.5`, `"` + nowhere + `"`,
	}

	// Each value replaces each member in turn. The others keep their values.
	for replaced := range members {
		for _, replacement := range slices.Concat(wrongJSON, hostileJSON, plausible) {
			var encoded []string
			for name, value := range members {
				if name == replaced {
					value = json.RawMessage(replacement)
				}

				encoded = append(encoded, fmt.Sprintf("%q:%s", name, value))
			}

			forge("{" + strings.Join(encoded, ",") + "}")
		}
	}

	return forged
}

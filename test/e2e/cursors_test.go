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

		// Every list gets at least two items, so that a page with one item has a cursor. The salaries differ, because a list
		// is sorted by them.
		for i := range 3 {
			id := employer.listing(object{"title": "Nurse", "location": "Leeds", "salary": object{"min": 30000 + i}})
			seeker.application(id, nil)
		}

		server.addMember(t, employer, nil)
		server.addMember(t, employer, nil)

		// Every kind of list, with a user who may read it. The subtests append parameters to the paths.
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

				// The cursor that the server issues works.
				issued := client.get(path + "limit=1").ok(200).text("data.nextCursor")
				client.get(path + "limit=1&cursor=" + issued).ok(200)

				// The server refuses every cursor of more than maxCursor characters. The cursors that are slightly longer are
				// tested, and much longer ones are not: the response would be the same.
				const maxTested = 600

				for _, forged := range forgeCursors(issued) {
					if len(forged) > maxTested {
						continue
					}

					list := client.requireHandled(t, "GET", path+"limit=1&cursor="+escapeQuery(forged), nil)
					require.Contains(t, []int{200, 400}, list.status, "cursor %s: %s", forged, list.raw)
				}
			})
		}
	})
}

// maxCursor is the maximum length of a cursor, in characters.
const maxCursor = 512

// forgeCursors returns cursors that the list did not issue: malformed ones, and the given one with every member of its
// payload replaced.
func forgeCursors(cursor string) []string {
	return append(malformedCursors(cursor), cursorsWithOtherPayloads(cursor)...)
}

// malformedCursors returns texts that are not cursors, and changes of the given cursor that ignore its encoding.
func malformedCursors(cursor string) []string {
	return []string{
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
}

// cursorsWithOtherPayloads returns cursors with the encoding of the given one and another payload. A cursor is the base64
// of the name of its list, a dot and the payload, a JSON object. A cursor with another encoding has no such variants.
func cursorsWithOtherPayloads(cursor string) (forged []string) {
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil
	}

	listName, payload, _ := bytes.Cut(decoded, []byte("."))

	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}

	forge := func(payload string) {
		forged = append(forged, base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%s.%s", listName, payload))))
	}

	// Payloads that are not a JSON object with the members.
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

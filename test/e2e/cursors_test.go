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

		for path, who := range map[string]*client{
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
				c := *who
				c.t = t
				cursor := c.get(path + "limit=1").ok(200).text("data.nextCursor")
				c.get(path + "limit=1&cursor=" + cursor).ok(200)

				for _, forged := range forgeCursors(cursor) {
					if len(forged) > 600 {
						continue // longer than the query parameter may be
					}

					a := c.requireHandled(t, "GET", path+"limit=1&cursor="+escapeQuery(forged), nil)
					require.Contains(t, []int{200, 400}, a.status, "%s", a.raw)
				}
			})
		}
	})
}

// forgeCursors returns cursors that the list did not issue: malformed ones, and the given one
// with every member of its payload replaced. A cursor is the base64 of a name, a dot and a JSON
// object.
func forgeCursors(cursor string) []string {
	out := []string{
		"x",
		"'",
		"AAAA",
		nowhere,
		strings.ToUpper(nowhere),
		"own.{}",
		cursor + "x",
		cursor[1:],
		strings.ToUpper(cursor),
		strings.Repeat("A", 513),
		strings.Repeat("A", 511),
	}

	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return out
	}

	name, rest, _ := bytes.Cut(raw, []byte("."))

	var members map[string]json.RawMessage
	if json.Unmarshal(rest, &members) != nil {
		return out
	}

	encode := func(payload string) {
		out = append(out, base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%s.%s", name, payload))))
	}
	for _, payload := range []string{"", "{", "{}", "[]", "null", `"x"`, strings.Repeat("[", 200)} {
		encode(payload)
	}

	// Values that a payload could have, but at the limits of timestamps and numbers.
	plausible := []string{
		`"0001-01-01T00:00:00Z"`, `"-1"`, `2`, `1`, `1e15`, `1e18`, `9.3e18`, `0.5`, `"` + nowhere + `"`,
	}
	for forged := range members {
		for _, value := range slices.Concat(wrongJSON, hostileJSON, plausible) {
			var encoded []string
			for name, original := range members {
				if name == forged {
					original = json.RawMessage(value)
				}

				encoded = append(encoded, fmt.Sprintf("%q:%s", name, original))
			}

			encode("{" + strings.Join(encoded, ",") + "}")
		}
	}

	return out
}

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdempotencyKey checks that a repeated POST with the same key returns the stored response
// instead of being executed again. A key is the user's own and belongs to one request body.
func TestIdempotencyKey(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)

		// keyed returns a client that sends the key, from a new address because the route is
		// rate limited.
		keyed := func(a *account, key string) *client {
			c := a.fromNewAddress()
			c.key = key
			return c
		}

		body := object{"title": "Staff Nurse", "description": "Nights."}

		t.Run("same key and body", func(t *testing.T) {
			first := keyed(employer, "k1").post("/api/employers/jobs", body).ok(201)
			require.Empty(t, first.header.Get("Idempotency-Replayed"))

			// Without quotes, as most clients send it, and as a string of RFC 8941.
			for _, spelling := range []string{"k1", `"k1"`} {
				repeated := keyed(employer, spelling).post("/api/employers/jobs", body).ok(201)
				require.Equal(t, string(first.raw), string(repeated.raw))
				require.Equal(t, "true", repeated.header.Get("Idempotency-Replayed"))
			}

			require.Len(t, employer.get("/api/employers/jobs").ok(200).list("data.listings"), 1)
		})

		t.Run("other body", func(t *testing.T) {
			keyed(employer, "k1").post("/api/employers/jobs", object{"title": "Other", "description": "D"}).
				fails(422, "This Idempotency-Key was used for another request")
		})

		t.Run("stored error", func(t *testing.T) {
			keyed(employer, "k2").post("/api/employers/jobs", object{"title": "T"}).invalid("description")

			repeated := keyed(employer, "k2").post("/api/employers/jobs", object{"title": "T"}).invalid("description")
			require.Equal(t, "true", repeated.header.Get("Idempotency-Replayed"))
		})

		t.Run("same key of another user", func(t *testing.T) {
			keyed(server.employer(t), "k1").post("/api/employers/jobs", object{"title": "Other", "description": "D"}).ok(201)
		})

		// The retry may succeed, for example with more permissions.
		t.Run("unauthorized response is not stored", func(t *testing.T) {
			seeker := server.seeker(t)
			keyed(seeker, "k3").post("/api/employers/jobs", body).fails(403, "Forbidden")

			repeated := keyed(seeker, "k3").post("/api/employers/jobs", body).fails(403, "Forbidden")
			require.Empty(t, repeated.header.Get("Idempotency-Replayed"))
		})

		t.Run("malformed key", func(t *testing.T) {
			for _, malformed := range []string{strings.Repeat("x", 256), "caf\u00e9", `""`} {
				keyed(employer, malformed).post("/api/employers/jobs", body).invalid("Idempotency-Key")
			}
		})
	})
}

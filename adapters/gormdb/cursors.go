package gormdb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

type ownCursor struct {
	CreatedAt time.Time
	ID        string
}

var errCursor = fault.InvalidField("cursor", "is not one that this list gave out")

// A cursor contains the position of the next page and the name of the list. A cursor of a
// list in another order is invalid.
func writeCursor(list string, at any) string {
	raw, err := json.Marshal(at)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte(list+"."), raw...))
}

// readCursor also rejects values that a database would refuse, because clients can forge
// cursors.
func readCursor(cursor, list string, at interface{ sound() bool }) bool {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return false
	}
	rest, ok := bytes.CutPrefix(raw, []byte(list+"."))
	return ok && json.Unmarshal(rest, at) == nil && at.sound()
}

func (c *ownCursor) sound() bool { return id.Valid(c.ID) && soundMoment(c.CreatedAt) }

func soundMoment(t time.Time) bool { return t.Year() >= 1900 && t.Year() <= 9000 }

package gormdb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

var errCursor = fault.InvalidField("cursor", "is not one that this list gave out")

// listingCursor is the position of a listing in the list of its organization.
type listingCursor struct {
	CreatedAt time.Time
	ID        string
}

// cursorPrefix begins a cursor, so that one of another list is invalid.
const cursorPrefix = "own."

func (c listingCursor) encode() string {
	raw, _ := json.Marshal(c) //nolint:errchkjson // a time of a row
	return base64.RawURLEncoding.EncodeToString(append([]byte(cursorPrefix), raw...))
}

// parseListingCursor also rejects values that a database would refuse, because clients can
// forge cursors.
func parseListingCursor(cursor string) (c listingCursor, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	rest, ok := bytes.CutPrefix(raw, []byte(cursorPrefix))
	if err != nil || !ok || json.Unmarshal(rest, &c) != nil || !id.Valid(c.ID) || c.CreatedAt.Year() < 1900 || c.CreatedAt.Year() > 9000 {
		return c, errCursor
	}
	return c, nil
}

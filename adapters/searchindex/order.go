package searchindex

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

// Hits are ordered by class first.
const (
	classFirst   = iota // exact, matches Query.First
	classExact          // the other exact hits
	classRelaxed        // sorted by cost
	classes
)

// last is the key of documents without the value that is sorted by.
const last = math.MaxUint64

// keyFunc returns the sort key of a document, or any key from worst if it is not
// below worst. For titles and locations it holds within one segment only.
type keyFunc func(doc uint32, worst uint64) uint64

// sortedByCost reports whether exact hits are in the order of their ordinals,
// after their cost if useCosts is set.
func sortedByCost(s search.Sort) (sorted, useCosts bool) {
	return s.By == search.SortRelevance || s.By == search.SortDate && s.Descending, s.By == search.SortRelevance
}

// ordered encodes a number so that unsigned keys have its order.
func ordered(n int64) uint64 { return uint64(n) ^ 1<<63 }

// newKeyFunc returns the keys for a sort that is not by cost.
func newKeyFunc(s *segment, q *search.Query) keyFunc {
	flip := uint64(0)
	if q.Sort.Descending {
		flip = last
	}
	switch q.Sort.By {
	case search.SortPay:
		return payKeys(s, q.Sort, flip)
	case search.SortTitle:
		return func(doc uint32, _ uint64) uint64 { return present(s.title[doc], flip) }
	case search.SortLocation:
		return func(doc uint32, _ uint64) uint64 { return present(s.location[doc], flip) }
	case search.SortDistance:
		return distanceKeys(s, *q.From, flip)
	default:
		return func(doc uint32, _ uint64) uint64 { return ordered(s.posted[doc]) ^ flip }
	}
}

// distanceKeys computes the distance of a place when it is needed: not if the
// difference in latitude alone is too large already.
func distanceKeys(s *segment, from search.Point, flip uint64) keyFunc {
	keys := make([]uint64, len(s.places)+1)
	keys[0] = last
	return func(doc uint32, worst uint64) uint64 {
		place := s.place[doc]
		if keys[place] > 0 {
			return keys[place]
		}
		p := s.places[place-1]
		if north := uint64(math.Abs(p.Lat-from.Lat) * 69_000); flip == 0 && north > worst {
			return last
		}
		keys[place] = distanceKey(p.Miles(from)) ^ flip
		return keys[place]
	}
}

// distanceKey rounds to a thousandth of a mile, so that processors that round
// differently agree. It is not 0, whose complement is last.
func distanceKey(miles float64) uint64 { return uint64(math.Round(miles*1000)) + 1 }

// present returns the key of a position plus one, 0 for none.
func present(n uint32, flip uint64) uint64 {
	if n == 0 {
		return last
	}
	return uint64(n) ^ flip
}

func payKeys(s *segment, by search.Sort, flip uint64) keyFunc {
	pay := s.payMin
	if by.Descending {
		pay = s.payMax
	}
	if by.Currency == "" {
		return func(doc uint32, _ uint64) uint64 {
			if s.currency[doc] == 0 {
				return last
			}
			return ordered(pay[doc]) ^ flip
		}
	}
	n, found := s.currencies.find(by.Currency)
	currency := uint32(n + 1)
	if !found {
		currency = math.MaxUint32
	}
	return func(doc uint32, _ uint64) uint64 {
		if s.currency[doc] != currency {
			return last
		}
		return ordered(pay[doc]) ^ flip
	}
}

// sortedTexts returns the column of a sort by text.
func sortedTexts(s *segment, by search.SortKey) (*texts, []uint32) {
	switch by {
	case search.SortTitle:
		return &s.titles, s.title
	case search.SortLocation:
		return &s.locations, s.location
	}
	return nil, nil
}

// ranked is a hit with what it is ordered by.
type ranked struct {
	part  *part
	doc   uint32
	class int
	key   uint64 // 0 for a text
	text  string
}

func (r *ranked) posted() int64 { return r.part.posted[r.doc] }
func (r *ranked) id() string    { return r.part.ids.at(int(r.doc)) }

// newRanked completes an item of a segment.
func newRanked(p *part, class int, it item, by search.SortKey) ranked {
	r := ranked{part: p, doc: it.doc, class: class, key: it.key}
	if list, column := sortedTexts(p.segment, by); list != nil && class != classRelaxed && it.key != last {
		r.key, r.text = 0, list.at(int(column[it.doc]-1))
	}
	return r
}

// compareRanked orders hits of different segments.
func compareRanked(a, b *ranked, descending bool) int {
	texts := strings.Compare(a.text, b.text)
	if descending {
		texts = -texts
	}
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.key, b.key), texts,
		cmp.Compare(b.posted(), a.posted()), strings.Compare(b.id(), a.id()))
}

// cursor is the place of a hit in the order of a query.
type cursor struct {
	By         search.SortKey `json:"b,omitempty"`
	Descending bool           `json:"d,omitempty"`
	Class      int            `json:"c"`
	Key        uint64         `json:"k,omitempty"`
	Text       string         `json:"t,omitempty"`
	Posted     int64          `json:"p"`
	ID         string         `json:"i"`
}

func newCursor(r *ranked, by search.Sort) string {
	text, _ := json.Marshal(cursor{ //nolint:errchkjson // it has numbers and texts only
		By: by.By, Descending: by.Descending, Class: r.class, Key: r.key, Text: r.text, Posted: r.posted(), ID: r.id(),
	})
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string, by search.Sort) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, search.ErrInvalidCursor
	}
	c := new(cursor)
	if json.Unmarshal(b, c) != nil || c.By != by.By || c.Descending != by.Descending || c.Class < 0 || c.Class >= classRelaxed {
		return nil, search.ErrInvalidCursor
	}
	return c, nil
}

// bound is a cursor in one segment: the hits after it have a greater class, or a
// greater key, or an equal key and an ordinal from doc.
type bound struct {
	class int
	key   uint64
	doc   uint32
}

func (c *cursor) bound(s *segment) *bound {
	if c == nil {
		return nil
	}
	b := &bound{class: c.Class, key: c.Key, doc: s.firstAfter(c.Posted, c.ID)}
	list, _ := sortedTexts(s, c.By)
	if list == nil || c.Key == last {
		return b
	}
	n, found := list.find(c.Text)
	b.key = uint64(n + 1)
	if c.Descending {
		if !found {
			b.key = uint64(n) // the text before, if any
		}
		b.key = ^b.key
	}
	if !found {
		b.doc = 0
	}
	return b
}

// admits reports whether a document of the cursor's class follows it.
func (b *bound) admits(key uint64, doc uint32) bool {
	return key > b.key || key == b.key && doc >= b.doc
}

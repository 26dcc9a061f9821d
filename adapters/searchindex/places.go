package searchindex

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/locumhq/locum/modules/listings/search"
)

// The places of a segment are grouped by cells of a grid, so that most of them
// are known to be inside or outside of a circle without computing their
// distance. A cell is named by its row and column.
const (
	cellDegrees = 0.25
	cellColumns = 360 / cellDegrees
	// cellReach is at least the distance in miles from the center of a cell to
	// its corners.
	cellReach = 12.5
	// mileDegrees is at least the height of a mile in degrees of latitude.
	mileDegrees = 1.0 / 69
)

func cellOf(p search.Point) uint32 {
	lon := p.Lon - 360*math.Floor((p.Lon+180)/360)
	column := min((lon+180)/cellDegrees, cellColumns-1)
	return cellRow(p.Lat)*cellColumns + uint32(column)
}

func cellRow(lat float64) uint32 { return uint32(max(0, min(lat, 90)+90) / cellDegrees) }

func cellCenter(cell uint32) search.Point {
	row, column := float64(cell/cellColumns), float64(cell%cellColumns)
	return search.Point{Lat: (row+.5)*cellDegrees - 90, Lon: (column+.5)*cellDegrees - 180}
}

func comparePlaces(a, b search.Point) int {
	return cmp.Or(cmp.Compare(cellOf(a), cellOf(b)), cmp.Compare(a.Lat, b.Lat), cmp.Compare(a.Lon, b.Lon))
}

// cellPlaces returns the range of the places in a cell.
func (s *segment) cellPlaces(i int) (from, to int) {
	return int(s.cellStarts[i]), int(s.cellStarts[i+1])
}

// cellsNear iterates over the numbers of the cells that may have a place in the
// circle. It reports whether all of their places are.
func (s *segment) cellsNear(center search.Point, miles float64) iter.Seq2[int, bool] {
	height := miles*mileDegrees + cellDegrees/2
	return func(yield func(int, bool) bool) {
		end := (cellRow(center.Lat+height) + 1) * cellColumns
		i, _ := slices.BinarySearch(s.cells, cellRow(center.Lat-height)*cellColumns)
		for ; i < len(s.cells) && s.cells[i] < end; i++ {
			distance := cellCenter(s.cells[i]).Miles(center)
			if distance <= miles+cellReach && !yield(i, distance+cellReach <= miles) {
				return
			}
		}
	}
}

// withinNode matches the documents at most the given number of miles from the
// center. It reads the postings of the cells inside of the circle, and those of
// the places in the cells at its edge.
type withinNode struct {
	unionNode
	s      *segment
	center search.Point
	miles  float64
}

func newWithin(s *segment, center search.Point, miles float64) node {
	var numbers []uint32
	for cell, inside := range s.cellsNear(center, miles) {
		if inside {
			numbers = append(numbers, uint32(len(s.places)+cell))
			continue
		}
		for i, to := s.cellPlaces(cell); i < to; i++ {
			if s.places[i].Miles(center) <= miles {
				numbers = append(numbers, uint32(i))
			}
		}
	}
	return &withinNode{*newUnion(s.placePostings(), numbers), s, center, miles}
}

func (n *withinNode) has(doc uint32) bool {
	place := n.s.place[doc]
	return place > 0 && n.s.places[place-1].Miles(n.center) <= n.miles
}

// distances are the distances of the places of a segment from a point, as keys
// that are computed when they are needed.
type distances struct {
	s    *segment
	from search.Point
	flip uint64   // of the keys
	keys []uint64 // by place plus one
}

// distanceOrder is the order of the documents by distance.
func distanceOrder(s *segment, from search.Point, flip uint64) *sortOrder {
	d := &distances{s, from, flip, make([]uint64, len(s.places)+1)}
	d.keys[0] = last
	return &sortOrder{func(doc uint32) uint64 { return d.key(s.place[doc]) }, d.docs}
}

func (d *distances) key(place uint32) uint64 {
	if d.keys[place] == 0 {
		d.keys[place] = distanceKey(d.s.places[place-1].Miles(d.from)) ^ d.flip
	}
	return d.keys[place]
}

// distanceKey rounds to a thousandth of a mile, so that processors that round
// differently agree. It is not 0, whose complement is last.
func distanceKey(miles float64) uint64 { return uint64(math.Round(miles*1000)) + 1 }

// cells returns the cells with the lowest key that a place in them can have,
// in the order of these keys.
func (d *distances) cells() []item {
	cells := make([]item, len(d.s.cells))
	for i, cell := range d.s.cells {
		distance := cellCenter(cell).Miles(d.from)
		key := distanceKey(max(0, distance-cellReach))
		if d.flip != 0 {
			key = ^distanceKey(distance + cellReach)
		}
		cells[i] = item{key, uint32(i)}
	}
	slices.SortFunc(cells, compareItems)
	return cells
}

// docs iterates over the documents with a place whose key is at least from. It
// computes the distances of the places in one cell after the other.
func (d *distances) docs(from uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		var places []uint32
		cells := d.cells()
		for i, cell := range cells {
			end := uint64(last)
			if i+1 < len(cells) {
				end = cells[i+1].key
			}
			for place, to := d.s.cellPlaces(int(cell.doc)); place < to; place++ {
				if d.key(uint32(place+1)) >= from {
					places = append(places, uint32(place+1))
				}
			}
			n := d.sortBelow(places, end)
			if !d.each(places[:n], yield) {
				return
			}
			places = places[n:]
		}
	}
}

// sortBelow moves the places whose keys are below end to the front and sorts
// them. It returns their number.
func (d *distances) sortBelow(places []uint32, end uint64) (n int) {
	for i, place := range places {
		if d.keys[place] < end {
			places[n], places[i] = place, places[n]
			n++
		}
	}
	slices.SortFunc(places[:n], func(a, b uint32) int { return cmp.Compare(d.keys[a], d.keys[b]) })
	return n
}

// each calls yield for the documents of places that are in the order of their
// keys, equal ones in the order of their ordinals.
func (d *distances) each(places []uint32, yield func(uint32) bool) bool {
	list := d.s.placePostings()
	var docs []uint32
	for i := 0; i < len(places); {
		docs = docs[:0]
		first := i
		for ; i < len(places) && d.keys[places[i]] == d.keys[places[first]]; i++ {
			p := list.get(int(places[i] - 1))
			docs = p.appendTo(docs)
		}
		if i > first+1 {
			slices.Sort(docs)
		}
		for _, doc := range docs {
			if !yield(doc) {
				return false
			}
		}
	}
	return true
}

// groupPlaces sets the cells from the sorted places.
func (s *segment) groupPlaces() {
	for i, p := range s.places {
		if cell := cellOf(p); len(s.cells) == 0 || s.cells[len(s.cells)-1] != cell {
			s.cells = append(s.cells, cell)
			s.cellStarts = append(s.cellStarts, uint32(i))
		}
	}
	s.cellStarts = append(s.cellStarts, uint32(len(s.places)))
}

// cellNumbers returns, for each document, the number of the cell of its place
// plus one, or 0 without a place.
func (s *segment) cellNumbers() []uint32 {
	cells := make([]uint32, len(s.places)+1)
	for i := range s.cells {
		for place, to := s.cellPlaces(i); place < to; place++ {
			cells[place+1] = uint32(i + 1)
		}
	}
	numbers := make([]uint32, len(s.place))
	for doc, place := range s.place {
		numbers[doc] = cells[place]
	}
	return numbers
}

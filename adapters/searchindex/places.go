package searchindex

import (
	"cmp"
	"container/heap"
	"iter"
	"math"
	"slices"

	"github.com/locumhq/locum/modules/listings/search"
)

// A segment is an immutable part of the index. Its places are grouped, so that searches in a circle compute few
// distances: if a whole group is inside or outside of the circle, its places need not be looked at. There are groups
// of two sizes. A cell is a square of a grid over the Earth. An area is a square of 16 x 16 cells.
//
// Cells are numbered area by area: area n has the cells from n*areaCells up to the first one of area n+1.
const (
	cellDegrees = 0.25 // the side of a cell
	areaSide    = 16   // in cells
	areaCells   = areaSide * areaSide
	areaDegrees = areaSide * cellDegrees
	areaColumns = 360 / areaDegrees // around the Earth
	// No place in a cell is more than cellReach miles from the center of the cell, and no place in an
	// area more than areaReach miles from the center of the area. These are half the diagonals at the equator, with a
	// margin.
	cellReach = 12.5
	areaReach = 200
	// A mile is at most mileDegrees degrees of latitude.
	mileDegrees = 1.0 / 69
)

// cellOf returns the number of the cell in which a place is. Rows are counted from the south pole, and
// columns from 180° west.
func cellOf(p search.Point) uint32 {
	const lastColumn = areaColumns*areaSide - 1

	lat := max(-90, min(p.Lat, 90))
	lon := p.Lon - 360*math.Floor((p.Lon+180)/360) // from -180 to 180

	row := uint32((lat + 90) / cellDegrees)
	column := min(uint32((lon+180)/cellDegrees), lastColumn)

	area := row/areaSide*areaColumns + column/areaSide
	cellInArea := row%areaSide*areaSide + column%areaSide

	return area*areaCells + cellInArea
}

// cellCenter returns the center of a cell.
func cellCenter(cell uint32) search.Point {
	area := areaCenter(cell / areaCells)
	row, column := cell%areaCells/areaSide, cell%areaSide // in the area

	return search.Point{
		Lat: area.Lat - areaDegrees/2 + (float64(row)+.5)*cellDegrees,
		Lon: area.Lon - areaDegrees/2 + (float64(column)+.5)*cellDegrees,
	}
}

// areaCenter returns the center of an area.
func areaCenter(area uint32) search.Point {
	row, column := area/areaColumns, area%areaColumns
	return search.Point{Lat: (float64(row)+.5)*areaDegrees - 90, Lon: (float64(column)+.5)*areaDegrees - 180}
}

// comparePlaces orders places by cell, so that the places of a cell are together.
func comparePlaces(a, b search.Point) int {
	return cmp.Or(cmp.Compare(cellOf(a), cellOf(b)), cmp.Compare(a.Lat, b.Lat), cmp.Compare(a.Lon, b.Lon))
}

// cellPlaces returns the range of the places in the cell at position i of s.cells.
func (s *segment) cellPlaces(i int) (from, to int) {
	return int(s.cellStarts[i]), int(s.cellStarts[i+1])
}

// areas iterates over the ranges of cells that are in the same area.
func (s *segment) areas(yield func(from, to int) bool) {
	for from := 0; from < len(s.cells); {
		nextArea := s.cells[from]/areaCells + 1
		n, _ := slices.BinarySearch(s.cells[from:], nextArea*areaCells)

		if !yield(from, from+n) {
			return
		}

		from += n
	}
}

// cellsNear iterates over the positions in s.cells of the cells that may have a place in the circle. The second
// value is true if all places of the cell are in the circle.
func (s *segment) cellsNear(center search.Point, miles float64) iter.Seq2[int, bool] {
	maxHeight := (miles + cellReach) * mileDegrees // in degrees of latitude

	return func(yield func(int, bool) bool) {
		for from, to := range s.areas {
			if areaCenter(s.cells[from]/areaCells).Miles(center) > miles+areaReach {
				continue
			}

			for i := from; i < to; i++ {
				// A cell too far north or south needs no distance, which takes longer to compute.
				cell := cellCenter(s.cells[i])
				if math.Abs(cell.Lat-center.Lat) > maxHeight {
					continue
				}

				distance := cell.Miles(center)
				mayBeInside, isInside := distance <= miles+cellReach, distance+cellReach <= miles

				if mayBeInside && !yield(i, isInside) {
					return
				}
			}
		}
	}
}

// withinNode matches the documents at most the given number of miles from the
// center. A posting is a set of documents. The node reads the postings of the cells
// inside of the circle, and those of the places in the cells at its edge.
type withinNode struct {
	unionNode
	segment *segment
	center  search.Point
	miles   float64
}

// newWithin resolves a circle to the cells inside of it and the places at its edge.
func newWithin(s *segment, center search.Point, miles float64) node {
	var numbers []uint32
	for cell, isInside := range s.cellsNear(center, miles) {
		if isInside { // the postings of the cells follow those of the places
			numbers = append(numbers, uint32(len(s.places)+cell))
			continue
		}

		for i, to := s.cellPlaces(cell); i < to; i++ {
			if s.places[i].Miles(center) <= miles {
				numbers = append(numbers, uint32(i))
			}
		}
	}

	return &withinNode{unionNode: *newUnion(s.placePostings(), numbers), segment: s, center: center, miles: miles}
}

// has computes the distance of one document, which is faster than to look for it in all postings.
func (n *withinNode) has(doc uint32) bool {
	place := n.segment.place[doc] // numbered from 1, 0 for none
	return place > 0 && n.segment.places[place-1].Miles(n.center) <= n.miles
}

// distances are the distances of the places of a segment from a point, as sort keys. A key is computed when it is
// first needed. Lower keys come first.
type distances struct {
	segment *segment
	from    search.Point // the point
	flip    uint64       // all bits 1 for a descending order, in which it inverts the keys, and else 0
	keys    []uint64     // by the position of the place plus one; 0 if not computed yet
}

// distanceOrder is the order of the documents by distance.
func distanceOrder(s *segment, from search.Point, flip uint64) *sortOrder {
	d := &distances{segment: s, from: from, flip: flip, keys: make([]uint64, len(s.places)+1)}
	d.keys[0] = keyWithoutValue // of the documents without a place, whose number is 0
	return &sortOrder{key: func(doc uint32) uint64 { return d.key(s.place[doc]) }, docs: d.docs}
}

// key returns the key of a place, which is numbered from 1. It computes each distance once.
func (d *distances) key(place uint32) uint64 {
	if d.keys[place] == 0 {
		d.keys[place] = distanceKey(d.segment.places[place-1].Miles(d.from)) ^ d.flip
	}

	return d.keys[place]
}

// distanceKey returns the sort key of a distance. It rounds to a thousandth of a mile, so that
// processors that round differently agree. The key is never 0, whose complement is keyWithoutValue.
func distanceKey(miles float64) uint64 { return uint64(math.Round(miles*1000)) + 1 }

// candidate is an area, a cell or a place in the queue of distances.docs.
type candidate struct {
	key             uint64 // the lowest sort key that a place of the area or cell can have, or the key of the place
	isArea, isPlace bool   // both are false for a cell
	// from and to are the range of the cells of an area, or of the places of a cell. Of a place, from is the position
	// and to is not used.
	from, to int
}

// candidates is a heap (see container/heap) with the lowest key first. Of candidates with equal keys, places
// come last, because the areas and cells may contain places with the same key.
type candidates []candidate

func (c *candidates) Len() int      { return len(*c) }
func (c *candidates) Swap(i, j int) { (*c)[i], (*c)[j] = (*c)[j], (*c)[i] }
func (c *candidates) Push(x any)    { *c = append(*c, x.(candidate)) }
func (c *candidates) Less(i, j int) bool {
	a, b := &(*c)[i], &(*c)[j]
	return a.key < b.key || a.key == b.key && !a.isPlace && b.isPlace
}

func (c *candidates) Pop() any {
	n := len(*c) - 1
	x := (*c)[n]
	*c = (*c)[:n]

	return x
}

// lowestKey returns the lowest key that a place at most reach miles from the center can have.
func (d *distances) lowestKey(center search.Point, reach float64) uint64 {
	distance := center.Miles(d.from)
	if d.flip != 0 {
		return ^distanceKey(distance + reach)
	}

	return distanceKey(max(0, distance-reach))
}

// docs implements sortOrder.docs: it iterates over the documents of places whose key is at least from, in the order
// of their keys and ordinals.
//
// A queue has areas, cells and places by the lowest key that a place in them can have. docs repeatedly takes the
// first one from the queue. It replaces an area by its cells and a cell by its places. A place that is the first one
// of the queue has the lowest key of all places that are left. So docs computes few distances if the caller stops
// early.
func (d *distances) docs(from uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		var queue candidates
		for first, end := range d.segment.areas {
			key := d.lowestKey(areaCenter(d.segment.cells[first]/areaCells), areaReach)
			queue = append(queue, candidate{key: key, isArea: true, from: first, to: end})
		}

		heap.Init(&queue)

		var places []uint32 // the last places, which have the same key, numbered from 1
		for len(queue) > 0 {
			next := heap.Pop(&queue).(candidate)
			if !next.isPlace {
				d.open(&queue, next, from)
				continue
			}

			isFarther := len(places) > 0 && next.key > d.keys[places[0]]
			if isFarther {
				if !d.yieldDocs(places, yield) {
					return
				}

				places = places[:0]
			}

			places = append(places, uint32(next.from+1))
		}

		d.yieldDocs(places, yield)
	}
}

// open adds to the queue the cells of an area, or those places of a cell whose key is at least from.
func (d *distances) open(queue *candidates, c candidate, from uint64) {
	for i := c.from; i < c.to; i++ {
		if c.isArea { // i is a cell
			first, end := d.segment.cellPlaces(i)
			key := d.lowestKey(cellCenter(d.segment.cells[i]), cellReach)
			heap.Push(queue, candidate{key: key, from: first, to: end})

			continue
		}

		if key := d.key(uint32(i + 1)); key >= from { // i is a place
			heap.Push(queue, candidate{key: key, isPlace: true, from: i})
		}
	}
}

// yieldDocs calls yield for the documents of places with the same key, in the order of their
// ordinals. It returns false if yield did.
func (d *distances) yieldDocs(places []uint32, yield func(uint32) bool) bool {
	list := d.segment.placePostings()

	var docs []uint32
	for _, place := range places {
		p := list.get(int(place - 1))
		docs = p.appendTo(docs)
	}

	if len(places) > 1 { // the documents of one place are sorted already
		slices.Sort(docs)
	}

	for _, doc := range docs {
		if !yield(doc) {
			return false
		}
	}

	return true
}

// groupPlaces sets s.cells and s.cellStarts. The places are sorted by cell.
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
	cells := make([]uint32, len(s.places)+1) // by the number of the place, which counts from 1
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

package search

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExpr_JSON_RoundTrip checks that an expression with each operation is the same after it was stored as JSON.
func TestExpr_JSON_RoundTrip(t *testing.T) {
	t.Parallel()

	const radius = 10 // miles

	expression := And(
		Or(HasKey("role.head:nurse"), HasTitleWord("nurse"), HasWord("nurse")),
		Not(HasPhrase("bank", "staff")), HasLiteral("bank", "shifts"),
		HasPrefix("pha"), HasTitlePrefix("pha"),
		IsWithin(Point{Lat: 53.8, Lon: -1.55}, radius),
		PaysBetween(PayRange{Min: 3_000_000, Currency: "GBP"}),
		PostedSince(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), All(),
	)

	text, err := json.Marshal(expression)
	require.NoError(t, err)

	var decoded Expr
	require.NoError(t, json.Unmarshal(text, &decoded))
	require.Equal(t, expression, decoded)
	require.NoError(t, decoded.Validate())
}

// TestQuery_Validate checks that each query that an index cannot evaluate is refused. A slot of a query has levels,
// alternative conditions with a cost. The highest costs of all slots together must be at most 4,095, which takes 12
// bits. CostBits returns the number of bits that the sum of the highest costs takes.
func TestQuery_Validate(t *testing.T) {
	t.Parallel()

	// slots returns the slots of a query with one slot, which has these levels.
	slots := func(levels ...SlotLevel) []Slot { return []Slot{{Levels: levels}} }

	const maxCosts = 4095 // of all slots together

	for name, query := range map[string]Query{
		"negative limit":        {Limit: -1},
		"unknown sort":          {Sort: Sort{By: "colour"}},
		"distance without From": {Sort: Sort{By: SortDistance}},
		"unknown operation":     {Must: []Expr{{Op: "near"}}},
		"zero expression":       {Must: []Expr{{}}},
		"not without argument":  {Must: []Expr{{Op: OpNot}}},
		"empty word":            {Must: []Expr{HasWord("")}},
		"empty phrase":          {Must: []Expr{HasPhrase()}},
		"gap in a phrase":       {Must: []Expr{HasPhrase("a", "")}},
		"nested":                {Must: []Expr{And(Or(HasKey("")))}},
		"circle without point":  {Must: []Expr{{Op: OpWithin, Miles: 3}}},
		"negative pay":          {Must: []Expr{PaysBetween(PayRange{Min: -1})}},
		"zero First":            {First: &Expr{}},
		"negative cost":         {Slots: slots(SlotLevel{Expr: All(), Cost: -1})},
		"level without Expr":    {Slots: slots(SlotLevel{})},
		"sum of costs": {
			Slots: append(slots(SlotLevel{Expr: All(), Cost: maxCosts}), slots(SlotLevel{Expr: All(), Cost: 1})...),
		},
	} {
		require.ErrorIs(t, query.Validate(), ErrInvalidQuery, name)
	}

	// The highest cost of the only slot is 8, which is 1000 in binary and takes 4 bits.
	valid := Query{Limit: 20, Slots: slots(SlotLevel{Expr: All(), Cost: 5}, SlotLevel{Expr: All(), Cost: 8})}
	require.NoError(t, valid.Validate())
	require.Equal(t, 4, valid.CostBits())
}

// TestPoint_Miles checks the distance between two cities, in both directions, the distance of a point from itself, and
// the longest distance, from pole to pole, which is half of the circumference of the Earth.
func TestPoint_Miles(t *testing.T) {
	t.Parallel()

	leeds, london := Point{Lat: 53.797, Lon: -1.544}, Point{Lat: 51.507, Lon: -0.128}
	require.InDelta(t, 169, leeds.Miles(london), 1) // miles; published distances are rounded
	require.Equal(t, leeds.Miles(london), london.Miles(leeds))
	require.Zero(t, leeds.Miles(leeds))

	const earthRadius = 3958.7613 // miles
	northPole, southPole := Point{Lat: 90}, Point{Lat: -90}
	require.InDelta(t, math.Pi*earthRadius, northPole.Miles(southPole), 0.001)
}

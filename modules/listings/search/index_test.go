package search

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExpr_JSON_RoundTrip checks each operation, since expressions are stored as JSON.
func TestExpr_JSON_RoundTrip(t *testing.T) {
	t.Parallel()

	e := And(
		Or(HasKey("role:nurse@head"), HasTitleWord("nurse"), HasWord("nurse")),
		Not(HasPhrase("bank", "staff")), HasLiteral("bank", "shifts"),
		HasPrefix("pha"), HasTitlePrefix("pha"),
		IsWithin(Point{Lat: 53.8, Lon: -1.55}, 10),
		PaysBetween(PayRange{Min: 3_000_000, Currency: "GBP"}),
		PostedSince(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), All(),
	)
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var back Expr
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, e, back)
	require.NoError(t, back.Validate())
}

// TestQuery_Validate checks that each query that an index cannot evaluate is refused. The costs of all
// slots together must fit into 12 bits (at most 4,095); CostBits counts the highest cost of each slot.
func TestQuery_Validate(t *testing.T) {
	t.Parallel()

	slot := func(levels ...SlotLevel) []Slot { return []Slot{{Levels: levels}} }
	for name, query := range map[string]Query{
		"negative limit":       {Limit: -1},
		"unknown sort":         {Sort: Sort{By: "colour"}},
		"distance from where":  {Sort: Sort{By: SortDistance}},
		"unknown operation":    {Must: []Expr{{Op: "near"}}},
		"zero expression":      {Must: []Expr{{}}},
		"not without argument": {Must: []Expr{{Op: OpNot}}},
		"empty word":           {Must: []Expr{HasWord("")}},
		"empty phrase":         {Must: []Expr{HasPhrase()}},
		"gap in a phrase":      {Must: []Expr{HasPhrase("a", "")}},
		"nested":               {Must: []Expr{And(Or(HasKey("")))}},
		"circle without point": {Must: []Expr{{Op: OpWithin, Miles: 3}}},
		"negative pay":         {Must: []Expr{PaysBetween(PayRange{Min: -1})}},
		"first":                {First: &Expr{}},
		"negative cost":        {Slots: slot(SlotLevel{Expr: All(), Cost: -1})},
		"level":                {Slots: slot(SlotLevel{})},
		"sum of costs":         {Slots: append(slot(SlotLevel{Expr: All(), Cost: 4095}), slot(SlotLevel{Expr: All(), Cost: 1})...)},
	} {
		require.ErrorIs(t, query.Validate(), ErrInvalidQuery, name)
	}

	q := Query{Limit: 20, Slots: slot(SlotLevel{Expr: All(), Cost: 5}, SlotLevel{Expr: All(), Cost: 8})}
	require.NoError(t, q.Validate())
	require.Equal(t, 4, q.CostBits())
}

// TestPoint_Miles checks a known distance, symmetry and the longest distance, from pole to pole: half
// the circumference of the Earth.
func TestPoint_Miles(t *testing.T) {
	t.Parallel()

	leeds, london := Point{Lat: 53.797, Lon: -1.544}, Point{Lat: 51.507, Lon: -0.128}
	require.InDelta(t, 169, leeds.Miles(london), 1)
	require.Equal(t, leeds.Miles(london), london.Miles(leeds))
	require.Zero(t, leeds.Miles(leeds))
	require.InDelta(t, math.Pi*3958.7613, Point{Lat: 90}.Miles(Point{Lat: -90}), 0.001)
}

package dashboard

import (
	"github.com/locumhq/locum/modules/integrations"
)

// The size of the chart in SVG units.
const (
	chartWidth  = 600
	chartHeight = 160
)

// chart shows the calls of each day as bars, and the daily limit as a line if the bars
// are near it.
type chart struct {
	Width, Height int
	Most          int // the calls of the full height
	Bars          []bar
	Limit         int // per day, 0 for none
	LimitY        int // the distance of its line from the top; -1 for no line
	Requests      int
	Errors        int
}

type bar struct {
	integrations.DayUsage
	X, Y, Width, Height   int
	ErrorsY, ErrorsHeight int
}

// Last is the day of the last bar.
func (c chart) Last() string { return c.Bars[len(c.Bars)-1].Day }

func newChart(u integrations.Used) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Limit: u.Plan.PerDay, LimitY: -1}
	for _, d := range u.Days {
		c.Most = max(c.Most, d.Requests)
		c.Requests, c.Errors = c.Requests+d.Requests, c.Errors+d.Errors
	}
	if c.Limit > 0 && c.Most*2 >= c.Limit { // else the bars would be too low to see
		c.Most = max(c.Most, c.Limit)
		c.LimitY = chartHeight - c.height(c.Limit)
	}
	slot := chartWidth / max(len(u.Days), 1)
	for i, d := range u.Days {
		b := bar{DayUsage: d, X: i * slot, Width: max(slot-2, 1), Height: c.height(d.Requests), ErrorsHeight: c.height(d.Errors)}
		b.Y, b.ErrorsY = chartHeight-b.Height, chartHeight-b.ErrorsHeight
		c.Bars = append(c.Bars, b)
	}
	return c
}

// height returns the height of n calls, at least 2 if there are any.
func (c chart) height(n int) int {
	if n == 0 || c.Most == 0 {
		return 0
	}
	return max(n*(chartHeight-4)/c.Most, 2)
}

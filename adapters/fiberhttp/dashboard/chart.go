package dashboard

import (
	"github.com/locumhq/locum/modules/integrations"
)

// The sizes of the chart in SVG units.
const (
	chartWidth   = 600
	chartHeight  = 160
	topMargin    = 4
	barGap       = 2 // between two bars
	minBarHeight = 2
)

// chart shows the requests of each day as bars, and the daily limit as a line if the highest
// bar reaches half of it.
type chart struct {
	Width, Height int
	MaxRequests   int // the requests that the full height represents
	Bars          []bar
	Limit         int // per day, 0 for none
	LimitY        int // the distance of its line from the top; -1 for no line
	Requests      int
	Errors        int
}

// bar is the bar of a day.
type bar struct {
	integrations.DayUsage
	// X and Y are the upper left corner. The part of the bar for requests that failed is drawn
	// over it.
	X, Y, Width, Height   int
	ErrorsY, ErrorsHeight int
}

// LastDay returns the day of the last bar. The chart must have a bar.
func (c chart) LastDay() string { return c.Bars[len(c.Bars)-1].Day }

// newChart returns the chart of the days in the report.
func newChart(report integrations.UsageReport) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Limit: report.Plan.PerDay, LimitY: -1}
	for _, day := range report.Days {
		c.MaxRequests = max(c.MaxRequests, day.Requests)
		c.Requests += day.Requests
		c.Errors += day.Errors
	}

	// The scale reaches the limit only if that leaves the bars visible.
	if c.Limit > 0 && c.MaxRequests*2 >= c.Limit {
		c.MaxRequests = max(c.MaxRequests, c.Limit)
		c.LimitY = chartHeight - c.height(c.Limit)
	}

	slotWidth := chartWidth / max(len(report.Days), 1) // a report without days has no bars
	for i, day := range report.Days {
		height, errorsHeight := c.height(day.Requests), c.height(day.Errors)
		c.Bars = append(c.Bars, bar{
			DayUsage:     day,
			X:            i * slotWidth,
			Y:            chartHeight - height,
			Width:        max(slotWidth-barGap, 1),
			Height:       height,
			ErrorsY:      chartHeight - errorsHeight,
			ErrorsHeight: errorsHeight,
		})
	}

	return c
}

// height returns the height of the bar of n requests, at least minBarHeight if there are any.
func (c chart) height(n int) int {
	if n == 0 || c.MaxRequests == 0 {
		return 0
	}

	return max(n*(chartHeight-topMargin)/c.MaxRequests, minBarHeight)
}

package dashboard

import (
	"github.com/locumhq/locum/modules/integrations"
)

// The sizes of the chart in SVG units.
const (
	chartWidth   = 600
	chartHeight  = 160
	topMargin    = 4 // above the highest bar
	barGap       = 2 // between two bars
	minBarHeight = 2 // of a day with a few requests, so that the bar is visible
)

// chart is the data of an SVG chart. It shows the requests of each day as bars. It shows the daily limit
// of the plan as a horizontal line, if the highest bar reaches at least half of the limit.
type chart struct {
	Width, Height int
	MaxRequests   int // the number of requests of a bar with the full height
	Bars          []bar
	Limit         int // of requests per day, 0 for none
	LimitY        int // the distance of the line for Limit from the top; -1 for no line
	Requests      int // of all days
	Errors        int // the requests of all days that failed
}

// bar is the bar of a day. X and Y are its upper left corner. A second bar for the requests that failed
// is drawn over its lower part, at the same X.
type bar struct {
	integrations.DayUsage
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

	// Showing a limit far above the bars would make them very small.
	hasUsedHalf := c.Limit > 0 && c.MaxRequests*2 >= c.Limit
	if hasUsedHalf {
		c.MaxRequests = max(c.MaxRequests, c.Limit)
		c.LimitY = chartHeight - c.height(c.Limit)
	}

	slotWidth := chartWidth / max(len(report.Days), 1) // of a bar with its gap; a report without days has no bars
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

// height returns the height of the bar of n requests. It is 0 for no requests, and otherwise at least
// minBarHeight.
func (c chart) height(n int) int {
	if n == 0 || c.MaxRequests == 0 {
		return 0
	}

	return max(n*(chartHeight-topMargin)/c.MaxRequests, minBarHeight)
}

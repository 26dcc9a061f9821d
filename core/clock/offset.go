//go:build !failpoints

package clock

import "time"

// offset returns zero. Only programs for tests are built with the tag failpoints, which
// gives the clock an offset.
func offset() time.Duration { return 0 }

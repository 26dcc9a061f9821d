//go:build !failpoints

package clock

import "time"

// offset is zero: only tests are built with the tag failpoints.
func offset() time.Duration { return 0 }

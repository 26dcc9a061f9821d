//go:build !failpoints

package clock

import "time"

// offset returns zero. Only tests are built with the tag failpoints.
func offset() time.Duration { return 0 }

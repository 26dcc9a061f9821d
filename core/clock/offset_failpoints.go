//go:build failpoints

package clock

import (
	"os"
	"strings"
	"time"
)

// offset returns the duration in the file that LOCUM_TEST_CLOCK names, which is added to
// the time.
func offset() time.Duration {
	text, _ := os.ReadFile(os.Getenv("LOCUM_TEST_CLOCK"))
	d, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return d
}

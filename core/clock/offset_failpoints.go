//go:build failpoints

package clock

import (
	"os"
	"strings"
	"time"
)

// offset returns the duration that is added to the time, to simulate a wrong clock. Tests
// write it to the file that LOCUM_TEST_CLOCK names.
func offset() time.Duration {
	// Without the file, or while a test writes it, both results are empty and there is no offset.
	text, _ := os.ReadFile(os.Getenv("LOCUM_TEST_CLOCK"))
	added, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return added
}

package gormdb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestError_InvalidStatement_IsNotUnavailable checks that errors of the program are a 500. A
// 503, after which clients try again, would hide the defect.
func TestError_InvalidStatement_IsNotUnavailable(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	violation := wrap(db.reader.Exec("INSERT INTO listings (id) VALUES ('x')").Error)
	require.Error(t, violation)
	require.Equal(t, fault.Internal, fault.KindOf(violation))

	syntaxError := wrap(db.reader.Exec("SELEKT").Error)
	require.Equal(t, fault.Internal, fault.KindOf(syntaxError))
}

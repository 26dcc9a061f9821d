package gormdb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestError_ConstraintViolation_IsNotUnavailable checks that errors of the program are a 500. A
// 503, after which clients try again, would hide the defect.
func TestError_ConstraintViolation_IsNotUnavailable(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	err := wrap(db.reader.Exec("INSERT INTO listings (id) VALUES ('x')").Error)
	require.Error(t, err)
	require.Equal(t, fault.Internal, fault.KindOf(err))
	require.Equal(t, fault.Internal, fault.KindOf(wrap(db.reader.Exec("SELEKT").Error)))
}

package gormdb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// A broken rule of the schema is a defect, which a 503 and "try again" would hide.
func TestError_ConstraintViolation_IsNotUnavailable(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	err := wrap(db.reader.Exec("INSERT INTO listings (id) VALUES ('x')").Error)
	require.Error(t, err)
	require.Equal(t, fault.Internal, fault.KindOf(err))
	require.Equal(t, fault.Internal, fault.KindOf(wrap(db.reader.Exec("SELEKT").Error)))
}

package kit_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestPostgresURL_EachTest_HasItsDatabase checks that each call returns an empty database of
// PostgreSQL and Redis, so that parallel tests do not see each other's rows.
func TestPostgresURL_EachTest_HasItsDatabase(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 2 {
		c, err := pgx.Connect(ctx, kit.PostgresURL(t))
		require.NoError(t, err)
		_, err = c.Exec(ctx, "CREATE TABLE mine (n int)")
		require.NoError(t, err, "the database is not empty")
		require.NoError(t, c.Close(ctx))

		opt, err := goredis.ParseURL(kit.RedisURL(t))
		require.NoError(t, err)
		r := goredis.NewClient(opt)
		n, err := r.Incr(ctx, "mine").Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "the database is not empty")
		require.NoError(t, r.Close())
	}
}

// TestPostgresLike_Template_IsCopied checks that the template is filled once, and that its
// copies are independent databases.
func TestPostgresLike_Template_IsCopied(t *testing.T) {
	t.Parallel()
	name, filled := strings.ToLower(rand.Text()), 0
	fill := func(url string) error {
		filled++
		kit.Exec(t, url, "CREATE TABLE a (n int)")
		return nil
	}
	one, other := kit.PostgresLike(t, name, fill), kit.PostgresLike(t, name, fill)
	require.NotEqual(t, one, other)
	require.Equal(t, 1, filled)
	kit.Exec(t, one, "DROP TABLE a")
	kit.Exec(t, other, "INSERT INTO a VALUES (1)")
	kit.Exec(t, one, "DROP DATABASE locum_like_"+name)
}

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

// TestPostgresURL_EachCall_ReturnsEmptyDatabase checks that parallel tests do not see each
// other's rows.
func TestPostgresURL_EachCall_ReturnsEmptyDatabase(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	for range 2 {
		conn, err := pgx.Connect(ctx, kit.PostgresURL(t))
		require.NoError(t, err)

		_, err = conn.Exec(ctx, "CREATE TABLE a (n int)")
		require.NoError(t, err, "the table exists: the database is not empty")
		require.NoError(t, conn.Close(ctx))
	}
}

// TestRedisURL_EachCall_ReturnsEmptyDatabase checks that parallel tests do not see each other's
// keys.
func TestRedisURL_EachCall_ReturnsEmptyDatabase(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	for range 2 {
		options, err := goredis.ParseURL(kit.RedisURL(t))
		require.NoError(t, err)

		client := goredis.NewClient(options)
		n, err := client.Incr(ctx, "counter").Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "the counter exists: the database is not empty")
		require.NoError(t, client.Close())
	}
}

// TestPostgresLike_Template_IsCopied checks that the template is filled once, and that its
// copies are independent databases.
func TestPostgresLike_Template_IsCopied(t *testing.T) {
	t.Parallel()

	name := strings.ToLower(rand.Text())
	fills := 0
	fill := func(url string) error {
		fills++

		kit.Exec(t, url, "CREATE TABLE a (n int)")

		return nil
	}

	copy1 := kit.PostgresLike(t, name, fill)
	copy2 := kit.PostgresLike(t, name, fill)
	require.NotEqual(t, copy1, copy2)
	require.Equal(t, 1, fills)
	kit.Exec(t, copy1, "DROP TABLE a")
	kit.Exec(t, copy2, "INSERT INTO a VALUES (1)") // fails if the copies share the table
	kit.Exec(t, copy1, "DROP DATABASE locum_like_"+name)
}

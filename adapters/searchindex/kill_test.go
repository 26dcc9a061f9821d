//go:build unix

package searchindex

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

const killedDocs = 200

// TestOpen_AfterKill_IsConsistent kills a process that replaces all documents
// again and again: its index has all documents of one batch, that of its
// position.
func TestOpen_AfterKill_IsConsistent(t *testing.T) {
	if folder := os.Getenv("LOCUM_TEST_KILLED_FOLDER"); folder != "" {
		replaceUntilKilled(t, folder)
		return
	}
	folder, position := t.TempDir(), ""
	for range 8 {
		child := exec.Command(os.Args[0], "-test.run", "^TestOpen_AfterKill_IsConsistent$")
		child.Env = append(os.Environ(), "LOCUM_TEST_KILLED_FOLDER="+folder)
		require.NoError(t, child.Start())
		time.Sleep(100*time.Millisecond + rand.N(200*time.Millisecond))
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()

		x, err := Open(options(folder))
		require.NoError(t, err)
		want := 0
		if position = x.Position(); position != "" {
			want = killedDocs
		}
		require.Equal(t, want, total(t, x, search.HasKey("version:"+position)))
		require.Equal(t, want, total(t, x, search.All()))
		require.NoError(t, x.Close())
	}
	require.NotEmpty(t, position)
}

func replaceUntilKilled(t *testing.T, folder string) {
	o := options(folder)
	o.CheckpointInterval = time.Millisecond
	x, err := Open(o)
	require.NoError(t, err)
	version, _ := strconv.Atoi(x.Position())
	version++
	for start := time.Now(); time.Since(start) < 10*time.Second; version++ {
		put(t, x, int64(version), 0, killedDocs, strconv.Itoa(version))
		require.NoError(t, x.mergeAll(context.Background()))
	}
}

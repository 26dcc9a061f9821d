package chaos

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
)

// TestRedisCluster_MastersKilled_NothingIsLost kills two of the three masters of a Redis cluster one
// after the other, so that their replicas replace them. Meanwhile every request must succeed, and no
// notification is lost. The queue and the limiter use the cluster through the same URL.
func TestRedisCluster_MastersKilled_NothingIsLost(t *testing.T) {
	if !isFull() {
		t.Skip("LOCUM_TEST_CHAOS is not full")
	}

	t.Parallel()

	url, servers := kit.RedisClusterWithReplicas(t)
	inst := newInstallation(t, kit.PostgresURL(t), "LOCUM_QUEUE_URL="+url, "LOCUM_LIMITER_URL="+url)
	inst.process("serve")
	inst.process("worker")

	applications := inst.createApplications(8)
	inst.waitIdle()
	inst.waitForState("limiter", "ok", ready)

	var killErr error

	killsEnded := make(chan struct{})
	go func() {
		defer close(killsEnded)

		killErr = killMasters(t.Context(), servers)
	}()

	changes, slow := inst.changeWhile(applications, func() bool { return !isClosed(killsEnded) })

	require.NoError(t, killErr)

	// One request for each of the two killed masters may be slow. One percent of all requests may be
	// slow because of the load of the machine.
	maxSlow := 2 + changes/100
	require.LessOrEqual(t, slow, maxSlow, "requests wait for a master that was killed")
	inst.waitIdle()
	require.Equal(t, changes, inst.requireNotifications(applications))
	inst.waitForState("limiter", "ok", ready)
	inst.waitForState("queue", "ok", ready)
}

// killMasters kills the first two of the three masters. After the failover of each, it is started
// again, as a replica without data, before the next one is killed.
func killMasters(ctx context.Context, servers []*services.Server) error {
	thirdMaster, err := goredis.ParseURL(servers[2].URL)
	if err != nil {
		return err
	}

	survivor := goredis.NewClient(thirdMaster)
	defer func() { _ = survivor.Close() }()

	for _, master := range servers[:2] {
		options, err := goredis.ParseURL(master.URL)
		if err != nil {
			return err
		}

		pause(time.Second)
		master.Kill()

		if err := waitForFailover(ctx, survivor, options.Addr); err != nil {
			return err
		}

		pause(3 * time.Second)

		if err := master.Start(); err != nil {
			return err
		}
	}

	return nil
}

// waitForFailover waits until the cluster has detected the failure of the master at the address,
// and its slots are served by another server.
func waitForFailover(ctx context.Context, survivor *goredis.Client, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()

	for {
		info, err := survivor.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}

		nodes, err := survivor.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}

		isDetected := slices.ContainsFunc(strings.Split(nodes, "\n"), func(node string) bool {
			return strings.Contains(node, " "+address+"@") && strings.Contains(node, "fail ")
		})

		// A Redis cluster has 16,384 slots.
		allSlotsAreServed := strings.Contains(info, "cluster_state:ok") &&
			strings.Contains(info, "cluster_slots_ok:16384")
		if isDetected && allSlotsAreServed {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

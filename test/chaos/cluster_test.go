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

// TestRedisCluster_MastersKilled_NothingIsLost checks that every request succeeds, and nothing
// is lost, while two of the three masters of a Redis cluster are killed one after the other and
// replaced by their replicas. The queue and the limiter use the cluster through the same URL.
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
	inst.waitForState("limiter", "ok", true)

	failedOver := make(chan error, 1)
	go func() { failedOver <- killMasters(t.Context(), servers) }()
	written, slow := 0, 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done || written%len(applications) != 0; written++ {
		<-tick.C
		begun := time.Now()
		inst.setStatus(applications[written%len(applications)], statuses[(written/len(applications))%len(statuses)])
		if time.Since(begun) > 2*time.Second {
			slow++
		}
		select {
		case err := <-failedOver:
			require.NoError(t, err)
			done = true
		default:
		}
	}
	require.LessOrEqual(t, slow, 2+written/100, "requests do not wait for a master that was killed")
	inst.waitIdle()
	require.Equal(t, written, inst.requireNotifications(applications))
	inst.waitForState("limiter", "ok", true)
	inst.waitForState("queue", "ok", true)
}

// killMasters kills two of the three masters, one after the failover of the
// other, and starts them again as replicas without data.
func killMasters(ctx context.Context, servers []*services.Server) error {
	opt, err := goredis.ParseURL(servers[2].URL)
	if err != nil {
		return err
	}
	survivor := goredis.NewClient(opt)
	defer func() { _ = survivor.Close() }()
	for _, master := range servers[:2] {
		opt, err := goredis.ParseURL(master.URL)
		if err != nil {
			return err
		}
		pause(time.Second)
		master.Kill()
		if err := waitForFailover(ctx, survivor, opt.Addr); err != nil {
			return err
		}
		pause(3 * time.Second)
		if err := master.Start(); err != nil {
			return err
		}
	}
	return nil
}

// waitForFailover waits until the cluster has detected the failure of the master
// and another server has its slots.
func waitForFailover(ctx context.Context, survivor *goredis.Client, master string) error {
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
		failed := slices.ContainsFunc(strings.Split(nodes, "\n"), func(node string) bool {
			return strings.Contains(node, " "+master+"@") && strings.Contains(node, "fail ")
		})
		if failed && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

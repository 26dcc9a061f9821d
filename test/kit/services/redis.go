package services

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Redis starts a Redis with 4096 numbered databases and no persistence.
func Redis() (*Server, error) { return redis(findInstalledRedis) }

// findInstalledRedis returns the path of the machine's Redis.
func findInstalledRedis() (string, error) { return exec.LookPath("redis-server") }

// redis starts the server that findInstalled returns, or a downloaded one, with additional
// arguments.
func redis(findInstalled func() (string, error), arguments ...string) (*Server, error) {
	bin, err := findInstalled()

	var env []string
	if err != nil {
		root, libraryPath, err := fetchPackages("redis-server")
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}

		env = []string{"LD_LIBRARY_PATH=" + libraryPath}
		bin = filepath.Join(root, "usr/bin/redis-server")
	}

	for attempt := 1; ; attempt++ {
		server, err := startRedis(bin, env, arguments)
		if err == nil || attempt == startAttempts {
			return server, err
		}
	}
}

const (
	clusterSlots   = 16384 // the number of hash slots, which is the same in every Redis Cluster
	clusterMasters = 3
)

// RedisCluster starts a cluster of three masters, each with a replica if withReplicas is set. It
// returns the URL of the cluster and its servers, the masters first. If a master does not respond
// for two seconds, its replica becomes the master.
func RedisCluster(withReplicas bool) (url string, servers []*Server, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*startWithin)
	defer cancel()
	defer func() {
		if err != nil {
			for _, server := range servers {
				server.Stop()
			}
		}
	}()

	nodes := clusterMasters
	if withReplicas {
		nodes = 2 * clusterMasters
	}

	// Start the nodes, and connect each of them to the first one.
	clients := make([]*goredis.Client, nodes)
	addresses := make([]string, nodes)

	for i := range nodes {
		server, busPort, err := startClusterNode()
		if err != nil {
			return "", servers, err
		}

		servers = append(servers, server)

		options, err := goredis.ParseURL(server.URL)
		if err != nil {
			return "", servers, err
		}

		addresses[i] = options.Addr

		clients[i] = goredis.NewClient(options)
		defer func() { _ = clients[i].Close() }()

		if err := joinCluster(ctx, clients, i, busPort); err != nil {
			return "", servers, err
		}
	}

	// Wait until every node knows all the others.
	for _, client := range clients {
		err := waitForReply(ctx, client.ClusterInfo, "cluster_state:ok", fmt.Sprint("cluster_known_nodes:", nodes))
		if err != nil {
			return "", servers, err
		}
	}

	// The nodes after the masters become their replicas, in the same order.
	for i, replica := range clients[clusterMasters:] {
		if err := replicate(ctx, clients[i], replica); err != nil {
			return "", servers, err
		}
	}

	return "redis-cluster://" + strings.Join(addresses, ","), servers, nil
}

// joinCluster connects node i to node 0. If the node is a master, it also assigns the node an equal
// share of the slots. busPort is the port of the node for messages between nodes (the cluster bus).
func joinCluster(ctx context.Context, clients []*goredis.Client, i, busPort int) error {
	client := clients[i]
	if i < clusterMasters {
		firstSlot := i * clusterSlots / clusterMasters
		lastSlot := (i+1)*clusterSlots/clusterMasters - 1

		if err := client.ClusterAddSlotsRange(ctx, firstSlot, lastSlot).Err(); err != nil {
			return err
		}
	}

	isFirst := i == 0
	if isFirst {
		return nil
	}

	host, port, err := net.SplitHostPort(client.Options().Addr)
	if err != nil {
		return err
	}

	return clients[0].Do(ctx, "CLUSTER", "MEET", host, port, busPort).Err()
}

// replicate makes a node the replica of a master and waits until they are connected.
func replicate(ctx context.Context, master, replica *goredis.Client) error {
	masterID, err := master.ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}

	if err := replica.ClusterReplicate(ctx, masterID).Err(); err != nil {
		return err
	}

	replicationInfo := func(ctx context.Context) *goredis.StringCmd { return replica.Info(ctx, "replication") }

	return waitForReply(ctx, replicationInfo, "master_link_status:up")
}

// startClusterNode starts a server in cluster mode and returns the port of its cluster bus.
func startClusterNode() (server *Server, busPort int, err error) {
	busPort, releaseBusPort, err := ReservePort()
	if err != nil {
		return nil, 0, err
	}

	server, err = redis(findInstalledRedis,
		"--cluster-enabled", "yes",
		"--cluster-port", strconv.Itoa(busPort),
		"--cluster-node-timeout", "2000", // ms
		"--cluster-replica-validity-factor", "0", // a replica may be promoted however old its data is
		"--databases", "1",
	)
	if err != nil {
		releaseBusPort()
		return nil, 0, err
	}

	releasePort := server.release
	server.release = func() {
		releasePort()
		releaseBusPort()
	}

	return server, busPort, nil
}

// waitForReply repeats the command until its reply contains all the texts.
func waitForReply(ctx context.Context, command func(context.Context) *goredis.StringCmd, texts ...string) error {
	for {
		reply, err := command(ctx).Result()
		if err != nil {
			return err
		}

		isMissing := func(text string) bool { return !strings.Contains(reply, text) }
		if !slices.ContainsFunc(texts, isMissing) {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startRedis starts the server without persistence, with additional arguments.
func startRedis(bin string, env, arguments []string) (*Server, error) {
	dir, err := dataDir("redis", nil)
	if err != nil {
		return nil, err
	}

	port, release, err := ReservePort()
	if err != nil {
		return nil, err
	}

	server := &Server{
		URL:     fmt.Sprintf("redis://127.0.0.1:%d/0", port),
		Where:   bin + " in " + dir,
		name:    "redis",
		dir:     dir,
		env:     env,
		quit:    syscall.SIGKILL,
		release: release,
		argv: []string{bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--databases", "4096"},
	}
	server.argv = append(server.argv, arguments...)

	options, err := goredis.ParseURL(server.URL)
	if err != nil {
		return nil, err
	}

	options.MaxRetries = -1 // Start repeats the ping
	server.ping = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		client := goredis.NewClient(options)
		defer func() { _ = client.Close() }()

		return client.Ping(ctx).Err()
	}

	return server, server.Start()
}

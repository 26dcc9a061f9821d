package services

import (
	"context"
	"errors"
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
func Redis() (*Server, error) {
	return redis(func() (string, error) { return exec.LookPath("redis-server") })
}

// redis starts the server that find returns, or a downloaded one, with more arguments.
func redis(find func() (string, error), more ...string) (*Server, error) {
	bin, err := find()
	var env []string
	if err != nil {
		var root string
		if root, env, err = fetched("redis-server"); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		bin = filepath.Join(root, "usr/bin/redis-server")
	}
	for try := 0; ; try++ {
		s, err := startRedis(bin, env, more)
		// Another process may have taken the port between the check and the
		// start.
		if err == nil || try == 2 {
			return s, err
		}
	}
}

// RedisCluster starts a cluster of three masters, each with a replica if replicas is set,
// and returns its URL and its servers, the masters first. A replica takes the place of a
// master that has not answered for two seconds.
func RedisCluster(replicas bool) (url string, servers []*Server, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*startWithin)
	defer cancel()
	defer func() {
		if err != nil {
			for _, s := range servers {
				s.Stop()
			}
		}
	}()
	const slots, masters = 16384, 3
	n := masters
	if replicas {
		n = 2 * masters
	}
	clients := make([]*goredis.Client, n)
	addresses := make([]string, n)
	for i := range n {
		server, bus, err := clusterNode()
		if err != nil {
			return "", servers, err
		}
		servers = append(servers, server)
		opt, err := goredis.ParseURL(server.URL)
		if err != nil {
			return "", servers, err
		}
		addresses[i], clients[i] = opt.Addr, goredis.NewClient(opt)
		defer func() { _ = clients[i].Close() }()
		if i < masters {
			err = clients[i].ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err()
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(opt.Addr)
			err = errors.Join(err, clients[0].Do(ctx, "CLUSTER", "MEET", host, port, bus).Err())
		}
		if err != nil {
			return "", servers, err
		}
	}
	for _, c := range clients {
		if err := waitForReply(ctx, c.ClusterInfo, "cluster_state:ok", fmt.Sprint("cluster_known_nodes:", n)); err != nil {
			return "", servers, err
		}
	}
	for i, client := range clients[masters:] {
		id, err := clients[i].ClusterMyID(ctx).Result()
		if err == nil {
			err = client.ClusterReplicate(ctx, id).Err()
		}
		if err == nil {
			err = waitForReply(ctx,
				func(ctx context.Context) *goredis.StringCmd { return client.Info(ctx, "replication") },
				"master_link_status:up")
		}
		if err != nil {
			return "", servers, err
		}
	}
	return "redis-cluster://" + strings.Join(addresses, ","), servers, nil
}

// clusterNode starts a server in cluster mode and returns the port of its cluster bus.
func clusterNode() (server *Server, bus int, err error) {
	bus, letGo, err := ReservePort()
	if err != nil {
		return nil, 0, err
	}
	server, err = redis(
		func() (string, error) { return exec.LookPath("redis-server") },
		"--cluster-enabled",
		"yes",
		"--cluster-port",
		strconv.Itoa(bus),
		"--cluster-node-timeout",
		"2000",
		"--cluster-replica-validity-factor",
		"0",
		"--databases",
		"1",
	)
	if err != nil {
		letGo()
		return nil, 0, err
	}
	own := server.letGo
	server.letGo = func() { own(); letGo() }
	return server, bus, nil
}

// waitForReply waits until the answer of a server contains all the texts.
func waitForReply(ctx context.Context, ask func(context.Context) *goredis.StringCmd, texts ...string) error {
	for {
		answer, err := ask(ctx).Result()
		if err != nil || !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(answer, text) }) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startRedis starts the server without any persistence.
func startRedis(bin string, env, more []string) (*Server, error) {
	dir, err := dataDir("redis", nil)
	if err != nil {
		return nil, err
	}
	port, letGo, err := ReservePort()
	if err != nil {
		return nil, err
	}
	server := &Server{
		URL:   fmt.Sprintf("redis://127.0.0.1:%d/0", port),
		Where: bin + " in " + dir,
		name:  "redis", dir: dir, env: env, quit: syscall.SIGKILL, letGo: letGo,
		argv: []string{bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--databases", "4096"},
	}
	server.argv = append(server.argv, more...)
	opt, err := goredis.ParseURL(server.URL)
	if err != nil {
		return nil, err
	}
	server.answer = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		opt := *opt
		opt.MaxRetries = -1
		c := goredis.NewClient(&opt)
		defer func() { _ = c.Close() }()
		return c.Ping(ctx).Err()
	}
	return server, server.Start()
}

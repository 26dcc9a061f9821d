package services

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
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
		// Another process may have taken the port between the look and the start.
		if err == nil || try == 2 {
			return s, err
		}
	}
}

// RedisCluster starts a cluster of three masters without replicas and returns
// them with the cluster's URL.
func RedisCluster() (url string, masters []*Server, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	defer func() {
		if err != nil {
			for _, m := range masters {
				m.Stop()
			}
		}
	}()
	const slots, nodes = 16384, 3
	clients := make([]*goredis.Client, nodes)
	addresses := make([]string, nodes)
	buses := make([]int, nodes)
	for i := range nodes {
		bus, letGo, err := HoldPort()
		if err != nil {
			return "", masters, err
		}
		buses[i] = bus
		m, err := redis(func() (string, error) { return exec.LookPath("redis-server") }, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--databases", "1")
		if err != nil {
			letGo()
			return "", masters, err
		}
		own := m.letGo
		m.letGo = func() { own(); letGo() }
		masters = append(masters, m)
		opt, err := goredis.ParseURL(m.URL)
		if err != nil {
			return "", masters, err
		}
		addresses[i], clients[i] = opt.Addr, goredis.NewClient(opt)
		defer func() { _ = clients[i].Close() }()
		if err := clients[i].ClusterAddSlotsRange(ctx, i*slots/nodes, (i+1)*slots/nodes-1).Err(); err != nil {
			return "", masters, err
		}
	}
	for i := 1; i < nodes; i++ {
		host, port, _ := net.SplitHostPort(addresses[i])
		if err := clients[0].Do(ctx, "CLUSTER", "MEET", host, port, buses[i]).Err(); err != nil {
			return "", masters, err
		}
	}
	for _, c := range clients {
		for {
			info, err := c.ClusterInfo(ctx).Result()
			if err != nil {
				return "", masters, err
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return "redis-cluster://" + strings.Join(addresses, ","), masters, nil
}

func startRedis(bin string, env, more []string) (*Server, error) {
	dir, err := dataDir("redis", nil)
	if err != nil {
		return nil, err
	}
	port, letGo, err := HoldPort()
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL:   fmt.Sprintf("redis://127.0.0.1:%d/0", port),
		Where: bin + " in " + dir,
		name:  "redis", dir: dir, env: env, quit: syscall.SIGKILL, letGo: letGo,
		argv: []string{bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--databases", "4096"},
	}
	s.argv = append(s.argv, more...)
	opt, err := goredis.ParseURL(s.URL)
	if err != nil {
		return nil, err
	}
	s.answer = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		opt := *opt
		opt.MaxRetries = -1
		c := goredis.NewClient(&opt)
		defer func() { _ = c.Close() }()
		return c.Ping(ctx).Err()
	}
	return s, s.Start()
}

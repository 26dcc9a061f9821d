package services

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Redis starts a Redis with 4096 numbered databases and no persistence.
func Redis() (*Server, error) {
	return redis(func() (string, error) { return exec.LookPath("redis-server") })
}

func redis(find func() (string, error)) (*Server, error) {
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
		s, err := startRedis(bin, env)
		// Another process may have taken the port between the look and the start.
		if err == nil || try == 2 {
			return s, err
		}
	}
}

func startRedis(bin string, env []string) (*Server, error) {
	dir, err := dataDir("redis", nil)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL:   fmt.Sprintf("redis://127.0.0.1:%d/0", port),
		Where: bin + " in " + dir,
		name:  "redis", dir: dir, env: env, quit: syscall.SIGKILL,
		argv: []string{bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--databases", "4096"},
	}
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

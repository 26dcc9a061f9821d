package services

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres starts a Postgres that does not sync to disk. Its URL names the
// maintenance database and a superuser without password.
func Postgres() (*Server, error) { return postgres(installedPostgres) }

// postgres starts the server in the folder that find returns, or a downloaded one.
func postgres(find func() (string, error)) (*Server, error) {
	bin, err := find()
	var env []string
	if err != nil {
		var root string
		if root, env, err = fetched("postgresql", "libpq5"); err != nil {
			return nil, fmt.Errorf("postgres: %w", err)
		}
		if bin, err = newest(filepath.Join(root, "usr/lib/postgresql/*/bin")); err != nil {
			return nil, err
		}
	}
	cred, err := unprivileged()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	for try := 0; ; try++ {
		s, err := startPostgres(bin, env, cred)
		// Another process may have taken the port between the check and the
		// start.
		if err == nil || try == 2 {
			return s, err
		}
	}
}

// startPostgres creates an empty database cluster and starts a server on it.
func startPostgres(bin string, env []string, cred *syscall.Credential) (*Server, error) {
	dir, err := dataDir("postgres", cred)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "locum", "-A", "trust",
		"-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.Dir = dir
	initdb.Env = append(os.Environ(), env...)
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if out, err := initdb.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return servePostgres(bin, env, cred, dir)
}

// servePostgres starts a server on the data in dir.
func servePostgres(bin string, env []string, cred *syscall.Credential, dir string) (*Server, error) {
	port, letGo, err := ReservePort()
	if err != nil {
		return nil, err
	}
	argv := []string{filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port)}
	for _, setting := range []string{
		// Parallel subtests hold many connections to the same server.
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=1000",
		// Committed data survives a killed server, but not a power failure.
		"fsync=off", "full_page_writes=off", "shared_buffers=128MB", "wal_init_zero=off",
	} {
		argv = append(argv, "-c", setting)
	}
	server := &Server{
		URL:   fmt.Sprintf("postgres://locum@127.0.0.1:%d/postgres?sslmode=disable", port),
		Where: argv[0] + " in " + dir,
		name:  "postgres", dir: dir, argv: argv, env: env, cred: cred, quit: syscall.SIGQUIT, letGo: letGo,
	}
	server.answer = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			return err
		}
		return c.Close(ctx)
	}
	return server, server.Start()
}

// PostgresReplica starts a standby server that streams from a server of Postgres. Its
// URL names the same database and user.
func PostgresReplica(primary *Server) (*Server, error) {
	dir, err := dataDir("postgres", primary.cred)
	if err != nil {
		return nil, err
	}
	bin := filepath.Dir(primary.argv[0])
	backup := exec.Command(
		filepath.Join(bin, "pg_basebackup"),
		"-D",
		filepath.Join(dir, "data"),
		"-d",
		primary.URL,
		"-R",
		"-X",
		"stream",
		"-c",
		"fast",
		"--no-sync",
	)
	backup.Dir = dir
	backup.Env = append(os.Environ(), primary.env...)
	backup.SysProcAttr = &syscall.SysProcAttr{Credential: primary.cred}
	if out, err := backup.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return servePostgres(bin, primary.env, primary.cred, dir)
}

// installedPostgres returns the folder of the machine's PostgreSQL.
func installedPostgres() (string, error) {
	if bin, err := newest("/usr/lib/postgresql/*/bin"); err == nil {
		return bin, nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", err
	}
	// initdb is in the directory of the real binary, not necessarily in that of
	// a link to it.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// newest returns the directory of the highest version that contains a postgres.
func newest(pattern string) (string, error) {
	found, _ := filepath.Glob(filepath.Join(pattern, "postgres"))
	if len(found) == 0 {
		return "", fmt.Errorf("no postgres at %s", pattern)
	}
	sort.Slice(found, func(i, j int) bool { return version(found[i]) < version(found[j]) })
	return filepath.Dir(found[len(found)-1]), nil
}

// version returns the version in the path of a binary, such as 17 of
// /usr/lib/postgresql/17/bin/postgres.
func version(binary string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(binary))))
	return n
}

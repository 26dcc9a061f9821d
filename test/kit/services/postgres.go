package services

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres starts a Postgres that does not sync to disk. Its URL names the
// maintenance database and a superuser without password.
func Postgres() (*Server, error) { return postgres(findInstalledPostgres) }

// postgres starts the server in the folder that findInstalled returns, or a downloaded one.
func postgres(findInstalled func() (string, error)) (*Server, error) {
	bin, err := findInstalled()

	var env []string
	if err != nil {
		root, libraryPath, err := fetchPackages("postgresql", "libpq5")
		if err != nil {
			return nil, fmt.Errorf("postgres: %w", err)
		}

		env = []string{"LD_LIBRARY_PATH=" + libraryPath}

		bin, err = findNewestPostgres(filepath.Join(root, "usr/lib/postgresql/*/bin"))
		if err != nil {
			return nil, err
		}
	}

	cred, err := unprivileged()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}

	for attempt := 1; ; attempt++ {
		server, err := startPostgres(bin, env, cred)
		if err == nil || attempt == startAttempts {
			return server, err
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

// servePostgres starts a server on the database cluster in the folder "data" of dir.
func servePostgres(bin string, env []string, cred *syscall.Credential, dir string) (*Server, error) {
	port, release, err := ReservePort()
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
		URL:     fmt.Sprintf("postgres://locum@127.0.0.1:%d/postgres?sslmode=disable", port),
		Where:   argv[0] + " in " + dir,
		name:    "postgres",
		dir:     dir,
		argv:    argv,
		env:     env,
		cred:    cred,
		quit:    syscall.SIGQUIT,
		release: release,
	}
	server.ping = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		conn, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			return err
		}

		return conn.Close(ctx)
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
		"--pgdata="+filepath.Join(dir, "data"),
		"--dbname="+primary.URL,
		"--write-recovery-conf",
		"--wal-method=stream",
		"--checkpoint=fast",
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

// findInstalledPostgres returns the folder with the programs of the machine's PostgreSQL.
func findInstalledPostgres() (string, error) {
	if bin, err := findNewestPostgres("/usr/lib/postgresql/*/bin"); err == nil {
		return bin, nil
	}

	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", err
	}

	// The path may be a symbolic link; initdb is in the directory of its target.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}

	return filepath.Dir(path), nil
}

// findNewestPostgres returns the directory that matches the pattern, contains the program
// postgres and has the highest version in its path.
func findNewestPostgres(pattern string) (string, error) {
	programs, _ := filepath.Glob(filepath.Join(pattern, "postgres"))
	if len(programs) == 0 {
		return "", fmt.Errorf("no postgres at %s", pattern)
	}

	byVersion := func(a, b string) int { return parseVersion(a) - parseVersion(b) }
	newest := slices.MaxFunc(programs, byVersion)

	return filepath.Dir(newest), nil
}

// parseVersion returns the version in the path of a program, such as 17 of
// /usr/lib/postgresql/17/bin/postgres.
func parseVersion(program string) int {
	version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(program))))
	return version
}

package services

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PgBouncer starts a PgBouncer in transaction mode in front of the Postgres at the URL. The URL of
// the PgBouncer names the same database and user. Unless PgBouncer is installed, its packages are
// downloaded.
func PgBouncer(postgresURL string) (*Server, error) {
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin = "/usr/sbin/pgbouncer" // a folder that is only in the PATH of root
	}

	var env []string
	if _, err := os.Stat(bin); err != nil {
		root, libraryPath, err := fetchPackages("pgbouncer", "libevent-2.1-7", "libc-ares2")
		if err != nil {
			return nil, fmt.Errorf("pgbouncer: %w", err)
		}

		env = []string{"LD_LIBRARY_PATH=" + libraryPath}
		bin = filepath.Join(root, "usr/sbin/pgbouncer")
	}

	target, err := url.Parse(postgresURL)
	if err != nil {
		return nil, err
	}

	cred, err := unprivileged() // PgBouncer refuses to run as root
	if err != nil {
		return nil, fmt.Errorf("pgbouncer: %w", err)
	}

	dir, err := dataDir("pgbouncer", cred)
	if err != nil {
		return nil, err
	}

	port, release, err := ReservePort()
	if err != nil {
		return nil, err
	}

	settings := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 4
`, target.Hostname(), target.Port(), target.User.Username(), port)
	settingsFile := filepath.Join(dir, "pgbouncer.ini")

	if err := os.WriteFile(settingsFile, []byte(settings), 0o644); err != nil {
		return nil, err
	}

	pooledURL := *target
	pooledURL.Host = fmt.Sprintf("127.0.0.1:%d", port)
	server := &Server{
		URL:     pooledURL.String(),
		Where:   bin + " in " + dir,
		name:    "pgbouncer",
		dir:     dir,
		argv:    []string{bin, settingsFile},
		env:     env,
		cred:    cred,
		quit:    syscall.SIGTERM,
		release: release,
	}
	server.ping = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		config, err := pgx.ParseConfig(server.URL)
		if err != nil {
			return err
		}

		config.DefaultQueryExecMode = pgx.QueryExecModeExec // prepared statements do not work in transaction mode

		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}

		return conn.Close(ctx)
	}

	return server, server.Start()
}

package services

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver for Server.ping
)

// MariaDB starts a MariaDB that does not sync to disk. Its URL names a superuser
// without password and no database.
func MariaDB() (*Server, error) { return mariaDB(findInstalledMariaDB) }

// mariaDBFiles are the paths of the server and of its messages and scripts.
type mariaDBFiles struct{ server, share string }

// findInstalledMariaDB returns the files of the machine's MariaDB.
func findInstalledMariaDB() (files mariaDBFiles, err error) {
	files.share = "/usr/share/mysql"

	files.server, err = exec.LookPath("mariadbd")
	if err != nil {
		files.server = "/usr/sbin/mariadbd" // a folder that is only in the PATH of root
	}

	_, err = os.Stat(files.server)

	return files, err
}

// mariaDB starts the server that findInstalled returns, or a downloaded one.
func mariaDB(findInstalled func() (mariaDBFiles, error)) (*Server, error) {
	files, err := findInstalled()

	var env []string
	if err != nil {
		root, libraryPath, err := fetchPackages("mariadb-server-core")
		if err != nil {
			return nil, fmt.Errorf("mariadb: %w", err)
		}

		env = []string{"LD_LIBRARY_PATH=" + libraryPath}
		files = mariaDBFiles{
			server: filepath.Join(root, "usr/sbin/mariadbd"),
			share:  filepath.Join(root, "usr/share/mysql"),
		}
	}

	cred, err := unprivileged()
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}

	// The script is mysql_system_tables.sql before MariaDB 11.0, then mariadb_system_tables.sql.
	scripts, _ := filepath.Glob(filepath.Join(files.share, "m*_system_tables.sql"))
	if len(scripts) == 0 {
		return nil, fmt.Errorf("mariadb: no system tables in %s", files.share)
	}

	systemTables, err := os.ReadFile(scripts[0])
	if err != nil {
		return nil, err
	}

	dir, err := dataDir("mariadb", cred)
	if err != nil {
		return nil, err
	}

	argv := []string{files.server, "--no-defaults", "--lc-messages-dir=" + files.share, "--datadir=" + dir,
		// Committed data survives a killed server, but not a power failure.
		"--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--innodb-use-native-aio=0",
		"--innodb-buffer-pool-size=256M", "--innodb-log-file-size=128M"}

	// The bootstrap mode creates the system tables and exits.
	bootstrap := exec.Command(argv[0], append(slices.Clone(argv[1:]), "--bootstrap")...)
	bootstrap.Stdin = strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\n" + string(systemTables))
	bootstrap.Dir = dir
	bootstrap.Env = append(os.Environ(), env...)
	bootstrap.SysProcAttr = &syscall.SysProcAttr{Credential: cred}

	if out, err := bootstrap.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("mariadbd --bootstrap: %w\n%s", err, out)
	}

	port, release, err := ReservePort()
	if err != nil {
		return nil, err
	}

	server := &Server{
		URL:   fmt.Sprintf("mysql://root@127.0.0.1:%d/", port),
		Where: files.server + " in " + dir,
		argv: append(argv, "--port="+strconv.Itoa(port), "--bind-address=127.0.0.1",
			"--socket="+filepath.Join(dir, "socket"), "--pid-file="+filepath.Join(dir, "pid"),
			"--skip-grant-tables", "--skip-name-resolve", "--max-connections=1000"),
		name:    "mariadb",
		dir:     dir,
		env:     env,
		cred:    cred,
		quit:    syscall.SIGKILL,
		release: release,
	}
	server.ping = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port))
		if err != nil {
			return err
		}

		defer func() { _ = db.Close() }()

		return db.PingContext(ctx)
	}

	return server, server.Start()
}

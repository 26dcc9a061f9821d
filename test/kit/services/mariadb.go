package services

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of the answer check
)

// MariaDB starts a MariaDB that does not sync to disk. Its URL names a superuser
// without password and no database.
func MariaDB() (*Server, error) { return mariaDB(installedMariaDB) }

// mariaDBFiles are the paths of the server and of its messages and scripts.
type mariaDBFiles struct{ server, share string }

// installedMariaDB returns the files of the machine's MariaDB.
func installedMariaDB() (f mariaDBFiles, err error) {
	if f.server, err = exec.LookPath("mariadbd"); err != nil {
		f.server = "/usr/sbin/mariadbd" // which is in the path of root alone
	}
	f.share = "/usr/share/mysql"
	_, err = os.Stat(f.server)
	return f, err
}

// mariaDB starts the server that find returns, or a downloaded one.
func mariaDB(find func() (mariaDBFiles, error)) (*Server, error) {
	files, err := find()
	var env []string
	if err != nil {
		var root string
		if root, env, err = fetched("mariadb-server-core"); err != nil {
			return nil, fmt.Errorf("mariadb: %w", err)
		}
		files = mariaDBFiles{filepath.Join(root, "usr/sbin/mariadbd"), filepath.Join(root, "usr/share/mysql")}
	}
	cred, err := unprivileged()
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	scripts, _ := filepath.Glob(filepath.Join(files.share, "m*_system_tables.sql")) // mysql_… until 11.0
	if len(scripts) == 0 {
		return nil, fmt.Errorf("mariadb: no system tables in %s", files.share)
	}
	tables, err := os.ReadFile(scripts[0])
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
	install := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], "--bootstrap")...)
	install.Stdin = strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\n" + string(tables))
	install.Dir, install.Env = dir, append(os.Environ(), env...)
	install.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if out, err := install.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("mariadbd --bootstrap: %w\n%s", err, out)
	}
	port, letGo, err := ReservePort()
	if err != nil {
		return nil, err
	}
	server := &Server{
		URL:   fmt.Sprintf("mysql://root@127.0.0.1:%d/", port),
		Where: files.server + " in " + dir,
		argv: append(argv, "--port="+strconv.Itoa(port), "--bind-address=127.0.0.1",
			"--socket="+filepath.Join(dir, "socket"), "--pid-file="+filepath.Join(dir, "pid"),
			"--skip-grant-tables", "--skip-name-resolve", "--max-connections=1000"),
		name: "mariadb", dir: dir, env: env, cred: cred, quit: syscall.SIGKILL, letGo: letGo,
	}
	server.answer = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		return c.PingContext(ctx)
	}
	return server, server.Start()
}

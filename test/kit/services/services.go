// Package services starts private database servers for tests: on free ports of
// the loopback interface, with their data in a temporary directory. A server and
// its data are removed when the process that started it ends, even if it is
// killed.
package services

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a server process that only this process uses.
type Server struct {
	// URL is the address of the server for clients. It remains the same over
	// Kill and Start.
	URL string
	// Where describes the binary and the data directory for people.
	Where string

	name    string              // for errors and folders
	dir     string              // the data directory
	argv    []string            // the path of the program and its arguments
	env     []string            // variables in addition to the environment of this process
	quit    syscall.Signal      // the signal that stops the server before its data is deleted
	cred    *syscall.Credential // the user of the server, nil for the user of this process
	ping    func() error        // returns nil as soon as the server responds to clients
	release func()              // releases the ports that are reserved for the server

	mu        sync.Mutex
	pid       int            // 0 while the server is stopped
	guard     *exec.Cmd      // the parent process of the server, see guardScript
	guardPipe io.WriteCloser // the standard input of the guard
}

// guardScript is the program of the guard, a shell that is the parent process of the server. It removes
// the server and its data even if the tests are killed. For that, it has a session of its own, so that
// Ctrl-C, a panic or a SIGKILL of the tests does not end it.
//
// Its arguments are the data directory, the number of the signal that stops the server, and the command
// of the server. The guard does the following:
//
//  1. It starts the server, with its output in the file log, and prints the server's process id.
//  2. It waits for its standard input, which is a pipe from this process.
//  3. If it reads a line, it kills the server and keeps the data.
//  4. If the pipe ends without a line, this process has closed it or has ended. The guard then stops the
//     server and deletes the data. SIGCONT comes first for a paused server, which handles no other signal.
//     The deletion is repeated for up to 5 s, while processes of the server still write files.
const guardScript = `
dir=$1 quit=$2; shift 2
"$@" </dev/null >>"$dir/log" 2>&1 &
pid=$!
echo $pid
exec >/dev/null 2>&1
if read -r line; then
	kill -KILL $pid; wait $pid
else
	kill -$quit $pid; kill -CONT $pid; wait $pid
	i=0; while ! rm -rf "$dir" && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done
fi`

// guardPipes maps each running server to the pipe to its guard. Without this map, the garbage collector
// could close the pipe of a server to which no variable refers any more, and so stop the server.
var guardPipes sync.Map

// startWithin is the timeout for a server to respond after its start, and for all its processes to exit
// after they were killed.
const startWithin = 30 * time.Second

// startAttempts is the maximum number of starts of a new server. Each one uses another port, because
// outside of Linux another process may take a reserved port before the server listens on it.
const startAttempts = 3

// Start starts the server. After Kill, it has the same address and data as before.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.pid != 0 {
		return nil
	}

	args := append([]string{"-c", guardScript, "guard", s.dir, strconv.Itoa(int(s.quit))}, s.argv...)
	guard := exec.Command("/bin/sh", args...)
	guard.Dir = s.dir
	guard.Env = append(os.Environ(), s.env...)
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.cred}

	guardPipe, err := guard.StdinPipe()
	if err != nil {
		return err
	}

	output, err := guard.StdoutPipe()
	if err != nil {
		return err
	}

	if err := guard.Start(); err != nil {
		return err
	}

	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s: the guard did not print the server's process id: %w", s.name, err)
	}

	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}

	s.pid, s.guardPipe, s.guard = pid, guardPipe, guard
	guardPipes.Store(s, guardPipe)

	for deadline := time.Now().Add(startWithin); ; time.Sleep(10 * time.Millisecond) {
		err := s.ping()
		if err == nil {
			return nil
		}

		if !isAlive(pid) || time.Now().After(deadline) {
			log, _ := s.Log()
			s.endGuard(deletesData)
			return fmt.Errorf("%s does not start: %w\n%s", s.name, err, log)
		}
	}
}

// Stop stops the server and deletes its data.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.release()

	if s.pid == 0 {
		_ = os.RemoveAll(s.dir)
		return
	}

	s.endGuard(deletesData)
}

// Kill ends the server as a power failure would; its data remains for Start.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.pid == 0 {
		return
	}

	pids := s.signal(syscall.SIGKILL)
	s.endGuard(keepsData)

	// The next server cannot use the data until all processes of this one have exited.
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(pids, isAlive) {
			return
		}
	}
}

// isAlive reports whether the process runs.
func isAlive(pid int) bool { return syscall.Kill(pid, 0) == nil && !hasExited(pid) }

// Pause suspends the server: it keeps its connections and accepts more, but does
// not respond.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.signal(syscall.SIGSTOP)
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.signal(syscall.SIGCONT)
}

// Log returns the output of the server so far.
func (s *Server) Log() ([]byte, error) { return os.ReadFile(filepath.Join(s.dir, "log")) }

// PID returns the server's process id, 0 while it is stopped.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// The argument of endGuard: whether the guard keeps or deletes the data of the server.
const (
	keepsData   = true
	deletesData = false
)

// endGuard ends the guard, which ends the server. A line in the pipe to the guard makes it keep the data,
// and the end of the pipe without a line makes it delete the data. Errors are ignored, because the guard
// may have ended already.
func (s *Server) endGuard(keepsData bool) {
	if keepsData {
		_, _ = io.WriteString(s.guardPipe, "keep\n") // any line
	}

	_ = s.guardPipe.Close()
	guardPipes.Delete(s)

	_ = s.guard.Wait()
	s.pid = 0
}

// signal sends a signal to the server and its children: Postgres serves each
// client in a process that would outlive its parent for a short time. It returns their ids.
func (s *Server) signal(sig syscall.Signal) (pids []int) {
	if s.pid == 0 {
		return nil
	}

	// The parent is stopped meanwhile, so that it starts no more children and
	// does not exit before its children are listed.
	_ = syscall.Kill(s.pid, syscall.SIGSTOP)

	pids = append(listChildren(s.pid), s.pid)
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may have exited
	}

	return pids
}

// listChildren lists the direct children of pid with ps, which every Unix has.
func listChildren(pid int) []int {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil
	}

	var pids []int
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			pids = append(pids, child)
		}
	}

	return pids
}

// hasExited reports whether the process has exited and its parent has not waited for it yet.
func hasExited(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// ReservePort finds a free port of the loopback interface and reserves it until
// release is called: a server can listen on the port, also again after it was
// killed, but the system allocates it to no other listener and no outgoing
// connection. This works on Linux; elsewhere the port is released at once.
func ReservePort() (port int, release func(), err error) {
	syscall.ForkLock.RLock() // so that no child process inherits the socket

	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}

	syscall.ForkLock.RUnlock()

	if err != nil {
		return 0, nil, err
	}

	release = sync.OnceFunc(func() { _ = syscall.Close(socket) })
	defer func() {
		if err != nil || runtime.GOOS != "linux" {
			release()
		}
	}()

	// This socket has SO_REUSEADDR and does not listen. Therefore another socket with SO_REUSEADDR,
	// which all servers set, can listen on the same port.
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, nil, err
	}

	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, nil, err
	}

	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, nil, err
	}

	return bound.(*syscall.SockaddrInet4).Port, release, nil
}

// Listen listens on an address of this machine. It waits if the address is still in
// use: between fork and exec, a child process has a copy of the socket that this
// process has just closed.
func Listen(address string) (net.Listener, error) {
	for deadline := time.Now().Add(startWithin); ; time.Sleep(5 * time.Millisecond) {
		listener, err := net.Listen("tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return listener, err
		}
	}
}

// dataRoot returns the directory for the data of servers: a file system in memory, if that has
// enough space. Otherwise the result is empty, which means the default directory for temporary
// files. It is also empty if TMPDIR is set, and with LOCUM_TEST_HEAVY, whose databases are large.
//
// Memory is faster: tests create and drop hundreds of databases of hundreds of files each. Ext4
// does not reuse the inodes of deleted files for minutes and scans all of them, which takes more
// time than all queries.
func dataRoot() string {
	const memoryFolder = "/dev/shm"
	const minFree = 4 << 30 // 4 GiB

	if os.Getenv("TMPDIR") != "" || os.Getenv("LOCUM_TEST_HEAVY") != "" {
		return ""
	}

	var stat syscall.Statfs_t
	if err := syscall.Statfs(memoryFolder, &stat); err != nil {
		return ""
	}

	if free := stat.Bavail * uint64(stat.Bsize); free < minFree {
		return ""
	}

	return memoryFolder
}

// dataDir creates the directory of one server, owned by cred if it is not nil.
func dataDir(name string, cred *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp(dataRoot(), "locum-test-"+name+"-")
	if err != nil {
		return "", err
	}

	if cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return "", err
		}
	}

	return dir, nil
}

// unprivileged returns the user for servers that refuse to run as root. It is nil, which means the
// user of this process, if this process is not root.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}

	// A user that this machine does not have, or whose ids are no numbers, is skipped.
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}

		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			continue
		}

		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			continue
		}

		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}

	return nil, errors.New("no unprivileged user to run it as: neither postgres nor nobody exists")
}

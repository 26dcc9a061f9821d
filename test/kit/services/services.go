// Package services starts private database servers for tests: on free ports of
// the loopback interface, with their data in a temporary directory, and gone,
// data included, when the process that started them ends, however it ends.
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

// Server is one server process that is this process's own.
type Server struct {
	// URL is what clients dial. It stays the same over Kill and Start.
	URL string
	// Where says which binary runs and where its data is, for people.
	Where string

	name   string
	dir    string
	argv   []string
	env    []string
	quit   syscall.Signal // how the server is asked to go when its data is not kept
	cred   *syscall.Credential
	answer func() error // nil once the server answers clients
	letGo  func()       // of the ports that are held for it

	mu    sync.Mutex
	pid   int
	leash io.WriteCloser
	guard *exec.Cmd
}

// The guard is the server's parent. It holds the other end of a pipe from this
// process: a line means "end the server and keep its data", the end of the pipe
// means that this process is gone or done, so the data goes too. A guard in a
// session of its own outlives Ctrl-C, a panic and a SIGKILL of the tests.
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

// guardPipes keeps the pipes to the guards reachable: the collector closes a pipe
// that nobody holds, and with it ends the server.
var guardPipes sync.Map

const startWithin = 30 * time.Second

// Start starts the server, after Kill on the same address and data.
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
	leash, err := guard.StdinPipe()
	if err != nil {
		return err
	}
	said, err := guard.StdoutPipe()
	if err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s: the guard said nothing: %w", s.name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	s.pid, s.leash, s.guard = pid, leash, guard
	guardPipes.Store(s, leash)
	for deadline := time.Now().Add(startWithin); ; time.Sleep(10 * time.Millisecond) {
		err := s.answer()
		if err == nil {
			return nil
		}
		if syscall.Kill(pid, 0) != nil || exited(pid) || time.Now().After(deadline) {
			log, _ := s.Log()
			s.end("")
			return fmt.Errorf("%s does not come up: %w\n%s", s.name, err, log)
		}
	}
}

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.letGo()
	if s.pid == 0 {
		_ = os.RemoveAll(s.dir)
		return
	}
	s.end("")
}

// Kill ends the server as a power cut would; its data stays for Start.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return
	}
	all := s.signal(syscall.SIGKILL)
	s.end("keep\n")
	// A child that is still on its way out keeps the next server from the data.
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline) && slices.ContainsFunc(all, alive); {
		time.Sleep(time.Millisecond)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !exited(pid) }

// Pause stops the server in its tracks: it holds its connections and accepts
// more, but answers none.
func (s *Server) Pause() { s.mu.Lock(); defer s.mu.Unlock(); s.signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (s *Server) Resume() { s.mu.Lock(); defer s.mu.Unlock(); s.signal(syscall.SIGCONT) }

// Log is what the server has said so far.
func (s *Server) Log() ([]byte, error) { return os.ReadFile(filepath.Join(s.dir, "log")) }

// PID is the server's process id, 0 while it is down.
func (s *Server) PID() int { s.mu.Lock(); defer s.mu.Unlock(); return s.pid }

func (s *Server) end(word string) {
	if word != "" {
		_, _ = io.WriteString(s.leash, word)
	}
	_ = s.leash.Close()
	guardPipes.Delete(s)
	_ = s.guard.Wait()
	s.pid = 0
}

// signal reaches the server and its children: Postgres serves each client in
// a process of its own, which would outlive its parent for a moment.
func (s *Server) signal(sig syscall.Signal) (all []int) {
	if s.pid == 0 {
		return nil
	}
	// The parent stands still meanwhile, so that it starts no more children, and is
	// not gone before those that it has are known.
	_ = syscall.Kill(s.pid, syscall.SIGSTOP)
	all = append(children(s.pid), s.pid)
	for _, pid := range all {
		_ = syscall.Kill(pid, sig)
	}
	return all
}

// children lists the direct children of pid by what ps says, which every Unix has.
func children(pid int) []int {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil
	}
	var found []int
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			found = append(found, child)
		}
	}
	return found
}

// exited tells a server that died and still waits for its guard's attention.
func exited(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// ReservePort finds a port of the loopback interface that nobody uses, and holds it
// until it is let go of: whoever asks for that very port can listen on it, as often
// as they are killed and started again, and nobody is given it by chance meanwhile,
// neither to listen on nor to call from. That is Linux: elsewhere it is let go of
// at once.
func ReservePort() (port int, letGo func(), err error) {
	syscall.ForkLock.RLock() // no child begins before the socket is closed in it
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, nil, err
	}
	letGo = sync.OnceFunc(func() { _ = syscall.Close(socket) })
	defer func() {
		if err != nil || runtime.GOOS != "linux" {
			letGo()
		}
	}()
	// Bound by one who would share it, and who does not listen, it can be listened
	// on by another who would share it, which all servers would.
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
	return bound.(*syscall.SockaddrInet4).Port, letGo, nil
}

// Listen listens on an address of this machine, also where this process has just
// listened: a child that is about to become another program has the socket of
// before for a moment longer.
func Listen(address string) (net.Listener, error) {
	for end := time.Now().Add(startWithin); ; time.Sleep(5 * time.Millisecond) {
		l, err := net.Listen("tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return l, err
		}
	}
}

// dataRoot is where servers keep their data: in memory, where there is plenty and
// nobody has said otherwise. Tests make and drop hundreds of databases of
// hundreds of files each; on ext4, which will not use the inodes of deleted files
// again for minutes and looks at every one of them, that takes more time than all
// queries. Large databases stay on the disk.
func dataRoot() string {
	const memory, plenty = "/dev/shm", 4 << 30
	var there syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || os.Getenv("LOCUM_TEST_HEAVY") != "" || syscall.Statfs(memory, &there) != nil || there.Bavail*uint64(there.Bsize) < plenty {
		return ""
	}
	return memory
}

// dataDir makes the directory of one server, owned by cred when there is one.
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

// unprivileged is whom a server runs as that refuses root: nil when this
// process is not root anyway.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("no unprivileged user to run it as: neither postgres nor nobody exists")
}

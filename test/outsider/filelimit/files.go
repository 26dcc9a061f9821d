package filelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// unchanged is returned by changes that leave the entry as it was.
const unchanged time.Duration = -1

// update changes the entry of the name, which one process does at a time. change
// returns how long the entry counts.
func (l *Limiter) update(ctx context.Context, name string, change func(now int64, e *entry) time.Duration) (err error) {
	sum := sha256.Sum256([]byte(name))
	file := hex.EncodeToString(sum[:])
	s, folder := &l.shards[sum[0]>>4], filepath.Join(l.folder, file[:1])
	wait, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	defer func() {
		if ctx.Err() == nil { // a cancelled call says nothing about the folder
			s.degraded.Store(err != nil)
		}
	}()
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-wait.Done():
		return wait.Err()
	}
	unlock, err := lockFolder(wait, folder)
	if err != nil {
		return err
	}
	defer unlock()

	now, path := l.clock.Now(), filepath.Join(folder, file)
	var e entry
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = json.Unmarshal(content, &e) // a file that a crash has cut off counts nothing
	kept := change(now.UnixMicro(), &e)
	if kept == unchanged {
		return nil
	}
	if content, err = json.Marshal(e); err != nil {
		return err
	}
	ends := now.Add(kept)
	if err := errors.Join(os.WriteFile(path, content, 0o600), os.Chtimes(path, ends, ends)); err != nil {
		return err
	}
	if s.changes++; s.changes%sweepInterval == 0 {
		return sweep(folder, now)
	}
	return nil
}

// lockFolder waits for the lock of the folder until ctx is done.
func lockFolder(ctx context.Context, folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // which unlocks it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(time.Millisecond):
		}
	}
}

// sweep deletes the files that no longer count, by their modification time.
func sweep(folder string, now time.Time) error {
	found, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range found {
		info, err := f.Info()
		if err == nil && f.Name() != "lock" && info.ModTime().Before(now) {
			err = os.Remove(filepath.Join(folder, f.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

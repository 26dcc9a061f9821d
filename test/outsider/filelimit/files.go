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

// unchanged is the lifetime that a change returns if it leaves the entry as it was.
const unchanged time.Duration = -1

// update changes the entry of the name. One process at a time does that. change returns the
// lifetime of the entry, after which sweep deletes its file.
func (l *Limiter) update(ctx context.Context, name string, change func(now int64, e *entry) time.Duration) (err error) {
	// The first hexadecimal digit of the file's name selects the shard and names its folder.
	sum := sha256.Sum256([]byte(name))
	file := hex.EncodeToString(sum[:])
	shard := &l.shards[sum[0]>>4]
	folder := filepath.Join(l.folder, file[:1])

	wait, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	defer func() {
		if ctx.Err() == nil { // a cancelled call says nothing about the folder
			shard.degraded.Store(err != nil)
		}
	}()

	// Wait for the other calls of this process, and then for the other processes.
	select {
	case shard.slot <- struct{}{}:
		defer func() { <-shard.slot }()
	case <-wait.Done():
		return wait.Err()
	}

	unlock, err := lockFolder(wait, folder)
	if err != nil {
		return err
	}
	defer unlock()

	// Read the entry, change it and write it.
	now, path := l.clock.Now(), filepath.Join(folder, file)
	var e entry

	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	_ = json.Unmarshal(content, &e) // a file that a crash has cut off counts nothing

	lifetime := change(now.UnixMicro(), &e)
	if lifetime == unchanged {
		return nil
	}

	if err := writeEntry(path, e, now.Add(lifetime)); err != nil {
		return err
	}

	shard.changes++
	if shard.changes%sweepInterval == 0 {
		return sweep(folder, now)
	}

	return nil
}

// writeEntry writes the file of an entry. The file has its expiry as modification time, so that
// sweep need not read it.
func writeEntry(path string, e entry, expiry time.Time) error {
	content, err := json.Marshal(e)
	if err != nil {
		return err
	}

	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}

	return os.Chtimes(path, expiry, expiry)
}

// lockFolder waits for the lock of the folder until ctx is done.
func lockFolder(ctx context.Context, folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}

	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}

	// A blocking call of Flock would not end with ctx.
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // which unlocks it
		}

		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}

		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(time.Millisecond):
		}
	}
}

// sweep deletes the files of expired entries; see writeEntry.
func sweep(folder string, now time.Time) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}

	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			return err
		}

		expiry := info.ModTime()
		if file.Name() == "lock" || !expiry.Before(now) {
			continue
		}

		if err := os.Remove(filepath.Join(folder, file.Name())); err != nil {
			return err
		}
	}

	return nil
}

package searchindex

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A generation is an index in a numbered subfolder. A new generation is built beside the present one, in the subfolder
// with the next number. It is complete when it has a position in the feed of changes.

// OpenNewest opens the newest complete index in the numbered subfolders of o.Folder. It deletes older
// indexes, and newer ones that are incomplete or damaged. An index is complete if it has a position. If no
// index is complete, OpenNewest creates an empty one.
func OpenNewest(o Options) (*Index, error) {
	if o.Folder == "" {
		return Open(o) // in memory
	}

	numbers, err := generations(o.Folder)
	if err != nil {
		return nil, err
	}

	for i, n := range slices.Backward(numbers) {
		x, err := openComplete(o, n)
		if err != nil {
			return nil, err
		}

		if x == nil {
			continue
		}

		for _, older := range numbers[:i] {
			err = errors.Join(err, os.RemoveAll(subfolder(o.Folder, older)))
		}

		if err != nil {
			return nil, errors.Join(err, x.Close())
		}

		return x, nil
	}

	return OpenNext(o)
}

// OpenNext creates an empty index that OpenNewest opens as soon as it has a
// position.
func OpenNext(o Options) (*Index, error) {
	if o.Folder == "" {
		return Open(o)
	}

	numbers, err := generations(o.Folder)
	if err != nil {
		return nil, err
	}

	highest := 0
	if len(numbers) > 0 {
		highest = numbers[len(numbers)-1]
	}

	o.Folder = subfolder(o.Folder, highest+1)

	return Open(o)
}

// openComplete opens the generation with the number n. It returns nil if the generation cannot be used, and
// deletes it then. It keeps a folder with files of another program.
func openComplete(o Options, n int) (*Index, error) {
	o.Folder = subfolder(o.Folder, n)

	x, err := Open(o)
	switch {
	case err == nil && x.Position() != "":
		return x, nil
	case err == nil: // the build was interrupted
		return nil, x.Discard()
	case errors.Is(err, ErrDamaged) || errors.Is(err, ErrOutdated):
		if o.Log != nil {
			o.Log.Warn("search index cannot be used; building a new one", "folder", o.Folder, "error", err)
		}

		return nil, os.RemoveAll(o.Folder)
	case errors.Is(err, ErrForeign): // not ours to delete
		return nil, nil
	}

	return nil, err
}

// Discard implements search.Index. It closes the index without a checkpoint and deletes its folder.
func (x *Index) Discard() error {
	x.writing.Lock()
	x.changed = false // so that Close writes nothing
	x.writing.Unlock()

	err := x.Close()
	if x.options.Folder == "" {
		return err
	}

	return errors.Join(err, os.RemoveAll(x.options.Folder))
}

// generations returns the numbers of the subfolders, in ascending order.
func generations(folder string) ([]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() {
			numbers = append(numbers, n)
		}
	}

	slices.Sort(numbers)

	return numbers, nil
}

// subfolder returns the path of the generation with the number n.
func subfolder(folder string, n int) string { return filepath.Join(folder, strconv.Itoa(n)) }

// Package davfiles stores files on a WebDAV server (RFC 4918), such as Nextcloud or the
// dav module of Apache. It needs no library.
package davfiles

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
)

// parts is the folder of files that are being written. No key begins with a dot.
const parts = ".parts"

// Store implements files.Store and adapters.Pinger.
type Store struct {
	base   *url.URL
	client *http.Client
}

// Open opens a store for dav+http://HOST/FOLDER or dav+https://USER:PASSWORD@HOST/FOLDER.
// It is a bootstrap.FilesOpener.
func Open(_ context.Context, address string, _ adapters.Deps) (files.Store, error) {
	base, err := url.Parse(strings.TrimPrefix(address, "dav+"))
	if err != nil || base.Host == "" {
		return nil, errors.New("want dav+https://HOST/FOLDER")
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 20 * time.Second

	return &Store{base: base, client: &http.Client{Transport: transport}}, nil
}

var keys = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// check refuses keys that would be a path elsewhere on the server.
func check(key string) error {
	if len(key) > 200 || !keys.MatchString(key) {
		return fault.InvalidField("key", "is not a key of a file")
	}

	return nil
}

// Put implements files.Store: the file is written under another name and then renamed.
func (s *Store) Put(ctx context.Context, key string, write func(w io.Writer) error) error {
	if err := check(key); err != nil {
		return err
	}

	part := parts + "/" + rand.Text()
	if err := s.makeFolders(ctx, part, key); err != nil {
		return err
	}

	// The body of the request is what write writes into the pipe.
	body, pipe := io.Pipe()

	stored := make(chan error, 1)
	go func() {
		err := s.call(ctx, http.MethodPut, part, body, nil)
		_ = body.CloseWithError(errors.New("the server did not read the file")) // ends write
		stored <- err
	}()

	defer func() { _ = pipe.CloseWithError(io.ErrUnexpectedEOF) }() // after a panic of write

	err := write(pipe)
	_ = pipe.CloseWithError(err) // nil is the end of the file

	// Rename a complete file, and delete an incomplete one, even if ctx is cancelled.
	err = errors.Join(err, <-stored, ctx.Err())
	if err == nil {
		destination := *s.base.JoinPath(key)
		destination.User = nil
		header := http.Header{"Destination": {destination.String()}, "Overwrite": {"T"}}
		err = s.call(ctx, "MOVE", part, nil, header)
	}

	if err != nil {
		return errors.Join(err, s.Delete(context.WithoutCancel(ctx), part))
	}

	return nil
}

// makeFolders makes the folders of the names, the outermost first, as MKCOL wants it.
func (s *Store) makeFolders(ctx context.Context, names ...string) error {
	for _, name := range names {
		var folder string
		for _, segment := range strings.Split(path.Dir(name), "/") {
			folder = path.Join(folder, segment)
			err := s.call(ctx, "MKCOL", folder+"/", nil, nil)

			exists := answered(err, http.StatusMethodNotAllowed)
			if err != nil && !exists {
				return err
			}
		}
	}

	return nil
}

// Open implements files.Store.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, files.Info, error) {
	if err := errors.Join(check(key), ctx.Err()); err != nil {
		return nil, files.Info{}, err
	}

	// The caller may read after ctx is done.
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))

	stop := context.AfterFunc(ctx, cancel)
	defer stop()

	r, err := s.send(reading, http.MethodGet, key, nil, nil)
	if answered(err, http.StatusNotFound) || answered(err, http.StatusMethodNotAllowed) { // a folder
		err = files.ErrNotFound
	}

	if err != nil {
		cancel()
		return nil, files.Info{}, err
	}

	modified, err := http.ParseTime(r.Header.Get("Last-Modified"))
	if err != nil {
		cancel()
		return nil, files.Info{}, errors.Join(err, r.Body.Close())
	}

	return file{r.Body, cancel}, files.Info{Size: r.ContentLength, ModifiedAt: modified.UTC()}, nil
}

// file is the body of an answer.
type file struct {
	io.ReadCloser
	cancel func()
}

// Close implements io.Closer.
func (f file) Close() error { defer f.cancel(); return f.ReadCloser.Close() }

// Delete implements files.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if !strings.HasPrefix(key, parts+"/") {
		if err := check(key); err != nil {
			return err
		}
	}

	err := s.call(ctx, http.MethodDelete, key, nil, nil)
	if answered(err, http.StatusNotFound) {
		return nil
	}

	return err
}

// Ping implements adapters.Pinger.
func (s *Store) Ping(ctx context.Context) error { return s.makeFolders(ctx, parts+"/probe") }

// Close implements adapters.Closer.
func (s *Store) Close() error { s.client.CloseIdleConnections(); return nil }

// statusError is an answer that is no success.
type statusError int

// Error implements error.
func (e statusError) Error() string {
	return fmt.Sprintf("the file server answered %d %s", int(e), http.StatusText(int(e)))
}

// answered reports whether the server answered with the status.
func answered(err error, status statusError) bool {
	var got statusError
	return errors.As(err, &got) && got == status
}

// call makes a request whose answer has no content of interest.
func (s *Store) call(ctx context.Context, method, key string, body io.Reader, header http.Header) error {
	r, err := s.send(ctx, method, key, body, header)
	if err != nil {
		return err
	}

	return r.Body.Close()
}

// send sends a request. An answer that is no success is an error with its status.
func (s *Store) send(
	ctx context.Context, method, key string, body io.Reader, header http.Header,
) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(key).String(), body)
	if err != nil {
		return nil, err
	}

	for name, values := range header {
		r.Header[name] = values
	}

	answer, err := s.client.Do(r)
	if err == nil && answer.StatusCode >= 300 {
		err = errors.Join(statusError(answer.StatusCode), answer.Body.Close())
	}

	return answer, err
}

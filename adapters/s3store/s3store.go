// Package s3store stores files in a bucket of Amazon S3 or of a compatible server.
//
// A file is uploaded in parts of 8 MiB, of which one is in memory at a time. When the upload is
// complete, it replaces the object of its key. A failed upload is aborted, but if the process is
// killed, an incomplete multipart upload remains, which costs storage and contains users' data.
// Give the bucket a lifecycle rule that aborts incomplete multipart uploads after a day, and do
// not enable versioning: the store deletes only the current version.
//
// The credentials need the permissions s3:GetObject, s3:PutObject, s3:DeleteObject,
// s3:AbortMultipartUpload and s3:ListBucket. Without s3:ListBucket, S3 answers the
// request for a missing object with 403 instead of 404.
package s3store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/locumhq/locum/core/files"
)

const (
	// partSize is the size of a part, which S3 limits to 10,000 of at least 5 MiB.
	partSize = 8 << 20
	// callTimeout bounds a call with its retries.
	callTimeout = 30 * time.Second
	// completeTimeout bounds the completion of an upload, for which S3 joins its parts.
	completeTimeout = 2 * time.Minute
	// readTimeout bounds the wait for the next bytes of a file.
	readTimeout = 30 * time.Second
)

// Store implements files.Store.
type Store struct {
	client *minio.Core
	bucket string
	prefix string // of all keys: empty or with a slash at the end
}

// Put implements files.Store.
func (s *Store) Put(ctx context.Context, key string, write func(w io.Writer) error) (err error) {
	if err := errors.Join(files.CheckKey(key), ctx.Err()); err != nil {
		return err
	}

	u := &upload{ctx: ctx, store: s, key: s.prefix + key}

	isComplete := false
	defer func() {
		if !isComplete { // after an error, and after a panic of write
			err = errors.Join(err, u.abort())
		}
	}()

	// u.err is returned even if write ignores the error of its Write.
	if err := write(u); err != nil || u.err != nil {
		return errors.Join(err, u.err)
	}

	if err := u.complete(); err != nil {
		return err
	}

	isComplete = true

	return nil
}

// upload is a file that is being written. It holds at most a part in memory.
type upload struct {
	ctx   context.Context //nolint:containedctx // an upload lives as long as the call of Put
	store *Store
	key   string
	part  bytes.Buffer         // the part that is being filled
	id    string               // of the multipart upload, empty before the first part was sent
	sent  []minio.CompletePart // the parts that were sent
	err   error                // error of the first request that failed
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if u.err != nil {
			return n, u.err
		}

		// A full part is sent only when there is more to write, so that a file of one part needs no
		// multipart upload.
		if u.part.Len() == partSize {
			u.err = u.sendPart()
			if u.err != nil {
				return n, u.err
			}
		}

		fitting := min(len(p), partSize-u.part.Len())
		u.part.Write(p[:fitting])

		n += fitting
		p = p[fitting:]
	}

	return n, nil
}

// sendPart sends the part in memory. The first part creates the upload.
func (u *upload) sendPart() error {
	s := u.store
	if u.id == "" {
		err := s.callWithTimeout(u.ctx, callTimeout, func(ctx context.Context) (err error) {
			u.id, err = s.client.NewMultipartUpload(ctx, s.bucket, u.key, minio.PutObjectOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}

	return s.callWithTimeout(u.ctx, callTimeout, func(ctx context.Context) error {
		number := len(u.sent) + 1

		part, err := s.client.PutObjectPart(ctx, s.bucket, u.key, u.id, number,
			bytes.NewReader(u.part.Bytes()), int64(u.part.Len()), minio.PutObjectPartOptions{})
		if err != nil {
			return err
		}

		u.sent = append(u.sent, minio.CompletePart{PartNumber: number, ETag: part.ETag})
		u.part.Reset()

		return nil
	})
}

// complete sends the rest of the file and makes it visible. A file of at most one part takes a single
// request.
func (u *upload) complete() error {
	s := u.store
	if u.id == "" {
		return s.callWithTimeout(u.ctx, callTimeout, func(ctx context.Context) error {
			_, err := s.client.Client.PutObject(ctx, s.bucket, u.key, bytes.NewReader(u.part.Bytes()),
				int64(u.part.Len()), minio.PutObjectOptions{PartSize: partSize})
			return err
		})
	}

	if err := u.sendPart(); err != nil {
		return err
	}

	return s.callWithTimeout(u.ctx, completeTimeout, func(ctx context.Context) error {
		_, err := s.client.CompleteMultipartUpload(ctx, s.bucket, u.key, u.id, u.sent, minio.PutObjectOptions{})
		return err
	})
}

// abort deletes the parts that were sent, even if the caller's context has ended.
func (u *upload) abort() error {
	if u.id == "" {
		return nil
	}

	return u.store.callWithTimeout(context.WithoutCancel(u.ctx), callTimeout, func(ctx context.Context) error {
		err := u.store.client.AbortMultipartUpload(ctx, u.store.bucket, u.key, u.id)
		if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
			return nil
		}

		return err
	})
}

// Open implements files.Store.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, files.Info, error) {
	if err := errors.Join(files.CheckKey(key), ctx.Err()); err != nil {
		return nil, files.Info{}, err
	}

	// The body may be read after ctx is done. Only the request ends with ctx, or after callTimeout.
	bodyCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &file{cancel: cancel, timeout: time.AfterFunc(callTimeout, cancel)}
	stopWatching := context.AfterFunc(ctx, cancel)

	body, info, _, err := s.client.GetObject(bodyCtx, s.bucket, s.prefix+key, minio.GetObjectOptions{})
	if !stopWatching() && err == nil { // ctx has ended
		err = errors.Join(ctx.Err(), body.Close())
	}

	if err != nil {
		cancel()
		f.timeout.Stop()

		if ctx.Err() != nil {
			return nil, files.Info{}, ctx.Err()
		}

		return nil, files.Info{}, explainError(err)
	}

	f.timeout.Stop()

	f.body = body

	return f, files.Info{Size: info.Size, ModifiedAt: info.LastModified.UTC()}, nil
}

// file is an object that is being read.
type file struct {
	body    io.ReadCloser
	cancel  context.CancelFunc
	timeout *time.Timer // cancels a read
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	f.timeout.Reset(readTimeout)
	defer f.timeout.Stop()

	n, err := f.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = explainError(err)
	}

	return n, err
}

// Close implements io.Closer.
func (f *file) Close() error {
	f.timeout.Stop()
	f.cancel()
	return f.body.Close()
}

// Delete implements files.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := errors.Join(files.CheckKey(key), ctx.Err()); err != nil {
		return err
	}

	err := s.callWithTimeout(ctx, callTimeout, func(ctx context.Context) error {
		return s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, files.ErrNotFound) { // some servers return this for a missing object
		return nil
	}

	return err
}

// Ping reports whether the bucket exists and the credentials give access to it.
func (s *Store) Ping(ctx context.Context) error {
	return s.callWithTimeout(ctx, callTimeout, func(ctx context.Context) error {
		exists, err := s.client.BucketExists(ctx, s.bucket)
		if err == nil && !exists {
			err = minio.ErrorResponse{Code: minio.NoSuchBucket, BucketName: s.bucket}
		}

		return err
	})
}

// callWithTimeout executes a request with a timeout and explains its error. If the caller's
// context has ended, it returns the error of the context.
func (s *Store) callWithTimeout(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	err := do(bounded)

	if ctx.Err() != nil {
		return ctx.Err()
	}

	return explainError(err)
}

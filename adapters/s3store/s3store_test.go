package s3store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
)

// openTest opens a store below a prefix of its own.
func openTest(t testing.TB, url string) *Store {
	t.Helper()

	s, err := open(
		strings.Replace(url, "?", "/"+rand.Text()+"?", 1),
		credentials.NewStaticV4(services.S3AccessKey, services.S3SecretKey, ""),
	)
	require.NoError(t, err)

	return s
}

// write returns a function that writes the text of a file.
func write(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

func TestS3_Conformance(t *testing.T) {
	t.Parallel()

	shared := kit.OwnS3(t)
	conformance.Files(
		t,
		func(t testing.TB) files.Store { return openTest(t, shared.URL) },
		func(t testing.TB) (files.Store, func(), func()) {
			server := kit.OwnS3(t)
			return openTest(t, server.URL), server.Kill, func() { require.NoError(t, server.Start()) }
		},
	)
}

// TestS3_ServerHangs_FailsWithContext checks that each call ends with its context while the
// server accepts connections and does not reply.
func TestS3_ServerHangs_FailsWithContext(t *testing.T) {
	t.Parallel()

	server := kit.OwnS3(t)
	store := openTest(t, server.URL)
	require.NoError(t, store.Put(t.Context(), "one", write("x")))
	server.Pause()
	t.Cleanup(server.Resume)

	for name, call := range map[string]func(context.Context) error{
		"Ping": store.Ping,
		"Open": func(ctx context.Context) error {
			_, _, err := store.Open(ctx, "one")
			return err
		},
		"Put":    func(ctx context.Context) error { return store.Put(ctx, "one", write("y")) },
		"Delete": func(ctx context.Context) error { return store.Delete(ctx, "one") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		startedAt := time.Now()

		require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
		require.Less(t, time.Since(startedAt), 10*time.Second, name)
		cancel()
	}
}

// TestS3_FailedUpload_LeavesNothing checks that an upload of several parts is aborted after an
// error, a cancelled context or a panic. The parts of an unfinished upload are invisible and
// cost money.
func TestS3_FailedUpload_LeavesNothing(t *testing.T) {
	t.Parallel()

	store := openTest(t, kit.OwnS3(t).URL)
	countUnfinishedUploads := func() (n int) {
		for upload := range store.client.ListIncompleteUploads(t.Context(), store.bucket, store.prefix, true) {
			require.NoError(t, upload.Err)
			n++
		}

		return n
	}

	errOfWriter := errors.New("boom")
	threeParts := write(strings.Repeat("x", 2*partSize+1))

	err := store.Put(t.Context(), "one", func(w io.Writer) error {
		err := threeParts(w)

		require.Equal(t, 1, countUnfinishedUploads(), "the upload has begun")

		return errors.Join(errOfWriter, err)
	})

	require.ErrorIs(t, err, errOfWriter)
	require.Zero(t, countUnfinishedUploads())

	ctx, cancel := context.WithCancel(t.Context())
	err = store.Put(ctx, "one", func(w io.Writer) error {
		defer cancel()
		return threeParts(w)
	})

	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, countUnfinishedUploads())

	require.Panics(t, func() {
		_ = store.Put(t.Context(), "one", func(w io.Writer) error {
			_ = threeParts(w)

			panic(errOfWriter)
		})
	})

	require.Zero(t, countUnfinishedUploads())

	_, _, err = store.Open(t.Context(), "one")
	require.ErrorIs(t, err, files.ErrNotFound)
}

// TestS3_WrongSetup_SaysWhatToDo checks that errors of the configuration name the setting to
// correct, and never the secret.
func TestS3_WrongSetup_SaysWhatToDo(t *testing.T) {
	t.Parallel()

	url := kit.OwnS3(t).URL
	for name, test := range map[string]struct{ url, accessKey, secretKey, wantAdvice string }{
		"missing bucket": {
			url:        strings.Replace(url, "s3://", "s3://no-", 1),
			accessKey:  services.S3AccessKey,
			secretKey:  services.S3SecretKey,
			wantAdvice: "create the bucket",
		},
		"unknown access key": {
			url:        url,
			accessKey:  "nobody",
			secretKey:  services.S3SecretKey,
			wantAdvice: "AWS_ACCESS_KEY_ID",
		},
		"wrong secret key": {
			url:        url,
			accessKey:  services.S3AccessKey,
			secretKey:  "wrong-secret",
			wantAdvice: "AWS_SECRET_ACCESS_KEY",
		},
	} {
		store, err := open(test.url, credentials.NewStaticV4(test.accessKey, test.secretKey, ""))
		require.NoError(t, err)

		err = store.Put(t.Context(), "one", write("x"))
		require.ErrorIs(t, err, fault.ErrUnavailable, name)
		require.ErrorContains(t, err, test.wantAdvice, name)
		require.NotContains(t, err.Error(), "wrong-secret")
		require.ErrorIs(t, store.Ping(t.Context()), fault.ErrUnavailable, name)
	}
}

// openWithResponses opens a store on a server that handles each request with the function.
func openWithResponses(t testing.TB, answer http.HandlerFunc) *Store {
	t.Helper()

	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)

	return openTest(t, "s3://bucket?endpoint="+server.URL)
}

// TestErrors_CodesOfS3_BecomeFaults checks the reason in the metrics, and the advice in the log,
// for each error code of S3. "XOwn" is an unknown code.
func TestErrors_CodesOfS3_BecomeFaults(t *testing.T) {
	t.Parallel()

	for code, test := range map[string]struct {
		status                 int
		wantReason, wantAdvice string
	}{
		"NoSuchBucket":          {status: 404, wantReason: "files: no such bucket", wantAdvice: "correct files.url"},
		"AccessDenied":          {status: 403, wantReason: "files: access denied", wantAdvice: "access to the bucket"},
		"InvalidAccessKeyId":    {status: 403, wantReason: "files: access denied", wantAdvice: "AWS_ACCESS_KEY_ID"},
		"SignatureDoesNotMatch": {status: 403, wantReason: "files: access denied", wantAdvice: "AWS_SECRET_ACCESS_KEY"},
		"InvalidToken":          {status: 400, wantReason: "files: access denied", wantAdvice: "AWS_SESSION_TOKEN"},
		"RequestTimeTooSkewed":  {status: 403, wantReason: "files: clock skew", wantAdvice: "set the clock"},
		"PermanentRedirect":     {status: 301, wantReason: "files: wrong region", wantAdvice: "region="},
		"XOwn":                  {status: 400, wantReason: "files: request refused", wantAdvice: "check files.url"},
		"SlowDown":              {status: 503, wantReason: "files: server unreachable"},
		"InternalError":         {status: 500, wantReason: "files: server unreachable"},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()

			store := openWithResponses(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)

				_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>m</Message></Error>`, code)
			})

			_, _, err := store.Open(t.Context(), "one")
			require.ErrorIs(t, err, fault.ErrUnavailable)
			require.Equal(t, test.wantReason, fault.Of(err).Reason)
			require.ErrorContains(t, err, test.wantAdvice)
			require.ErrorIs(t, store.Put(t.Context(), "one", write("x")), fault.ErrUnavailable)
			require.ErrorIs(t, store.Delete(t.Context(), "one"), fault.ErrUnavailable)
		})
	}
}

func TestErrors_MissingFile_IsNotFound(t *testing.T) {
	t.Parallel()

	store := openWithResponses(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)

		_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`)
	})

	_, _, err := store.Open(t.Context(), "one")
	require.ErrorIs(t, err, files.ErrNotFound)
	require.NoError(t, store.Delete(t.Context(), "one"))
}

// TestPut_ServerRecovers_IsRetried checks that a 503 of the server is retried within the call.
func TestPut_ServerRecovers_IsRetried(t *testing.T) {
	t.Parallel()

	calls := 0
	store := openWithResponses(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)

		calls++
		if calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	require.NoError(t, store.Put(t.Context(), "one", write("x")))
	require.Equal(t, 3, calls)
}

// TestRead_ConnectionBreaks_IsAnError checks that a file whose transfer breaks off is not
// mistaken for a shorter file.
func TestRead_ConnectionBreaks_IsAnError(t *testing.T) {
	t.Parallel()

	store := openWithResponses(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"x"`)

		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()

		panic(http.ErrAbortHandler)
	})

	f, info, err := store.Open(t.Context(), "one")
	require.NoError(t, err)
	require.EqualValues(t, 1000, info.Size)

	_, err = io.ReadAll(f)
	require.Error(t, err)
	require.NoError(t, f.Close())
}

func TestServerUnreachable_FailsInTime(t *testing.T) {
	t.Parallel()

	store := openTest(t, "s3://bucket?endpoint=http://127.0.0.1:1") // where no server listens
	startedAt := time.Now()
	err := store.Put(t.Context(), "one", write("x"))
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.Less(t, time.Since(startedAt), callTimeout)
	require.ErrorIs(t, store.Ping(t.Context()), fault.ErrUnavailable)
}

// TestParse_URLs checks the URLs that are accepted, and that others are refused with what is
// expected. Credentials belong into the environment, and http is for servers on this machine
// only.
func TestParse_URLs(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]address{
		"s3://bucket?region=eu-west-2": {
			bucket: "bucket",
			host:   "s3.amazonaws.com",
			region: "eu-west-2",
			secure: true,
		},
		"s3://my.bucket-1/a/b/?region=x&endpoint=https://minio.example.org:9000/": {
			bucket: "my.bucket-1",
			prefix: "a/b/",
			host:   "minio.example.org:9000",
			region: "x",
			secure: true,
		},
		"s3://bucket?region=x&endpoint=http://127.0.0.1:9000&path_style=true": {
			bucket: "bucket",
			host:   "127.0.0.1:9000",
			region: "x",
			lookup: minio.BucketLookupPath,
		},
		"s3://bucket?region=x&endpoint=http://localhost&path_style=false": {
			bucket: "bucket",
			host:   "localhost",
			region: "x",
			lookup: minio.BucketLookupDNS,
		},
		"s3://bucket?region=x&endpoint=http://[::1]:9000":               {bucket: "bucket", host: "[::1]:9000", region: "x"},
		"s3://bucket?region=x&endpoint=http://minio:9000&insecure=true": {bucket: "bucket", host: "minio:9000", region: "x"},
	} {
		got, err := parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}

	for in, want := range map[string]string{
		"s3:":                                    "want s3://BUCKET",
		"s3://":                                  "want s3://BUCKET",
		"s3://B":                                 "want s3://BUCKET",
		"s3://bucket:80":                         "want s3://BUCKET",
		"s3://key:hunter2@bucket":                "AWS_ACCESS_KEY_ID",
		"s3://key@bucket":                        "AWS_ACCESS_KEY_ID",
		"s3://bucket/a b":                        "want a prefix",
		"s3://bucket/../x":                       "want a prefix",
		"s3://bucket?secret_key=hunter2":         "secret_key: there is no such option",
		"s3://bucket?region=a&region=b":          "region: want it once",
		"s3://bucket?endpoint=minio:9000":        "endpoint: want https://HOST:PORT",
		"s3://bucket?endpoint=ftp://minio":       "endpoint: want https://HOST:PORT",
		"s3://bucket?endpoint=https://minio/x":   "endpoint: want https://HOST:PORT",
		"s3://bucket?endpoint=https://u:p@minio": "endpoint: want no credentials",
		"s3://bucket?endpoint=http://minio:9000": "endpoint: want https",
		"s3://bucket?endpoint=http://10.0.0.1":   "insecure=true",
		"s3://bucket?path_style=perhaps":         "path_style: want true or false",
		"s3://bucket?insecure=perhaps":           "insecure: want true or false",
		"s3://bucket?ca=/nonexistent/ca.pem":     "ca: open /nonexistent/ca.pem",
		"s3://bucket?ca=s3store.go":              "ca: want a file of certificates",
	} {
		_, err := parse(in)
		require.ErrorContains(t, err, want, in)
		require.NotContains(t, err.Error(), "hunter2", in)
	}

	_, err := Open("s3://key:hunter2@bucket")
	require.Error(t, err)
}

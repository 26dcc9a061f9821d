package s3store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
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

// openTest opens a store with the URL s3://BUCKET?OPTIONS and the credentials of the test servers. It adds
// a random prefix to the bucket, so that the stores of different tests have different files.
func openTest(t testing.TB, url string) *Store {
	t.Helper()

	urlWithPrefix := strings.Replace(url, "?", "/"+rand.Text()+"?", 1)
	store, err := open(urlWithPrefix, credentials.NewStaticV4(services.S3AccessKey, services.S3SecretKey, noSessionToken))
	require.NoError(t, err)

	return store
}

// noSessionToken is for permanent credentials. Only temporary ones have a session token.
const noSessionToken = ""

// write returns an argument of Store.Put, a function that writes the content of a file. It writes the text.
func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// TestS3_Conformance runs the suite for file stores. kit.OwnS3 starts an S3 server for a test.
func TestS3_Conformance(t *testing.T) {
	t.Parallel()

	shared := kit.OwnS3(t)
	openShared := func(t testing.TB) files.Store { return openTest(t, shared.URL) }

	// openOwn returns a store with a server of its own, which the suite can stop and start.
	openOwn := func(t testing.TB) (store files.Store, stop, start func()) {
		server := kit.OwnS3(t)
		return openTest(t, server.URL), server.Kill, func() { require.NoError(t, server.Start()) }
	}

	conformance.Files(t, openShared, openOwn)
}

// TestS3_ServerHangs_FailsWithContext checks calls to a server that accepts connections and does
// not reply. Each call ends when its context ends.
func TestS3_ServerHangs_FailsWithContext(t *testing.T) {
	t.Parallel()

	// Store a file, and let the server hang.
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
		const deadline = 300 * time.Millisecond
		const maxDuration = 10 * time.Second // for busy machines; without the deadline, calls take longer
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		startedAt := time.Now()

		require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
		require.Less(t, time.Since(startedAt), maxDuration, "%s does not end with its context", name)
		cancel()
	}
}

// TestS3_FailedUpload_LeavesNothing checks that an upload of several parts is aborted if the
// function that writes the file returns an error, cancels the context or panics. The parts of an
// upload that is neither completed nor aborted stay on the server: no list of files shows them,
// but they cost money.
func TestS3_FailedUpload_LeavesNothing(t *testing.T) {
	t.Parallel()

	store := openTest(t, kit.OwnS3(t).URL)
	countUnfinishedUploads := func() (uploads int) {
		const recursive = true // also below folders

		for upload := range store.client.ListIncompleteUploads(t.Context(), store.bucket, store.prefix, recursive) {
			require.NoError(t, upload.Err)
			uploads++
		}

		return uploads
	}

	errOfWriter := errors.New("boom")
	threeParts := write(strings.Repeat("x", 2*partSize+1)) // two whole parts, and a byte in the third

	t.Run("the writer returns an error", func(t *testing.T) {
		err := store.Put(t.Context(), "one", func(w io.Writer) error {
			err := threeParts(w)

			require.Equal(t, 1, countUnfinishedUploads(), "the upload has begun")

			return errors.Join(errOfWriter, err)
		})

		require.ErrorIs(t, err, errOfWriter)
		require.Zero(t, countUnfinishedUploads())
	})

	t.Run("the context is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := store.Put(ctx, "one", func(w io.Writer) error {
			defer cancel()
			return threeParts(w)
		})

		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, countUnfinishedUploads())
	})

	t.Run("the writer panics", func(t *testing.T) {
		require.Panics(t, func() {
			_ = store.Put(t.Context(), "one", func(w io.Writer) error {
				_ = threeParts(w)

				panic(errOfWriter)
			})
		})

		require.Zero(t, countUnfinishedUploads())
	})

	// None of the three uploads has stored a file.
	_, _, err := store.Open(t.Context(), "one")
	require.ErrorIs(t, err, files.ErrNotFound)
}

// TestS3_WrongSetup_SaysWhatToDo checks that the error for a wrong configuration names the
// setting to correct, and does not contain the secret key.
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
		store, err := open(test.url, credentials.NewStaticV4(test.accessKey, test.secretKey, noSessionToken))
		require.NoError(t, err, name)

		err = store.Put(t.Context(), "one", write("x"))
		require.ErrorIs(t, err, fault.ErrUnavailable, name)
		require.ErrorContains(t, err, test.wantAdvice, name)
		require.NotContains(t, err.Error(), "wrong-secret", name)
		require.ErrorIs(t, store.Ping(t.Context()), fault.ErrUnavailable, name)
	}
}

// openWithResponses opens a store on a server that handles each request with the function.
func openWithResponses(t testing.TB, handle http.HandlerFunc) *Store {
	t.Helper()

	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)

	return openTest(t, "s3://bucket?endpoint="+server.URL)
}

// TestErrors_CodesOfS3_BecomeFaults checks the error for each error code of an S3 server. All are reported
// as unavailable. The reason of the error appears in the metrics, and its text, with advice for the
// operator, in the log. "XOwn" is a code that the store does not know.
func TestErrors_CodesOfS3_BecomeFaults(t *testing.T) {
	t.Parallel()

	for code, test := range map[string]struct {
		status     int // of the response with the code
		wantReason string
		wantAdvice string // a part of the error, empty if there is nothing that an operator can do
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

// TestErrors_MissingFile_IsNotFound checks that the S3 error NoSuchKey becomes files.ErrNotFound,
// and that deleting a file that does not exist is no error.
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

// TestPut_ServerRecovers_IsRetried checks that a call repeats its request if the server responds
// with 503. The server of the test does so twice.
func TestPut_ServerRecovers_IsRetried(t *testing.T) {
	t.Parallel()

	const successfulRequest = 3

	requests := 0
	store := openWithResponses(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)

		requests++
		if requests < successfulRequest {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	require.NoError(t, store.Put(t.Context(), "one", write("x")))
	require.Equal(t, successfulRequest, requests)
}

// TestRead_ConnectionBreaks_IsAnError checks that reading a file fails if the connection breaks
// before its end. Otherwise callers would take the beginning for the whole file.
func TestRead_ConnectionBreaks_IsAnError(t *testing.T) {
	t.Parallel()

	// The server announces a file of 1,000 bytes, sends 4 of them, and closes the connection.
	const size = 1000

	store := openWithResponses(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"x"`)

		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()

		panic(http.ErrAbortHandler) // closes the connection
	})

	file, info, err := store.Open(t.Context(), "one")
	require.NoError(t, err)
	require.EqualValues(t, size, info.Size)

	_, err = io.ReadAll(file)
	require.Error(t, err)
	require.NoError(t, file.Close())
}

// TestServerUnreachable_FailsInTime checks that calls fail within callTimeout if no server listens
// at the address.
func TestServerUnreachable_FailsInTime(t *testing.T) {
	t.Parallel()

	store := openTest(t, "s3://bucket?endpoint=http://127.0.0.1:1") // where no server listens

	startedAt := time.Now()
	err := store.Put(t.Context(), "one", write("x"))
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.Less(t, time.Since(startedAt), callTimeout)
	require.ErrorIs(t, store.Ping(t.Context()), fault.ErrUnavailable)
}

// TestParse_ValidURL_IsAddress checks which URLs of stores are accepted, and the address of the bucket that
// a URL contains. Without the option insecure, http is accepted for servers on this machine only.
func TestParse_ValidURL_IsAddress(t *testing.T) {
	t.Parallel()

	for url, want := range map[string]address{
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
		parsed, err := parse(url)
		require.NoError(t, err, url)
		require.Equal(t, want, parsed, url)
	}
}

// TestParse_InvalidURL_SaysWhatIsExpected checks a part of the error for each invalid URL. A URL cannot
// contain credentials, which belong into the environment, and the error does not repeat them: hunter2 is
// the secret.
func TestParse_InvalidURL_SaysWhatIsExpected(t *testing.T) {
	t.Parallel()

	for url, want := range map[string]string{
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
		_, err := parse(url)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "hunter2", url)
	}

	// Open parses the URL, too.
	_, err := Open("s3://key:hunter2@bucket")
	require.Error(t, err)
}

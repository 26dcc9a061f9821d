package fiberhttp

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDownload_GETAndHEAD_HaveHeadersAndAreClosed checks that the response of a download has its
// length and file name, for HEAD as well as for GET. In both cases the server closes the body that the
// operation returns, although a response to HEAD does not contain it.
func TestDownload_GETAndHEAD_HaveHeadersAndAreClosed(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	isClosed := func() bool { return server.openDownloads.Load() == 0 }

	for _, test := range []struct {
		method        string
		wantBodyBytes int
	}{
		{method: "GET", wantBodyBytes: downloadBytes},
		{method: "HEAD", wantBodyBytes: 0},
	} {
		response, body := server.send(t, test.method, "/test/download", http.NoBody)
		require.Len(t, body, test.wantBodyBytes, test.method)
		require.EqualValues(t, downloadBytes, response.ContentLength, test.method)
		require.Equal(t, `attachment; filename="t.csv"`, response.Header.Get("Content-Disposition"), test.method)
		require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"), test.method)
		require.Eventually(t, isClosed, 5*time.Second, time.Millisecond, test.method)
	}
}

// TestDeadlineReader_Read_RenewsWriteTimeout checks that the write timeout begins anew with each
// chunk of a download: a slow client may take longer than writeTimeout for the whole. The server reads
// each chunk by a deadlineReader before it writes the chunk to the connection.
func TestDeadlineReader_Read_RenewsWriteTimeout(t *testing.T) {
	t.Parallel()

	serverConn, clientConn := net.Pipe()
	defer func() { _ = serverConn.Close() }()

	// The deadline of the chunk before has passed.
	timedOut := time.Now().Add(-time.Second)
	require.NoError(t, serverConn.SetWriteDeadline(timedOut))

	// Read the next chunk, which sets a new deadline, and write it.
	const content = "more"

	chunk := make([]byte, len(content))
	reader := deadlineReader{ReadCloser: io.NopCloser(strings.NewReader(content)), conn: serverConn}
	_, err := reader.Read(chunk)
	require.NoError(t, err)

	go func() { _, _ = serverConn.Write(chunk) }()

	// The client receives the chunk.
	received := make([]byte, len(content))
	_, err = io.ReadFull(clientConn, received)
	require.NoError(t, err, "the write timed out")
	require.Equal(t, content, string(received))
}

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
// length and file name, and that the operation's body is closed also if it is not sent.
func TestDownload_GETAndHEAD_HaveHeadersAndAreClosed(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for _, test := range []struct {
		method    string
		bodyBytes int
	}{
		{method: "GET", bodyBytes: downloadBytes},
		{method: "HEAD", bodyBytes: 0},
	} {
		response, body := server.send(t, test.method, "/test/download", http.NoBody)
		require.Len(t, body, test.bodyBytes)
		require.EqualValues(t, downloadBytes, response.ContentLength)
		require.Equal(t, `attachment; filename="t.csv"`, response.Header.Get("Content-Disposition"))
		require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		require.Eventually(t, func() bool { return server.openDownloads.Load() == 0 }, 5*time.Second,
			time.Millisecond, test.method)
	}
}

// TestDeadlineReader_Read_RenewsWriteTimeout checks that the write timeout begins anew with each
// chunk of a download: a slow client may take longer than writeTimeout for the whole.
func TestDeadlineReader_Read_RenewsWriteTimeout(t *testing.T) {
	t.Parallel()

	serverConn, clientConn := net.Pipe()
	defer func() { _ = serverConn.Close() }()

	timedOut := time.Now().Add(-time.Second)
	require.NoError(t, serverConn.SetWriteDeadline(timedOut))

	reader := deadlineReader{ReadCloser: io.NopCloser(strings.NewReader("more")), conn: serverConn}
	_, err := reader.Read(make([]byte, 4))
	require.NoError(t, err)

	go func() { _, _ = serverConn.Write([]byte("more")) }()

	received := make([]byte, 4)
	_, err = io.ReadFull(clientConn, received)
	require.NoError(t, err, "the write did not time out")
}

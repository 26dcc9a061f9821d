package s3store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
)

// adviceByCode explains how to correct the errors that S3 returns for a wrong configuration, by
// code.
var adviceByCode = map[string]struct{ reason, text string }{
	minio.NoSuchBucket: {"files: no such bucket", "create the bucket, or correct files.url"},
	minio.AccessDenied: {
		"files: access denied",
		"give the credentials access to the bucket; without AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY those of the machine are used",
	},
	"Forbidden":             {"files: access denied", "give the credentials access to the bucket"},
	"InvalidAccessKeyId":    {"files: access denied", "correct AWS_ACCESS_KEY_ID"},
	"SignatureDoesNotMatch": {"files: access denied", "correct AWS_SECRET_ACCESS_KEY"},
	"InvalidToken":          {"files: access denied", "correct AWS_SESSION_TOKEN"},
	"ExpiredToken":          {"files: access denied", "renew AWS_SESSION_TOKEN"},
	"RequestTimeTooSkewed": {
		"files: clock skew",
		"set the clock of this machine, which differs from that of the server by more than 15 minutes",
	},
	"RequestExpired":               {"files: clock skew", "set the clock of this machine"},
	"AuthorizationHeaderMalformed": {"files: wrong region", "correct region= in files.url"},
	"PermanentRedirect":            {"files: wrong region", "correct region= or endpoint= in files.url"},
}

// explainError returns files.ErrNotFound for a missing object. All other errors become an
// Unavailable fault with the cause, because retries succeed once the server or the
// configuration is corrected.
func explainError(err error) error {
	if err == nil {
		return nil
	}

	response := minio.ToErrorResponse(err)
	if response.Code == minio.NoSuchKey {
		return files.ErrNotFound
	}

	if advice, ok := adviceByCode[response.Code]; ok {
		return fault.ErrUnavailable.WithReason(advice.reason).WithCause(fmt.Errorf("%w (%s): %s", err, response.Code, advice.text))
	}

	if isUnreachable(err, response) {
		return fault.ErrUnavailable.WithReason("files: server unreachable").WithCause(err)
	}

	if response.StatusCode >= http.StatusBadRequest { // servers have codes of their own
		return fault.ErrUnavailable.WithReason("files: request refused").
			WithCause(fmt.Errorf("%w (%s): check files.url, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", err, response.Code))
	}

	return err
}

// isUnreachable reports an error of the network or a temporary error of the server.
func isUnreachable(err error, response minio.ErrorResponse) bool {
	var network net.Error
	var call *url.Error
	isNetworkError := errors.As(err, &network) || errors.As(err, &call)
	hasEnded := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	isTemporary := response.StatusCode >= http.StatusInternalServerError ||
		response.StatusCode == http.StatusTooManyRequests ||
		response.StatusCode == http.StatusRequestTimeout

	return isNetworkError || hasEnded || isTemporary
}

package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3AccessKey and S3SecretKey are the credentials for the servers that S3 starts.
const S3AccessKey, S3SecretKey = "locum", "locum-test-secret"

// The S3 server is Versity S3 Gateway, which is built from its source.
const (
	gatewayModule  = "github.com/versity/versitygw/cmd/versitygw"
	gatewayVersion = "v1.8.0"
)

// S3 starts an S3 server with an empty bucket. Its URL names the bucket and the endpoint.
func S3() (*Server, error) {
	bin, err := buildGoProgram(gatewayModule, gatewayVersion)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}

	dir, err := dataDir("s3", nil)
	if err != nil {
		return nil, err
	}

	// The server stores metadata in the sidecar folder: by default it would use extended
	// attributes, which not all file systems support.
	data, sidecar := filepath.Join(dir, "data"), filepath.Join(dir, "sidecar")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(sidecar, 0o700)); err != nil {
		return nil, err
	}

	port, release, err := ReservePort()
	if err != nil {
		return nil, err
	}

	const bucket = "locum-test"
	address := fmt.Sprintf("127.0.0.1:%d", port)
	server := &Server{
		URL:     "s3://" + bucket + "?endpoint=http://" + address,
		Where:   bin + " in " + dir,
		name:    "s3",
		dir:     dir,
		quit:    syscall.SIGKILL,
		release: release,
		env:     []string{"ROOT_ACCESS_KEY_ID=" + S3AccessKey, "ROOT_SECRET_ACCESS_KEY=" + S3SecretKey},
		argv:    []string{bin, "--port", address, "--quiet", "posix", "--sidecar", sidecar, data},
	}

	const noSessionToken = ""

	client, err := minio.New(address, &minio.Options{
		Creds:      credentials.NewStaticV4(S3AccessKey, S3SecretKey, noSessionToken),
		Region:     "us-east-1",
		MaxRetries: 1, // Start repeats the ping
	})
	if err != nil {
		return nil, err
	}

	// The ping also creates the bucket, as soon as the server responds.
	server.ping = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		exists, err := client.BucketExists(ctx, bucket)
		if err == nil && !exists {
			err = client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{})
		}

		return err
	}

	return server, server.Start()
}

package s3store

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/locumhq/locum/core/files"
)

const (
	// maxAttempts is the number of attempts of a request, with pauses of at most 200 ms,
	// 400 ms, 800 ms and 1 s.
	maxAttempts = 5
	// dialTimeout bounds a connection attempt.
	dialTimeout = 3 * time.Second
	// answerTimeout bounds the wait for an answer.
	answerTimeout = 20 * time.Second
	// credentialsTimeout bounds a call for credentials of the machine.
	credentialsTimeout = 3 * time.Second
)

// Open returns a store in a bucket. It does not wait for a connection.
//
//	s3://BUCKET[/PREFIX][?OPTIONS]
//
//	endpoint=https://HOST[:PORT]   default: Amazon S3
//	region=REGION                  default: AWS_REGION, AWS_DEFAULT_REGION or us-east-1
//	path_style=true                the bucket in the path instead of the host name
//	ca=FILE                        certificates of a private authority
//	insecure=true                  permits an http endpoint that is not on this machine
//
// The credentials are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN,
// else those of the AWS credentials file, of a web identity or of the machine's role.
func Open(rawURL string) (*Store, error) {
	calls := &http.Client{Timeout: credentialsTimeout}

	return open(rawURL, credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: calls},
	}))
}

// open returns a store that uses the credentials.
func open(rawURL string, access *credentials.Credentials) (*Store, error) {
	a, err := parse(rawURL)
	if err != nil {
		return nil, err
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	transport.TLSHandshakeTimeout, transport.ResponseHeaderTimeout = dialTimeout, answerTimeout
	transport.MaxIdleConnsPerHost = 16

	// With compression, the sizes of responses would differ from those of the stored objects.
	transport.DisableCompression = true
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.ca}

	client, err := minio.New(a.host, &minio.Options{
		Creds:        access,
		Secure:       a.secure,
		Region:       a.region,
		BucketLookup: a.lookup,
		Transport:    transport,
		MaxRetries:   maxAttempts,
	})
	if err != nil {
		return nil, err
	}

	return &Store{client: &minio.Core{Client: client}, bucket: a.bucket, prefix: a.prefix}, nil
}

// address is a parsed URL.
type address struct {
	bucket string
	prefix string // empty or with a slash at the end
	host   string // of the endpoint
	region string
	secure bool                   // https
	lookup minio.BucketLookupType // whether the bucket is in the host name or in the path
	ca     *x509.CertPool         // nil for the authorities of the system
}

// bucketName matches names of buckets that are also valid host names.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// parse parses the URL of Open. Its errors name what is expected, and never credentials.
func parse(rawURL string) (a address, err error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return a, errors.New("want s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
	case u.User != nil:
		return a, errors.New("want no credentials in the URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case !bucketName.MatchString(u.Host):
		return a, errors.New("want s3://BUCKET, the name of a bucket: 3 to 63 lower-case letters, digits, hyphens and dots")
	}

	a.bucket = u.Host
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		if files.CheckKey(prefix) != nil {
			return a, errors.New("want a prefix of letters, digits, dots, underscores and hyphens, at most 200 bytes with its slashes")
		}

		a.prefix = prefix + "/"
	}

	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, errors.New("want options like ?endpoint=https://HOST&region=REGION")
	}

	return a, a.setOptions(query)
}

// setOptions sets the options of the query.
func (a *address) setOptions(query url.Values) error {
	a.region = cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")

	insecure := false
	for name, values := range query {
		if len(values) > 1 {
			return fmt.Errorf("%s: want it once", name)
		}

		var err error
		switch name {
		case "endpoint", "region": // read outside of the loop
		case "path_style":
			err = a.setPathStyle(values[0])
		case "insecure":
			insecure, err = parseBool(values[0])
		case "ca":
			err = a.setCA(values[0])
		default:
			err = errors.New("there is no such option; want endpoint, region, path_style, ca or insecure")
		}

		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}

	return a.setEndpoint(query.Get("endpoint"), insecure)
}

// setPathStyle sets whether the bucket is in the path or in the host name. By default, the
// client decides by the host.
func (a *address) setPathStyle(value string) error {
	isInPath, err := parseBool(value)

	a.lookup = minio.BucketLookupDNS
	if isInPath {
		a.lookup = minio.BucketLookupPath
	}

	return err
}

// setCA reads the certificates of a private authority.
func (a *address) setCA(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return err
	}

	a.ca = x509.NewCertPool()
	if !a.ca.AppendCertsFromPEM(pem) {
		return errors.New("want a file of certificates in PEM")
	}

	return nil
}

// setEndpoint sets the host. http is accepted for this machine only, unless insecure is set.
func (a *address) setEndpoint(endpoint string, insecure bool) error {
	u, err := url.Parse(cmp.Or(endpoint, "https://s3.amazonaws.com"))
	if err != nil {
		return errors.New("endpoint: want https://HOST:PORT")
	}

	isHTTP := u.Scheme == "http" || u.Scheme == "https"

	hasPath := u.Path != "" && u.Path != "/"
	switch {
	case !isHTTP || u.Hostname() == "" || hasPath || u.RawQuery != "" || u.Fragment != "":
		return errors.New("endpoint: want https://HOST:PORT")
	case u.User != nil:
		return errors.New("endpoint: want no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Scheme == "http" && !insecure && !isLoopback(u.Hostname()):
		return errors.New("endpoint: want https; over http, files cross the network unencrypted, which insecure=true permits")
	}

	a.host, a.secure = u.Host, u.Scheme == "https"

	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func parseBool(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		err = errors.New("want true or false")
	}

	return b, err
}

package redisurl

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// selected are the fields that a URL sets.
type selected struct {
	addrs                          []string
	db                             int
	user, password                 string
	tls, cluster                   bool
	master, prefix                 string
	sentinelUser, sentinelPassword string
}

// TestParse_Topologies checks the connections that a URL describes: a server, a cluster (several
// hosts, or the scheme redis-cluster), or the master of a Sentinel.
func TestParse_Topologies(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]selected{
		"redis://h":                        {addrs: []string{"h:6379"}},
		"redis://h/3":                      {addrs: []string{"h:6379"}, db: 3},
		"redis://h:1/":                     {addrs: []string{"h:1"}},
		"redis://[::1]:7/1":                {addrs: []string{"[::1]:7"}, db: 1},
		"redis://[::1]":                    {addrs: []string{"[::1]:6379"}},
		"redis://:p%40%2F%3F@h":            {addrs: []string{"h:6379"}, password: "p@/?"},
		"redis://u:p+q@h":                  {addrs: []string{"h:6379"}, user: "u", password: "p+q"},
		"redis://u:a@b@h":                  {addrs: []string{"h:6379"}, user: "u", password: "a@b"},
		"rediss://u:p@h:1":                 {addrs: []string{"h:1"}, user: "u", password: "p", tls: true},
		"redis://h?prefix=north":           {addrs: []string{"h:6379"}, prefix: "north"},
		"redis://a:1,b:2,c":                {addrs: []string{"a:1", "b:2", "c:6379"}, cluster: true},
		"redis://a:1,b:2/0":                {addrs: []string{"a:1", "b:2"}, cluster: true},
		"redis-cluster://a":                {addrs: []string{"a:6379"}, cluster: true},
		"rediss-cluster://u:p@a,[::1]:7":   {addrs: []string{"a:6379", "[::1]:7"}, user: "u", password: "p", cluster: true, tls: true},
		"rediss://a,b?prefix=south":        {addrs: []string{"a:6379", "b:6379"}, cluster: true, tls: true, prefix: "south"},
		"redis-sentinel://a?master_name=m": {addrs: []string{"a:26379"}, master: "m"},
		"redis-sentinel://u:p@a,b:1/2?master_name=m&sentinel_username=s&sentinel_password=w": {
			addrs:            []string{"a:26379", "b:1"},
			db:               2,
			user:             "u",
			password:         "p",
			master:           "m",
			sentinelUser:     "s",
			sentinelPassword: "w",
		},
		"rediss-sentinel://a/0?master_name=m": {addrs: []string{"a:26379"}, master: "m", tls: true},
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()

			options, err := Parse(in)
			require.NoError(t, err)

			if want.prefix == "" {
				want.prefix = "locum"
			}

			require.Equal(t, want, selected{
				addrs:            options.Addrs,
				db:               options.DB,
				user:             options.Username,
				password:         options.Password,
				tls:              options.TLSConfig != nil,
				cluster:          options.IsClusterMode,
				master:           options.MasterName,
				prefix:           options.Prefix,
				sentinelUser:     options.SentinelUsername,
				sentinelPassword: options.SentinelPassword,
			})

			client := options.Connect()
			if want.cluster {
				require.IsType(t, &goredis.ClusterClient{}, client)
			} else {
				require.IsType(t, &goredis.Client{}, client)
			}

			require.NoError(t, client.Close())
		})
	}
}

// TestParse_Options checks that the options in the query are set, and that calls end with their
// contexts.
func TestParse_Options(t *testing.T) {
	t.Parallel()

	options, err := Parse("redis://h?pool_size=5&dial_timeout=1s&read_timeout=2s&write_timeout=300ms&client_name=n")
	require.NoError(t, err)
	require.Equal(t, 5, options.PoolSize)
	require.Equal(t, time.Second, options.DialTimeout)
	require.Equal(t, 2*time.Second, options.ReadTimeout)
	require.Equal(t, 300*time.Millisecond, options.WriteTimeout)
	require.Equal(t, "n", options.ClientName)
	require.True(t, options.ContextTimeoutEnabled)

	options, err = Parse("rediss://h?skip_verify=true")
	require.NoError(t, err)
	require.True(t, options.TLSConfig.InsecureSkipVerify)
}

// TestParse_Invalid_NamesWhatIsExpectedWithoutSecrets checks that errors say what is expected
// and never contain the password, here "s3c…", wherever it is in an invalid URL. "%XX" is advice
// to escape its special characters.
func TestParse_Invalid_NamesWhatIsExpectedWithoutSecrets(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		"":                        "want the scheme redis",
		"h:1":                     "want the scheme redis",
		"http://h":                "want the scheme redis",
		"redis-x://h":             "want the scheme redis",
		"redis-://h":              "want the scheme redis",
		"redis://":                "not a Redis URL",
		"redis://a,,b":            "not a Redis URL",
		"redis://h:0":             "not a Redis URL",
		"redis://h:65536":         "not a Redis URL",
		"redis://h#x":             "not a Redis URL",
		"redis://%zz":             "not a Redis URL",
		"redis://h/x":             "number of a database",
		"redis://h/-1":            "number of a database",
		"redis://h/1/2":           "number of a database",
		"redis://a,b/1":           "a Redis Cluster has no database but 0",
		"redis-cluster://a/1":     "a Redis Cluster has no database but 0",
		"redis-sentinel://a":      "master_name",
		"redis://h?nonsense=1":    "nonsense: there is no such option",
		"redis://h?db=1":          "db: there is no such option",
		"redis://h?addr=b:1":      "addr: there is no such option",
		"redis://h?master_name=m": "master_name: is for redis-sentinel",
		"redis-cluster://h?sentinel_password=s3c":      "sentinel_password: is for redis-sentinel",
		"redis://h?pool_size=0":                        "pool_size: want a number",
		"redis://h?pool_size=1&pool_size=2":            "pool_size: want it once",
		"redis://h?read_timeout=5":                     "read_timeout: want a duration",
		"redis://h?skip_verify=true":                   "skip_verify: is for rediss",
		"rediss://h?skip_verify=perhaps":               "skip_verify: want true or false",
		"rediss://h?ca=/nonexistent/ca.pem":            "ca: open /nonexistent/ca.pem",
		"rediss://h?ca=redisurl.go":                    "ca: want a file of certificates",
		"redis://h?prefix=":                            "prefix: want 1 to 40",
		"redis://h?prefix=a{b}":                        "prefix: want 1 to 40",
		"redis://h?prefix=a:b":                         "prefix: want 1 to 40",
		"redis://:s3c/ret@h:6379/0":                    "%XX",
		"redis://u:s3c?ret@h:6379":                     "%XX",
		"redis://s3c?ret@h:6379":                       "%XX",
		"redis://u:s3c ret@h:6379":                     "%XX",
		"redis://u:s3c#ret@h":                          "%XX",
		"redis://u:s3c%zz@h":                           "%XX",
		"redis-cluster://u:s3c/ret@h:1,i:2":            "%XX",
		"redis-sentinel://u:s3c/ret@h:1?master_name=m": "%XX",
	} {
		_, err := Parse(in)
		require.ErrorContains(t, err, want, in)
		require.NotContains(t, err.Error(), "s3c", in)
	}
}

// TestConnect_TLS_VerifiesTheServerWithCA checks that the certificate of the server is verified,
// with the authorities of the system or those in the file of the option ca, unless skip_verify
// is set.
func TestConnect_TLS_VerifiesTheServerWithCA(t *testing.T) {
	t.Parallel()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)

	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			go func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() }()
		}
	}()

	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))

	dial := func(query string) error {
		o, err := Parse("rediss://" + l.Addr().String() + query)
		require.NoError(t, err)

		c, err := goredis.NewDialer(o.Simple())(context.Background(), "tcp", o.Addrs[0])
		if err == nil {
			err = c.Close()
		}

		return err
	}

	require.ErrorContains(t, dial(""), "certificate")
	require.NoError(t, dial("?skip_verify=true"))
	require.NoError(t, dial("?ca="+ca))
}

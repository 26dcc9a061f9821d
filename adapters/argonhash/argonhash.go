// Package argonhash hashes passwords with argon2id (RFC 9106) and the parameters that
// OWASP recommends: 19 MiB and 2 passes, about 25 ms.
package argonhash

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/locumhq/locum/core/fault"
)

// params are the cost parameters of argon2id. A salt is random text that is hashed together with a
// password, and a tag is the result. A verifier is the stored text with all of them, in PHC form:
// $argon2id$v=19$m=19456,t=2,p=1$SALT$TAG.
type params struct {
	memory, passes uint32 // memory in KiB
	threads        uint8
}

// currentParams are those of new hashes. Verify reports hashes with others as stale.
var currentParams = params{memory: 19456, passes: 2, threads: 1}

const (
	saltBytes = 16
	tagBytes  = 32
	// MaxPassword is the maximum length of a password in bytes.
	MaxPassword = 1024

	// maxWaiting bounds the callers that wait for a processor. A longer queue would not be
	// processed within maxWait.
	maxWaiting = 64
	maxWait    = 5 * time.Second
)

// Hasher implements identity.PasswordHasher.
type Hasher struct {
	running chan struct{} // holds a value for each hash that is computed
	waiting atomic.Int64
	maxWait time.Duration
}

// New returns a hasher that computes as many hashes concurrently as there are processors.
// A process needs only one.
func New() *Hasher {
	return &Hasher{running: make(chan struct{}, runtime.GOMAXPROCS(0)), maxWait: maxWait}
}

// Hash implements identity.PasswordHasher. It returns a verifier with a new salt.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if len(password) > MaxPassword {
		return "", fault.InvalidField("password", fmt.Sprintf("must be at most %d bytes", MaxPassword))
	}

	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails

	tag, err := h.derive(ctx, password, salt, currentParams, tagBytes)
	if err != nil {
		return "", err
	}

	parameters := fmt.Sprintf(parameterFormat, currentParams.memory, currentParams.passes, currentParams.threads)
	b64 := base64.RawStdEncoding

	return fmt.Sprintf("$argon2id$v=%d$%s$%s$%s", argon2.Version, parameters, b64.EncodeToString(salt), b64.EncodeToString(tag)), nil
}

// Verify implements identity.PasswordHasher. A verifier is stale if it was not made with the current
// parameters, so that the caller should replace it.
func (h *Hasher) Verify(ctx context.Context, verifier, password string) (ok, stale bool, err error) {
	if len(password) > MaxPassword {
		return false, false, nil // at once: no account can have such a password, so the time reveals nothing
	}

	// Without an account, the same work is done, so that the time does not reveal whether there is one.
	if verifier == "" {
		_, err := h.derive(ctx, password, make([]byte, saltBytes), currentParams, tagBytes)
		return false, false, err
	}

	p, salt, storedTag, err := parse(verifier)
	if err != nil {
		return false, false, fmt.Errorf("stored password verifier: %w", err)
	}

	tag, err := h.derive(ctx, password, salt, p, uint32(len(storedTag)))
	if err != nil {
		return false, false, err
	}

	ok = subtle.ConstantTimeCompare(tag, storedTag) == 1
	isCurrent := p == currentParams && len(storedTag) == tagBytes && len(salt) == saltBytes

	return ok, ok && !isCurrent, nil
}

// derive waits for a free processor and computes a tag of n bytes. More concurrent computations than
// processors would be slower in total, and each takes 19 MiB.
func (h *Hasher) derive(ctx context.Context, password string, salt []byte, p params, n uint32) ([]byte, error) {
	if err := h.acquire(ctx); err != nil {
		return nil, fault.ErrUnavailable.WithReason("password hasher: busy").WithRetryAfter(maxWait).WithCause(err)
	}

	defer func() { <-h.running }()

	return argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads, n), nil
}

// acquire waits until a processor is free, for at most maxWait and together with at most
// maxWaiting other callers.
func (h *Hasher) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	select {
	case h.running <- struct{}{}:
		return nil
	default:
	}

	if h.waiting.Add(1) > maxWaiting {
		h.waiting.Add(-1)
		return errors.New("too many passwords wait to be hashed")
	}

	defer h.waiting.Add(-1)

	select {
	case h.running <- struct{}{}:
		return nil
	case <-time.After(h.maxWait):
		return errors.New("waited too long to hash a password")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// parameterFormat is the format of the cost parameters in a PHC string.
const parameterFormat = "m=%d,t=%d,p=%d"

// parse parses a PHC string. It refuses parameters far above the current ones: a forged
// verifier in the database must not allocate gigabytes.
func parse(verifier string) (p params, salt, tag []byte, err error) {
	prefix := fmt.Sprintf("$argon2id$v=%d$", argon2.Version)
	rest, hasPrefix := strings.CutPrefix(verifier, prefix)
	fields := strings.Split(rest, "$")

	hasLineBreak := strings.ContainsAny(verifier, "\r\n") // which the base64 decoder would skip
	if !hasPrefix || hasLineBreak || len(fields) != 3 {
		return p, nil, nil, errors.New("not argon2id v=19 in PHC form")
	}

	parameters, saltText, tagText := fields[0], fields[1], fields[2]

	// The parameters are compared with their canonical text, because Sscanf also accepts others.
	_, err = fmt.Sscanf(parameters, parameterFormat, &p.memory, &p.passes, &p.threads)
	if err != nil || parameters != fmt.Sprintf(parameterFormat, p.memory, p.passes, p.threads) {
		return p, nil, nil, errors.New("malformed parameters")
	}

	const maxMemory = 256 << 10 // KiB
	isAllowed := p.memory >= 8 && p.memory <= maxMemory &&
		p.passes >= 1 && p.passes <= 16 &&
		p.threads >= 1 && p.threads <= 16

	if !isAllowed {
		return p, nil, nil, errors.New("parameters out of bounds")
	}

	strict := base64.RawStdEncoding.Strict()

	salt, err = strict.DecodeString(saltText)
	if err != nil || len(salt) < 8 || len(salt) > 64 {
		return p, nil, nil, errors.New("malformed salt")
	}

	tag, err = strict.DecodeString(tagText)
	if err != nil || len(tag) < 16 || len(tag) > 64 {
		return p, nil, nil, errors.New("malformed tag")
	}

	return p, salt, tag, nil
}

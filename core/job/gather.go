package job

import (
	"context"
	"time"
)

// gather turns many calls for one thing each into few calls for many: while
// one call is under way the others collect, and go together in the next.
type gather[I, O any] struct {
	asks chan ask[I, O]
	do   func(ctx context.Context, in []I) ([]O, error)
}

type ask[I, O any] struct {
	in  I
	out chan answer[O]
}

type answer[O any] struct {
	out O
	err error
}

// together is how many go in one call, and linger how long the first waits for
// the others.
const (
	together = 100
	linger   = time.Millisecond
)

// storePatience is how long the store may take to answer a call: a server that
// is gone without a word would be waited for by everybody.
const storePatience = 10 * time.Second

func newGather[I, O any](do func(ctx context.Context, in []I) ([]O, error)) *gather[I, O] {
	return &gather[I, O]{asks: make(chan ask[I, O]), do: do}
}

// run makes the calls until ctx ends.
func (g *gather[I, O]) run(ctx context.Context) {
	for {
		var asks []ask[I, O]
		select {
		case <-ctx.Done():
			return
		case a := <-g.asks:
			asks = append(asks, a)
		}
		full := time.NewTimer(linger)
	more:
		for len(asks) < together {
			select {
			case a := <-g.asks:
				asks = append(asks, a)
			case <-full.C:
				break more
			}
		}
		full.Stop()
		in := make([]I, len(asks))
		for i, a := range asks {
			in[i] = a.in
		}
		call, cancel := context.WithTimeout(ctx, storePatience)
		out, err := g.do(call, in)
		cancel()
		for i, a := range asks {
			if err != nil {
				a.out <- answer[O]{err: err}
			} else {
				a.out <- answer[O]{out: out[i]}
			}
		}
	}
}

// one asks for one thing.
func (g *gather[I, O]) one(ctx context.Context, in I) (O, error) {
	a := ask[I, O]{in: in, out: make(chan answer[O], 1)}
	select {
	case g.asks <- a:
		got := <-a.out
		return got.out, got.err
	case <-ctx.Done():
		var none O
		return none, ctx.Err()
	}
}

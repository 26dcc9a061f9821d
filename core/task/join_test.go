package task

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runs is a store that has the runs, or fails.
type runs struct {
	Store
	has []Run
	err error
}

func (s runs) Extend(_ context.Context, all []Run, _ time.Duration) (lost []Run, err error) {
	if s.err != nil {
		return nil, s.err
	}
	return slices.DeleteFunc(slices.Clone(all), func(r Run) bool { return slices.Contains(s.has, r) }), nil
}

func (s runs) Start(context.Context, []string, time.Duration) (out []Task, err error) {
	for _, r := range s.has {
		out = append(out, Task{ID: r.ID, Attempt: r.Attempt})
	}
	return out, s.err
}

func TestJoin_Extend(t *testing.T) {
	t.Parallel()
	a, b, c := Run{"a", 1}, Run{"b", 2}, Run{"c", 1}
	unavailable := errors.New("unavailable")
	for name, x := range map[string]struct {
		stores []Store
		lost   []Run
		err    error
	}{
		"each store has some":  {[]Store{runs{has: []Run{a}}, runs{has: []Run{b, c}}}, []Run{}, nil},
		"no store has one":     {[]Store{runs{has: []Run{a}}, runs{has: []Run{b}}}, []Run{c}, nil},
		"a store fails":        {[]Store{runs{err: unavailable}, runs{has: []Run{b}}}, []Run{}, unavailable},
		"the last store fails": {[]Store{runs{has: []Run{b}}, runs{err: unavailable}}, []Run{}, unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost, err := Join(x.stores...).Extend(t.Context(), []Run{a, b, c}, time.Second)
			require.ErrorIs(t, err, x.err)
			require.Equal(t, x.lost, lost)
		})
	}
}

func TestJoin_StartWithAFailedStore_ReturnsTheOthers(t *testing.T) {
	t.Parallel()
	unavailable := errors.New("unavailable")
	started, err := Join(runs{err: unavailable}, runs{has: []Run{{"b", 1}}}).Start(t.Context(), nil, time.Second)
	require.NoError(t, err)
	require.Len(t, started, 1)
	_, err = Join(runs{err: unavailable}, runs{err: unavailable}).Start(t.Context(), nil, time.Second)
	require.ErrorIs(t, err, unavailable)
	one := runs{}
	require.Equal(t, Store(one), Join(one))
}

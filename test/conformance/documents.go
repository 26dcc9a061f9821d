package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func documents(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	add := func(t *testing.T, s adapters.Storage, user string, kind jobseeker.DocumentType, chosen bool, now time.Time) jobseeker.Document {
		t.Helper()
		d := jobseeker.Document{
			ID: id(), UserID: user, Type: kind, Title: "Zoë's \"100%\"", FileName: "Lebenslauf für alle.pdf", IsDefault: chosen,
			Content:    jobseeker.Content{File: jobseeker.DocumentFile{ID: id(), Extension: ".pdf"}, Size: 3 << 30, Form: jobseeker.AsData, MediaType: "application/pdf"},
			UploadedAt: now, UpdatedAt: now.Add(time.Second),
		}
		require.NoError(t, s.Jobseeker.Documents.Add(ctx, d))
		return d
	}

	t.Run("gives back what was stored and saved", func(t *testing.T) {
		s, now := start(t)
		d := add(t, s, id(), jobseeker.CV, true, now)
		got, err := s.Jobseeker.Documents.Find(ctx, d.UserID, d.ID)
		require.NoError(t, err)
		require.Equal(t, d, got)
		d.Title, d.FileName, d.IsDefault, d.UpdatedAt = "T", "", false, now.Add(time.Hour)
		d.Content = jobseeker.Content{File: jobseeker.DocumentFile{ID: id(), Extension: ".txt"}, Size: 1, Form: jobseeker.AsText, MediaType: "text/plain"}
		require.NoError(t, s.Jobseeker.Documents.Save(ctx, d))
		got, err = s.Jobseeker.Documents.Find(ctx, d.UserID, d.ID)
		require.NoError(t, err)
		require.Equal(t, d, got)
	})

	t.Run("another's is as absent as one that never was", func(t *testing.T) {
		s, now := start(t)
		d := add(t, s, id(), jobseeker.CV, false, now)
		foreign := d
		foreign.UserID, foreign.Title = id(), "mine"
		require.ErrorIs(t, s.Jobseeker.Documents.Save(ctx, foreign), jobseeker.ErrDocumentNotFound)
		for _, whose := range []struct{ user, id string }{{id(), d.ID}, {d.UserID, id()}} {
			_, err := s.Jobseeker.Documents.Find(ctx, whose.user, whose.id)
			require.ErrorIs(t, err, jobseeker.ErrDocumentNotFound)
			require.ErrorIs(t, s.Jobseeker.Documents.Delete(ctx, whose.user, whose.id), jobseeker.ErrDocumentNotFound)
		}
		require.NoError(t, s.Jobseeker.Documents.Delete(ctx, d.UserID, d.ID))
		require.ErrorIs(t, s.Jobseeker.Documents.Delete(ctx, d.UserID, d.ID), jobseeker.ErrDocumentNotFound)
	})

	t.Run("pages the newest first and counts what a user keeps", func(t *testing.T) {
		s, now := start(t)
		user := id()
		var want []jobseeker.Document
		for _, kind := range []jobseeker.DocumentType{jobseeker.CV, jobseeker.Certification, jobseeker.CV} {
			want = append([]jobseeker.Document{add(t, s, user, kind, false, now)}, want...)
		}
		add(t, s, id(), jobseeker.CV, false, now)
		first, err := s.Jobseeker.Documents.Page(ctx, user, page.Request{Number: 1, Size: 2})
		require.NoError(t, err)
		require.Equal(t, want[:2], first.Items)
		require.Equal(t, 3, first.Total)
		rest, err := s.Jobseeker.Documents.Page(ctx, user, page.Request{Number: 1, Size: 2, Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Equal(t, want[2:], rest.Items)
		usage, err := s.Jobseeker.Documents.Usage(ctx, user)
		require.NoError(t, err)
		require.Equal(t, jobseeker.Usage{Documents: 3, Bytes: 9 << 30, CVs: 2}, usage)
		none, err := s.Jobseeker.Documents.Usage(ctx, id())
		require.NoError(t, err)
		require.Zero(t, none)
	})

	t.Run("has one default of a type", func(t *testing.T) {
		s, now := start(t)
		user := id()
		cv, letter := add(t, s, user, jobseeker.CV, true, now), add(t, s, user, jobseeker.CoverLetter, true, now)
		other := add(t, s, id(), jobseeker.CV, true, now)
		second := cv
		second.ID = id()
		require.Error(t, s.Jobseeker.Documents.Add(ctx, second))
		require.NoError(t, s.Jobseeker.Documents.ClearDefault(ctx, user, jobseeker.CV))
		require.NoError(t, s.Jobseeker.Documents.Add(ctx, second))
		for _, c := range []struct {
			jobseeker.Document
			chosen bool
		}{{cv, false}, {second, true}, {letter, true}, {other, true}} {
			got, err := s.Jobseeker.Documents.Find(ctx, c.UserID, c.ID)
			require.NoError(t, err)
			require.Equal(t, c.chosen, got.IsDefault)
		}
	})
}

func documentFiles(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (jobseeker.DocumentFiles, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk).Jobseeker.DocumentFiles, clk.Now().Add(1234567 * time.Microsecond)
	}
	due := func(t *testing.T, f jobseeker.DocumentFiles, at time.Time) []jobseeker.DocumentFile {
		t.Helper()
		files, err := f.Due(ctx, at, 10)
		require.NoError(t, err)
		return files
	}

	t.Run("a file that nobody takes in time belongs to nobody", func(t *testing.T) {
		f, now := start(t)
		user, file := id(), id()
		named := jobseeker.DocumentFile{ID: file, Extension: ".pdf"}
		require.NoError(t, f.Reserve(ctx, user, named, now.Add(time.Hour)))
		require.Empty(t, due(t, f, now.Add(time.Hour-time.Microsecond)))
		require.Equal(t, []jobseeker.DocumentFile{named}, due(t, f, now.Add(time.Hour)))
		require.Error(t, f.Use(ctx, user, file, now.Add(time.Hour)), "too late")
		require.Error(t, f.Use(ctx, id(), file, now), "another's")
		require.Error(t, f.Use(ctx, user, id(), now), "never reserved")
		require.NoError(t, f.Use(ctx, user, file, now))
		require.Error(t, f.Use(ctx, user, file, now), "in use already")
		require.Empty(t, due(t, f, now.Add(1_000*time.Hour)))
	})

	t.Run("a file that is let go of is handed out until it is removed", func(t *testing.T) {
		f, now := start(t)
		user := id()
		var files []string
		named := func(ids ...string) (out []jobseeker.DocumentFile) {
			for _, id := range ids {
				out = append(out, jobseeker.DocumentFile{ID: id})
			}
			return out
		}
		for range 4 {
			files = append(files, id())
			require.NoError(t, f.Reserve(ctx, user, jobseeker.DocumentFile{ID: files[len(files)-1]}, now.Add(time.Hour)))
			require.NoError(t, f.Use(ctx, user, files[len(files)-1], now))
		}
		require.NoError(t, f.Free(ctx, user, files[1], now))
		require.NoError(t, f.Free(ctx, user, files[0], now.Add(-time.Second)))
		require.NoError(t, f.Free(ctx, id(), files[2], now), "another's stays")
		require.Equal(t, named(files[:2]...), due(t, f, now))
		require.NoError(t, f.PutOff(ctx, files[:1], now.Add(time.Minute)))
		require.NoError(t, f.PutOff(ctx, nil, now))
		require.Equal(t, named(files[1:2]...), due(t, f, now))
		require.NoError(t, f.Remove(ctx, files[1:3]))
		require.NoError(t, f.Remove(ctx, nil))
		require.Equal(t, named(files[:1]...), due(t, f, now.Add(time.Minute)))
		require.NoError(t, f.FreeAll(ctx, user, now))
		require.Len(t, due(t, f, now), 3, "what is in use is not removed")
		one, err := f.Due(ctx, now, 1)
		require.NoError(t, err)
		require.Len(t, one, 1)
	})
}

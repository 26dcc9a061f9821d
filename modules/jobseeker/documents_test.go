package jobseeker_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit/stores"
)

const pdf = "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n???~~~"

func uploadInput(content string) jobseeker.UploadInput {
	return jobseeker.UploadInput{Type: "cv", Title: "My CV", Content: content, FileName: "cv.pdf"}
}

func TestDocument_Content_MustBeAFile(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		in64 := base64.StdEncoding.EncodeToString([]byte(pdf))
		for name, c := range map[string]struct {
			sent, media, file string
		}{
			"text":                       {"I am a nurse.\r\n", jobseeker.PlainText, "I am a nurse.\r\n"},
			"a word":                     {"nurse", jobseeker.PlainText, "nurse"},
			"base64 of text":             {"SSBhbSBhIG51cnNl", jobseeker.PlainText, "SSBhbSBhIG51cnNl"},
			"base64 of a PDF":            {in64, "application/pdf", pdf},
			"in lines":                   {in64[:20] + "\r\n" + in64[20:] + "\n", "application/pdf", pdf},
			"without padding":            {strings.TrimRight(in64, "="), "application/pdf", pdf},
			"in the alphabet of links":   {base64.URLEncoding.EncodeToString([]byte(pdf)), "application/pdf", pdf},
			"a data URI":                 {"data:application/pdf;base64," + in64, "application/pdf", pdf},
			"a data URI that lies":       {"DATA:text/html;base64," + in64, "application/pdf", pdf},
			"a data URI in percents":     {"data:,%25PDF-1.7%0A", "application/pdf", "%PDF-1.7\n"},
			"a sentence":                 {"data: analysis, nursing", jobseeker.PlainText, "data: analysis, nursing"},
			"a PDF that is not base64":   {pdf, jobseeker.PlainText, pdf},
			"a text that looks like RTF": {`{\rtf1 hello}`, jobseeker.PlainText, `{\rtf1 hello}`},
		} {
			doc, err := d.Upload(ctx, who, uploadInput(c.sent))
			require.NoError(t, err, name)
			got, content, err := d.MyDocument(ctx, who, doc.ID)
			require.NoError(t, err, name)
			require.Equal(t, doc, got, name)
			require.Equal(t, c.sent, content, name)
			require.Equal(t, c.media, doc.MediaType, name)
			file, err := d.DownloadDocument(ctx, who, doc.ID)
			require.NoError(t, err, name)
			require.Equal(t, c.file, string(file.Body), name)
			require.Equal(t, c.media, file.MediaType, name)
		}
		for name, sent := range map[string]string{
			"nothing":                "",
			"spaces":                 " \n",
			"a data URI of text":     "data:text/plain,hello",
			"a data URI of HTML":     "data:application/pdf;base64," + base64.StdEncoding.EncodeToString([]byte("<html><script>alert(1)</script>")),
			"a data URI of nothing":  "data:application/pdf;base64,",
			"a data URI of nonsense": "data:application/pdf;base64,@@@",
			"bad percents":           "data:,%zz",
			"a broken archive":       base64.StdEncoding.EncodeToString([]byte("PK\x03\x04" + strings.Repeat("\x00", 26) + "word/")),
		} {
			_, err := d.Upload(ctx, who, uploadInput(sent))
			require.Equal(t, fault.Invalid, fault.KindOf(err), name)
			require.Equal(t, "content", fault.Of(err).Fields[0].Name, name)
		}
		require.Equal(t, 13, d.files.count(), "a rejected upload leaves no file")
	})
}

func TestDocument_NoName_GetsOne(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		for _, c := range []struct {
			in              jobseeker.UploadInput
			title, download string
		}{
			{jobseeker.UploadInput{Type: "cv", Title: " Mine ", FileName: "x.txt"}, "Mine", "x.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: `C:\fakepath\Lebenslauf 2026.pdf`}, "Lebenslauf 2026", "Lebenslauf 2026.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: "../../etc/passwd"}, "passwd", "passwd.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: "CV v1.2"}, "CV v1", "CV v1.2.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: "cv.html"}, "cv", "cv.html.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: "photo.JPEG"}, "photo", "photo.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: ".pdf"}, "CV", "CV.txt"},
			{jobseeker.UploadInput{Type: "cv", FileName: ".."}, ".", "CV"},
			{jobseeker.UploadInput{Type: "cover-letter"}, "Cover letter", "Cover letter.txt"},
			{jobseeker.UploadInput{Type: "certification", Title: "BLS/ALS: 2026"}, "BLS/ALS: 2026", "BLS-ALS- 2026.txt"},
			{jobseeker.UploadInput{Type: "other"}, "Document", "Document.txt"},
		} {
			c.in.Content = "text"
			doc, err := d.Upload(ctx, who, c.in)
			require.NoError(t, err)
			if c.in.FileName != ".." {
				require.Equal(t, c.title, doc.Title)
				file, err := d.DownloadDocument(ctx, who, doc.ID)
				require.NoError(t, err)
				require.Equal(t, c.download, file.Name)
			}
		}
		for field, in := range map[string]jobseeker.UploadInput{
			"type":     {Type: "photo", Content: "x"},
			"title":    {Type: "cv", Title: strings.Repeat("é", 201), Content: "x"},
			"fileName": {Type: "cv", FileName: "a\r\nb", Content: "x"},
		} {
			_, err := d.Upload(ctx, who, in)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}
		_, err := d.Upload(ctx, who, jobseeker.UploadInput{FileName: strings.Repeat("x", 256)})
		require.Len(t, fault.Of(err).Fields, 3)
	})
}

func TestDocument_Update(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		doc, err := d.Upload(ctx, who, uploadInput("first"))
		require.NoError(t, err)
		d.clock.Advance(time.Hour)
		changed, err := d.ChangeDocument(ctx, who, strings.ToUpper(doc.ID), jobseeker.ChangeDocumentInput{Content: new("second"), Title: new("Other")})
		require.NoError(t, err)
		require.Equal(t, doc.UploadedAt, changed.UploadedAt)
		require.Equal(t, d.clock.Now(), changed.UpdatedAt)
		got, content, err := d.MyDocument(ctx, who, doc.ID)
		require.NoError(t, err)
		require.Equal(t, changed, got)
		require.Equal(t, "second", content)
		d.work.All(t)
		require.Equal(t, 1, d.files.count(), "the first content is gone")

		changed, err = d.ChangeDocument(ctx, who, doc.ID, jobseeker.ChangeDocumentInput{Title: new(" ")})
		require.NoError(t, err)
		require.Equal(t, "cv", changed.Title, "as its file is called")
		for field, in := range map[string]jobseeker.ChangeDocumentInput{
			"title": {Title: new(strings.Repeat("x", 201))}, "fileName": {FileName: new("a\nb")}, "content": {Content: new("data:text/plain,x")},
		} {
			_, err := d.ChangeDocument(ctx, who, doc.ID, in)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}
	})
}

func TestDocument_Default_IsOnePerType(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		var ids []string
		for _, kind := range []string{"cv", "cv", "cover-letter"} {
			doc, err := d.Upload(ctx, who, jobseeker.UploadInput{Type: kind, Content: "x", IsDefault: true})
			require.NoError(t, err)
			ids = append(ids, doc.ID)
		}
		chosen := func() (out []bool) {
			for _, id := range ids {
				doc, _, err := d.MyDocument(ctx, who, id)
				require.NoError(t, err)
				out = append(out, doc.IsDefault)
			}
			return out
		}
		require.Equal(t, []bool{false, true, true}, chosen())
		var all20 sync.WaitGroup
		for i := range 20 {
			all20.Go(func() {
				if _, err := d.ChangeDocument(ctx, who, ids[i%2], jobseeker.ChangeDocumentInput{IsDefault: new(true)}); err != nil {
					t.Error(err)
				}
			})
		}
		all20.Wait()
		now := chosen()
		require.NotEqual(t, now[0], now[1])
		require.True(t, now[2])
		for _, id := range ids {
			_, err := d.ChangeDocument(ctx, who, id, jobseeker.ChangeDocumentInput{IsDefault: new(false)})
			require.NoError(t, err)
		}
		require.Equal(t, []bool{false, false, false}, chosen())
	})
}

func TestDocument_OtherUser_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		doc, err := d.Upload(ctx, who, uploadInput("x"))
		require.NoError(t, err)
		for _, c := range []struct {
			by   auth.Actor
			id   string
			want error
		}{
			{seeker(), doc.ID, jobseeker.ErrDocumentNotFound}, {who, stores.NewID(), jobseeker.ErrDocumentNotFound}, {who, "nonsense", jobseeker.ErrDocumentNotFound},
			{auth.Actor{UserID: who.UserID, OrganizationID: stores.NewID()}, doc.ID, fault.ErrForbidden},
		} {
			_, _, err := d.MyDocument(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
			_, err = d.DownloadDocument(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
			_, err = d.ChangeDocument(ctx, c.by, c.id, jobseeker.ChangeDocumentInput{Content: new("mine")})
			require.ErrorIs(t, err, c.want)
			_, err = d.DeleteDocument(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
		}
		none, err := d.MyDocuments(ctx, seeker(), firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)
		_, err = d.MyDocuments(ctx, auth.Actor{}, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		_, err = d.Upload(ctx, auth.Actor{}, uploadInput("x"))
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		require.Equal(t, 1, d.files.count())

		gone, err := d.DeleteDocument(ctx, who, doc.ID)
		require.NoError(t, err)
		require.Equal(t, doc, gone)
		_, _, err = d.MyDocument(ctx, who, doc.ID)
		require.ErrorIs(t, err, jobseeker.ErrDocumentNotFound)
		d.work.All(t)
		require.Zero(t, d.files.count())
		log, err := d.MyActivity(ctx, who, firstPage)
		require.NoError(t, err)
		require.Equal(t, []string{"Deleted My CV", "Uploaded My CV"}, []string{log.Items[0].Description, log.Items[1].Description})
	})
}

func TestDocument_ConcurrentAtLimit_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		var refused atomic.Int32
		var all sync.WaitGroup
		for range jobseeker.MaxDocuments + 10 {
			all.Go(func() {
				_, err := d.Upload(ctx, who, uploadInput("x"))
				if errors.Is(err, jobseeker.ErrTooManyDocuments) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 10, refused.Load())
		d.work.All(t)
		require.Equal(t, jobseeker.MaxDocuments, d.files.count(), "an upload beyond the limit leaves no file")
	})
}

func TestDocument_StorageLimit_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		doc, err := d.Upload(ctx, who, uploadInput("four"))
		require.NoError(t, err)
		big := jobseeker.Document{ID: stores.NewID(), UserID: who.UserID, Type: jobseeker.CV, Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: stores.NewID()}, Form: jobseeker.AsText, Size: jobseeker.MaxDocumentBytes - 5}}
		d.storeDocument(big)
		_, err = d.Upload(ctx, who, uploadInput("12"))
		require.ErrorIs(t, err, jobseeker.ErrDocumentsTooLarge)
		_, err = d.ChangeDocument(ctx, who, doc.ID, jobseeker.ChangeDocumentInput{Content: new("five5")})
		require.NoError(t, err, "it replaces the previous document")
		_, err = d.ChangeDocument(ctx, who, doc.ID, jobseeker.ChangeDocumentInput{Content: new("sixsix")})
		require.ErrorIs(t, err, jobseeker.ErrDocumentsTooLarge)
		_, content, err := d.MyDocument(ctx, who, doc.ID)
		require.NoError(t, err)
		require.Equal(t, "five5", content)
		mine, err := d.MyDocuments(ctx, who, firstPage)
		require.NoError(t, err)
		require.Equal(t, 2, mine.Total)
		require.EqualValues(t, jobseeker.MaxDocumentBytes, mine.Items[0].Size+mine.Items[1].Size)
	})
}

// storeDocument reserves the file of the document and stores it.
func (d *testEnv) storeDocument(doc jobseeker.Document) {
	d.t.Helper()
	require.NoError(d.t, d.store.Jobseeker.Tx.Do(d.t.Context(), func(ctx context.Context) error {
		if err := d.store.Jobseeker.DocumentFiles.Reserve(ctx, doc.UserID, doc.File, doc.UpdatedAt.Add(time.Hour)); err != nil {
			return err
		}
		return d.store.Jobseeker.Documents.Upsert(ctx, doc)
	}))
}

func TestDocument_UploadFails_LeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		d.files.putErr = errors.New("disk full")
		_, err := d.Upload(ctx, who, uploadInput("x"))
		require.ErrorIs(t, err, fault.ErrUnavailable, "a failed write is reported as unavailable")
		require.Positive(t, fault.Of(err).RetryAfter)
		mine, err := d.MyDocuments(ctx, who, firstPage)
		require.NoError(t, err)
		require.Zero(t, mine.Total)
		d.files.putErr = nil

		// A process that dies between the file and its row leaves a reservation.
		orphan := stores.NewID()
		require.NoError(t, d.store.Jobseeker.DocumentFiles.Reserve(ctx, who.UserID, jobseeker.DocumentFile{ID: orphan, Extension: ".pdf"}, d.clock.Now().Add(time.Hour)))
		d.files.keys["documents/"+orphan+".pdf"] = true
		d.runPeriodic("jobseeker.files-left")
		require.Equal(t, 1, d.files.count(), "the upload may still be running")
		d.clock.Advance(time.Hour)
		d.runPeriodic("jobseeker.files-left")
		require.Zero(t, d.files.count())
	})
}

func TestDocument_FileNotRemoved_IsRetried(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		doc, err := d.Upload(ctx, who, uploadInput("x"))
		require.NoError(t, err)
		_, err = d.DeleteDocument(ctx, who, doc.ID)
		require.NoError(t, err)
		d.files.deleteErr = errors.New("out of order")
		for _, p := range d.Periodic() {
			if p.Kind == "jobseeker.files-left" {
				require.ErrorIs(t, p.Do(ctx), d.files.deleteErr)
			}
		}
		d.files.deleteErr = nil
		d.runPeriodic("jobseeker.files-left")
		require.Equal(t, 1, d.files.count(), "not before the reservation expires")
		d.clock.Advance(10 * time.Minute)
		d.runPeriodic("jobseeker.files-left")
		require.Zero(t, d.files.count())
	})
}

func TestContent_FileWithoutExtension_Found(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		file := jobseeker.DocumentFile{ID: stores.NewID()} // as before names had an extension
		require.NoError(t, d.files.Put(ctx, "documents/"+file.ID, func(w io.Writer) error { _, err := io.WriteString(w, "I am a nurse."); return err }))
		doc := jobseeker.Document{ID: stores.NewID(), UserID: who.UserID, Type: jobseeker.CV, Title: "CV",
			Content: jobseeker.Content{File: file, Size: 13, Form: jobseeker.AsText, MediaType: jobseeker.PlainText}}
		d.storeDocument(doc)
		got, err := d.DownloadDocument(ctx, who, doc.ID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.Download{Name: "CV.txt", MediaType: jobseeker.PlainText, Body: []byte("I am a nurse.")}, got)
		_, err = d.DeleteDocument(ctx, who, doc.ID)
		require.NoError(t, err)
		d.work.All(t)
		require.Zero(t, d.files.count())
	})
}

func TestDocument_FileMissing_IsAnInternalError(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		doc, err := d.Upload(ctx, who, uploadInput("x"))
		require.NoError(t, err)
		require.NoError(t, d.files.Delete(ctx, "documents/"+doc.File.ID+".txt"))
		_, _, err = d.MyDocument(ctx, who, doc.ID)
		require.Equal(t, fault.Internal, fault.KindOf(err))
	})
}

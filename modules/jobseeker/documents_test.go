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

// pdf is a file that is recognized as a PDF. Its Base64 form contains the characters + and /,
// which differ in the alphabet for URLs.
const pdf = "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n???~~~"

// uploadInput returns a CV with the given content.
func uploadInput(content string) jobseeker.UploadInput {
	return jobseeker.UploadInput{Type: "cv", Title: "My CV", Content: content, FileName: "cv.pdf"}
}

// TestDocument_Content_MustBeAFile checks how the content of a document is interpreted: as
// text, as a file in Base64 or as a data URI. The media type is detected from the bytes, and the
// one in a data URI is ignored, so that no HTML can be uploaded as another type.
func TestDocument_Content_MustBeAFile(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()

		encodedPDF := base64.StdEncoding.EncodeToString([]byte(pdf))

		accepted := map[string]struct {
			sent  string // the content in the request
			media string // the detected media type
			file  string // the content of the download
		}{
			"text": {
				sent:  "I am a nurse.\r\n",
				media: jobseeker.PlainText,
				file:  "I am a nurse.\r\n",
			},
			"a word": {sent: "nurse", media: jobseeker.PlainText, file: "nurse"},
			"base64 of text, which is kept as it is": {
				sent:  "SSBhbSBhIG51cnNl",
				media: jobseeker.PlainText,
				file:  "SSBhbSBhIG51cnNl",
			},
			"base64 of a PDF": {sent: encodedPDF, media: "application/pdf", file: pdf},
			"base64 in lines": {
				sent:  encodedPDF[:20] + "\r\n" + encodedPDF[20:] + "\n",
				media: "application/pdf",
				file:  pdf,
			},
			"base64 without padding": {
				sent:  strings.TrimRight(encodedPDF, "="),
				media: "application/pdf",
				file:  pdf,
			},
			"base64 in the alphabet for URLs": {
				sent:  base64.URLEncoding.EncodeToString([]byte(pdf)),
				media: "application/pdf",
				file:  pdf,
			},
			"a data URI": {
				sent:  "data:application/pdf;base64," + encodedPDF,
				media: "application/pdf",
				file:  pdf,
			},
			"a data URI with another media type": {
				sent:  "DATA:text/html;base64," + encodedPDF,
				media: "application/pdf",
				file:  pdf,
			},
			"a data URI that is percent-encoded": {sent: "data:,%25PDF-1.7%0A", media: "application/pdf", file: "%PDF-1.7\n"},
			"a sentence": {
				sent:  "data: analysis, nursing",
				media: jobseeker.PlainText,
				file:  "data: analysis, nursing",
			},
			"a PDF that is not base64":   {sent: pdf, media: jobseeker.PlainText, file: pdf},
			"a text that looks like RTF": {sent: `{\rtf1 hello}`, media: jobseeker.PlainText, file: `{\rtf1 hello}`},
		}
		for name, want := range accepted {
			uploaded, err := env.Upload(ctx, user, uploadInput(want.sent))
			require.NoError(t, err, name)
			require.Equal(t, want.media, uploaded.MediaType, name)

			stored, content, err := env.MyDocument(ctx, user, uploaded.ID)
			require.NoError(t, err, name)
			require.Equal(t, uploaded, stored, name)
			require.Equal(t, want.sent, content, "%s: the API returns the content as it was sent", name)

			file, err := env.DownloadDocument(ctx, user, uploaded.ID)
			require.NoError(t, err, name)
			require.Equal(t, want.file, string(file.Body), name)
			require.Equal(t, want.media, file.MediaType, name)
		}

		encodedHTML := base64.StdEncoding.EncodeToString([]byte("<html><script>alert(1)</script>"))

		// The file begins like a ZIP archive with a folder word, which a Word document is.
		brokenWordFile := "PK\x03\x04" + strings.Repeat("\x00", 26) + "word/"

		for name, sent := range map[string]string{
			"nothing":                  "",
			"spaces":                   " \n",
			"a data URI of text":       "data:text/plain,hello",
			"a data URI of HTML":       "data:application/pdf;base64," + encodedHTML,
			"a data URI of nothing":    "data:application/pdf;base64,",
			"a data URI of nonsense":   "data:application/pdf;base64,@@@",
			"invalid percent-encoding": "data:,%zz",
			"a broken Word document":   base64.StdEncoding.EncodeToString([]byte(brokenWordFile)),
		} {
			_, err := env.Upload(ctx, user, uploadInput(sent))
			require.Equal(t, fault.Invalid, fault.KindOf(err), name)
			require.Equal(t, "content", fault.Of(err).Fields[0].Name, name)
		}

		require.Equal(t, len(accepted), env.fileStore.count(), "a rejected upload leaves no file")
	})
}

// TestDocument_NoName_GetsOne checks the title of a document and the name of its download. A
// title that is not in the request is derived from the name of the file, or from the type. The
// name of the download has the extension of the detected type, here text, and no characters that
// file systems or headers interpret.
func TestDocument_NoName_GetsOne(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		for _, test := range []struct {
			input    jobseeker.UploadInput
			title    string // the expected title
			download string // the expected name of the download
		}{
			{
				input:    jobseeker.UploadInput{Type: "cv", Title: " Mine ", FileName: "x.txt"},
				title:    "Mine",
				download: "x.txt",
			},
			{
				input:    jobseeker.UploadInput{Type: "cv", FileName: `C:\fakepath\Lebenslauf 2026.pdf`},
				title:    "Lebenslauf 2026",
				download: "Lebenslauf 2026.txt",
			},
			{
				input:    jobseeker.UploadInput{Type: "cv", FileName: "../../etc/passwd"},
				title:    "passwd",
				download: "passwd.txt",
			},
			{input: jobseeker.UploadInput{Type: "cv", FileName: "CV v1.2"}, title: "CV v1", download: "CV v1.2.txt"},
			{input: jobseeker.UploadInput{Type: "cv", FileName: "cv.html"}, title: "cv", download: "cv.html.txt"},
			{input: jobseeker.UploadInput{Type: "cv", FileName: "photo.JPEG"}, title: "photo", download: "photo.txt"},
			{input: jobseeker.UploadInput{Type: "cv", FileName: ".pdf"}, title: "CV", download: "CV.txt"},
			{input: jobseeker.UploadInput{Type: "cover-letter"}, title: "Cover letter", download: "Cover letter.txt"},
			{
				input:    jobseeker.UploadInput{Type: "certification", Title: "BLS/ALS: 2026"},
				title:    "BLS/ALS: 2026",
				download: "BLS-ALS- 2026.txt",
			},
			{input: jobseeker.UploadInput{Type: "other"}, title: "Document", download: "Document.txt"},
		} {
			test.input.Content = "text"
			document, err := env.Upload(ctx, user, test.input)
			require.NoError(t, err, test.title)
			require.Equal(t, test.title, document.Title)

			file, err := env.DownloadDocument(ctx, user, document.ID)
			require.NoError(t, err, test.title)
			require.Equal(t, test.download, file.Name)
		}

		_, err := env.Upload(ctx, user, jobseeker.UploadInput{Type: "cv", FileName: "..", Content: "text"})
		require.NoError(t, err, "the name of a parent folder is accepted, too")

		// The refusal of invalid input names the field, or all of them.
		const maxTitle, maxFileName = 200, 255

		for field, invalid := range map[string]jobseeker.UploadInput{
			"type":     {Type: "photo", Content: "x"},
			"title":    {Type: "cv", Title: strings.Repeat("é", maxTitle+1), Content: "x"},
			"fileName": {Type: "cv", FileName: "a\r\nb", Content: "x"},
		} {
			_, err := env.Upload(ctx, user, invalid)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}

		_, err = env.Upload(ctx, user, jobseeker.UploadInput{FileName: strings.Repeat("x", maxFileName+1)})
		require.Len(t, fault.Of(err).Fields, 3, "type, content and fileName")
	})
}

// TestDocument_Update checks changes of a document. New content replaces the file and keeps the
// time of the upload. An empty title is replaced by the name of the file. Invalid changes are
// refused.
func TestDocument_Update(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		document, err := env.Upload(ctx, user, uploadInput("first"))
		require.NoError(t, err)

		// The content and the title are replaced an hour later.
		env.clock.Advance(time.Hour)

		changed, err := env.ChangeDocument(ctx, user, strings.ToUpper(document.ID),
			jobseeker.ChangeDocumentInput{Content: new("second"), Title: new("Other")})
		require.NoError(t, err)
		require.Equal(t, document.UploadedAt, changed.UploadedAt)
		require.Equal(t, env.clock.Now(), changed.UpdatedAt)

		stored, content, err := env.MyDocument(ctx, user, document.ID)
		require.NoError(t, err)
		require.Equal(t, changed, stored)
		require.Equal(t, "second", content)

		// A task deletes the file of the first content.
		env.tasks.All(t)
		require.Equal(t, 1, env.fileStore.count(), "only the file of the second content remains")

		changed, err = env.ChangeDocument(ctx, user, document.ID, jobseeker.ChangeDocumentInput{Title: new(" ")})
		require.NoError(t, err)
		require.Equal(t, "cv", changed.Title, "an empty title becomes the name of the file")

		// The refusal of an invalid change names the field.
		for field, invalid := range map[string]jobseeker.ChangeDocumentInput{
			"title":    {Title: new(strings.Repeat("x", 201))},
			"fileName": {FileName: new("a\nb")},
			"content":  {Content: new("data:text/plain,x")},
		} {
			_, err := env.ChangeDocument(ctx, user, document.ID, invalid)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}
	})
}

// TestDocument_Default_IsOnePerType checks that a user has at most one default document of each
// type, also after concurrent changes, and may have none.
func TestDocument_Default_IsOnePerType(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()

		var ids []string
		for _, kind := range []string{"cv", "cv", "cover-letter"} {
			document, err := env.Upload(ctx, user, jobseeker.UploadInput{Type: kind, Content: "x", IsDefault: true})
			require.NoError(t, err)

			ids = append(ids, document.ID)
		}

		// areDefault reports for each document, in the order of ids, whether it is a default.
		areDefault := func() (flags []bool) {
			for _, id := range ids {
				document, _, err := env.MyDocument(ctx, user, id)
				require.NoError(t, err)

				flags = append(flags, document.IsDefault)
			}

			return flags
		}

		// The second CV has replaced the first as the default.
		require.Equal(t, []bool{false, true, true}, areDefault())

		// Concurrent requests make each of the two CVs the default.
		var requests sync.WaitGroup
		for i := range 20 {
			cvID := ids[i%2] // the two CVs alternate

			requests.Go(func() {
				_, err := env.ChangeDocument(ctx, user, cvID, jobseeker.ChangeDocumentInput{IsDefault: new(true)})
				if err != nil {
					t.Error(err)
				}
			})
		}

		requests.Wait()

		after := areDefault()
		require.NotEqual(t, after[0], after[1], "exactly one of the two CVs")
		require.True(t, after[2], "the cover letter is not affected")

		// All documents can be made non-default.
		for _, id := range ids {
			_, err := env.ChangeDocument(ctx, user, id, jobseeker.ChangeDocumentInput{IsDefault: new(false)})
			require.NoError(t, err)
		}

		require.Equal(t, []bool{false, false, false}, areDefault())
	})
}

// TestDocument_OtherUser_NotFound checks that a document can be read, changed and deleted only by
// its user. Employers have no documents: their requests are forbidden.
func TestDocument_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		document, err := env.Upload(ctx, user, uploadInput("x"))
		require.NoError(t, err)

		employer := auth.Actor{UserID: user.UserID, OrganizationID: stores.NewID()}

		for name, test := range map[string]struct {
			by      auth.Actor
			id      string
			wantErr error
		}{
			"another user": {by: newSeeker(), id: document.ID, wantErr: jobseeker.ErrDocumentNotFound},
			"unknown id":   {by: user, id: stores.NewID(), wantErr: jobseeker.ErrDocumentNotFound},
			"invalid id":   {by: user, id: "nonsense", wantErr: jobseeker.ErrDocumentNotFound},
			"employer":     {by: employer, id: document.ID, wantErr: fault.ErrForbidden},
		} {
			_, _, err := env.MyDocument(ctx, test.by, test.id)
			require.ErrorIs(t, err, test.wantErr, name)

			_, err = env.DownloadDocument(ctx, test.by, test.id)
			require.ErrorIs(t, err, test.wantErr, name)

			_, err = env.ChangeDocument(ctx, test.by, test.id, jobseeker.ChangeDocumentInput{Content: new("mine")})
			require.ErrorIs(t, err, test.wantErr, name)

			_, err = env.DeleteDocument(ctx, test.by, test.id)
			require.ErrorIs(t, err, test.wantErr, name)
		}

		// Another user has no documents, and a guest is refused. Nothing was stored or deleted.
		none, err := env.MyDocuments(ctx, newSeeker(), firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)

		_, err = env.MyDocuments(ctx, guest, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.Upload(ctx, guest, uploadInput("x"))
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		require.Equal(t, 1, env.fileStore.count(), "only the file of the user's document")

		// The user deletes the document. A task deletes its file, and the activity log has both actions.
		deleted, err := env.DeleteDocument(ctx, user, document.ID)
		require.NoError(t, err)
		require.Equal(t, document, deleted)

		_, _, err = env.MyDocument(ctx, user, document.ID)
		require.ErrorIs(t, err, jobseeker.ErrDocumentNotFound)
		env.tasks.All(t)
		require.Zero(t, env.fileStore.count())

		activities, err := env.MyActivity(ctx, user, firstPage)
		require.NoError(t, err)

		deletion, upload := activities.Items[0], activities.Items[1] // the newest first
		require.Equal(t, "Deleted My CV", deletion.Description)
		require.Equal(t, "Uploaded My CV", upload.Description)
	})
}

// TestDocument_ConcurrentAtLimit_Refused checks that concurrent uploads do not exceed the
// maximum number of documents.
func TestDocument_ConcurrentAtLimit_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		var refused atomic.Int32

		var uploads sync.WaitGroup
		const overLimit = 10

		for range jobseeker.MaxDocuments + overLimit {
			uploads.Go(func() {
				_, err := env.Upload(ctx, user, uploadInput("x"))
				if errors.Is(err, jobseeker.ErrTooManyDocuments) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}

		uploads.Wait()
		require.EqualValues(t, overLimit, refused.Load())
		env.tasks.All(t)
		require.Equal(t, jobseeker.MaxDocuments, env.fileStore.count(), "an upload beyond the limit leaves no file")
	})
}

// TestDocument_StorageLimit_Refused checks the maximum size of all documents of a user together
// (MaxDocumentBytes). The user has a document of four bytes, and one that is so large that one
// more byte can be stored.
func TestDocument_StorageLimit_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		document, err := env.Upload(ctx, user, uploadInput("four"))
		require.NoError(t, err)

		big := jobseeker.Document{
			ID:     stores.NewID(),
			UserID: user.UserID,
			Type:   jobseeker.CV,
			Content: jobseeker.Content{
				File: jobseeker.DocumentFile{ID: stores.NewID()},
				Form: jobseeker.AsText,
				Size: jobseeker.MaxDocumentBytes - int64(len("four")) - 1,
			},
		}
		env.storeDocument(big)

		_, err = env.Upload(ctx, user, uploadInput("12"))
		require.ErrorIs(t, err, jobseeker.ErrDocumentsTooLarge, "two bytes are one too many")

		_, err = env.ChangeDocument(ctx, user, document.ID, jobseeker.ChangeDocumentInput{Content: new("five5")})
		require.NoError(t, err, "the previous content does not count for the limit")

		_, err = env.ChangeDocument(ctx, user, document.ID, jobseeker.ChangeDocumentInput{Content: new("sixsix")})
		require.ErrorIs(t, err, jobseeker.ErrDocumentsTooLarge)

		_, content, err := env.MyDocument(ctx, user, document.ID)
		require.NoError(t, err)
		require.Equal(t, "five5", content)

		mine, err := env.MyDocuments(ctx, user, firstPage)
		require.NoError(t, err)
		require.Equal(t, 2, mine.Total)
		require.EqualValues(t, jobseeker.MaxDocumentBytes, mine.Items[0].Size+mine.Items[1].Size, "the size of both documents")
	})
}

// storeDocument reserves the file of the document and stores it.
func (env *testEnv) storeDocument(document jobseeker.Document) {
	env.t.Helper()
	require.NoError(env.t, env.store.Jobseeker.Tx.Do(env.t.Context(), func(ctx context.Context) error {
		until := document.UpdatedAt.Add(time.Hour)
		if err := env.store.Jobseeker.DocumentFiles.Reserve(ctx, document.UserID, document.File, until); err != nil {
			return err
		}

		return env.store.Jobseeker.Documents.Upsert(ctx, document)
	}))
}

// filesLeft is the periodic task that deletes files that belong to no document.
const filesLeft = "jobseeker.files-left"

// TestDocument_UploadFails_LeavesNothing checks uploads that fail. If the file cannot be written,
// no document is stored. If the process ends after writing the file and before storing the
// document, a periodic task deletes the file. It knows of the file from the reservation that each
// upload makes first, and deletes it when the reservation has expired.
func TestDocument_UploadFails_LeavesNothing(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		env.fileStore.putErr = errors.New("disk full")
		_, err := env.Upload(ctx, user, uploadInput("x"))
		require.ErrorIs(t, err, fault.ErrUnavailable, "a failed write is reported as unavailable")
		require.Positive(t, fault.Of(err).RetryAfter)

		mine, err := env.MyDocuments(ctx, user, firstPage)
		require.NoError(t, err)
		require.Zero(t, mine.Total)

		env.fileStore.putErr = nil

		// A process has reserved and written a file, and ended before it stored the document.
		orphan := jobseeker.DocumentFile{ID: stores.NewID(), Extension: ".pdf"}
		reservedUntil := env.clock.Now().Add(time.Hour)
		require.NoError(t, env.store.Jobseeker.DocumentFiles.Reserve(ctx, user.UserID, orphan, reservedUntil))

		env.fileStore.keys["documents/"+orphan.ID+orphan.Extension] = true
		env.runPeriodic(filesLeft)
		require.Equal(t, 1, env.fileStore.count(), "the upload may still be running")

		// After the reservation has expired, the periodic task deletes the file.
		env.clock.Advance(time.Hour)
		env.runPeriodic(filesLeft)
		require.Zero(t, env.fileStore.count())
	})
}

// TestDocument_FileNotRemoved_IsRetried checks that the deletion of a file that has failed is
// tried again after ten minutes, and not earlier.
func TestDocument_FileNotRemoved_IsRetried(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		document, err := env.Upload(ctx, user, uploadInput("x"))
		require.NoError(t, err)

		_, err = env.DeleteDocument(ctx, user, document.ID)
		require.NoError(t, err)

		env.fileStore.deleteErr = errors.New("out of order")
		for _, periodic := range env.Periodic() {
			if periodic.Kind == filesLeft {
				require.ErrorIs(t, periodic.Do(ctx), env.fileStore.deleteErr)
			}
		}

		env.fileStore.deleteErr = nil
		env.runPeriodic(filesLeft)
		require.Equal(t, 1, env.fileStore.count(), "a failed deletion is not retried at once")
		env.clock.Advance(10 * time.Minute)
		env.runPeriodic(filesLeft)
		require.Zero(t, env.fileStore.count())
	})
}

// TestContent_FileWithoutExtension_Found checks that files of earlier versions, whose names
// have no extension, can be read and deleted.
func TestContent_FileWithoutExtension_Found(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		const text = "I am a nurse."
		file := jobseeker.DocumentFile{ID: stores.NewID()} // stored by an earlier version

		err := env.fileStore.Put(ctx, "documents/"+file.ID, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		require.NoError(t, err)

		document := jobseeker.Document{
			ID:     stores.NewID(),
			UserID: user.UserID,
			Type:   jobseeker.CV,
			Title:  "CV",
			Content: jobseeker.Content{
				File:      file,
				Size:      int64(len(text)),
				Form:      jobseeker.AsText,
				MediaType: jobseeker.PlainText,
			},
		}
		env.storeDocument(document)

		download, err := env.DownloadDocument(ctx, user, document.ID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.Download{Name: "CV.txt", MediaType: jobseeker.PlainText, Body: []byte(text)}, download)

		_, err = env.DeleteDocument(ctx, user, document.ID)
		require.NoError(t, err)
		env.tasks.All(t)
		require.Zero(t, env.fileStore.count())
	})
}

// TestDocument_FileMissing_IsAnInternalError checks that a file that was lost is reported as an
// error of the server, and not as a document that does not exist.
func TestDocument_FileMissing_IsAnInternalError(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		document, err := env.Upload(ctx, user, uploadInput("x"))
		require.NoError(t, err)
		require.NoError(t, env.fileStore.Delete(ctx, "documents/"+document.File.ID+".txt"))

		_, _, err = env.MyDocument(ctx, user, document.ID)
		require.Equal(t, fault.Internal, fault.KindOf(err))
	})
}

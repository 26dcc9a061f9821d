package site

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// notesPageSize is the number of notes on a page.
const notesPageSize = 50

// The names of the forms of notes and ratings.
const (
	noteForm   = "note"
	ratingForm = "rating"
)

// discussion has the notes and ratings of an application. Only the members of the employer's organization see them. Each
// member can rate an application once.
type discussion struct {
	Notes []noteRow
	// OlderNotes is the address of the next page of notes, empty for none.
	OlderNotes string
	// IsLaterPage is set if the page does not begin with the newest note.
	IsLaterPage bool
	Ratings     []hiring.RatingView
	Average     string // empty without ratings
	// HasRated is set if the viewer has rated the application.
	HasRated bool
	Note     pages.Form // the form for a new note
	Rate     pages.Form // the form for the viewer's rating
}

// noteRow is a note. IsOwn is set if the viewer has written it.
type noteRow struct {
	hiring.NoteView
	IsOwn bool
}

// RatingChoices returns the ratings in words.
func (discussion) RatingChoices() []pages.Choice {
	return []pages.Choice{
		{Value: "", Text: "Choose"},
		{Value: "5", Text: "5, excellent"},
		{Value: "4", Text: "4, good"},
		{Value: "3", Text: "3, fair"},
		{Value: "2", Text: "2, weak"},
		{Value: "1", Text: "1, poor"},
	}
}

// discussionOf returns the ratings of an application and its notes after the cursor. sent is the form of a failed
// request. It takes the place of the empty form of the same name.
func (s *Site) discussionOf(ctx context.Context, actor auth.Actor, id, cursor string, sent pages.Form) (d discussion, err error) {
	notes, err := s.services.Hiring.ListNotes(ctx, actor, id, page.After(cursor, notesPageSize))
	if err != nil {
		return d, err
	}

	d.Notes = list.Map(notes.Items, func(n hiring.NoteView) noteRow {
		return noteRow{NoteView: n, IsOwn: n.AuthorID == actor.UserID}
	})

	d.IsLaterPage = cursor != ""
	if notes.NextCursor != "" {
		d.OlderNotes = withQuery("/employer/applications/"+id, "notes", notes.NextCursor) + "#team-notes"
	}

	if d.Ratings, err = s.services.Hiring.ListRatings(ctx, actor, id); err != nil {
		return d, err
	}

	summaries, err := s.services.Hiring.SummarizeRatings(ctx, actor, []string{id})
	if err != nil {
		return d, err
	}

	d.Average = averageText(summaries[id])

	// The form for a note is empty. The form for a rating shows the viewer's rating.
	d.Note.Values = url.Values{}

	d.Rate.Values = url.Values{}
	for _, r := range d.Ratings {
		if r.AuthorID == actor.UserID {
			d.HasRated = true
			d.Rate.Values.Set("rating", strconv.Itoa(r.Stars))
		}
	}

	if sent.Problem == nil { // no form was sent, or its input is stored
		return d, nil
	}

	switch sent.Problem.FormName {
	case noteForm:
		d.Note = sent
	case ratingForm:
		d.Rate = sent
	}

	return d, nil
}

// averageText returns the average of ratings with their number, or an empty text if there
// are none.
func averageText(summary hiring.RatingSummary) string {
	average := strconv.FormatFloat(summary.Average(), 'f', -1, 64)

	switch summary.Count {
	case 0:
		return ""
	case 1:
		return average + " of 5 (1 rating)"
	}

	return average + " of 5 (" + strconv.Itoa(summary.Count) + " ratings)"
}

// addAverages sets the average rating of the applications in all groups of rows. It reads the ratings of all groups at once.
func (s *Site) addAverages(ctx context.Context, actor auth.Actor, groups ...[]applicationRow) error {
	var ids []string
	for _, rows := range groups {
		ids = append(ids, list.Map(rows, func(r applicationRow) string { return r.ID })...)
	}

	summaries, err := s.services.Hiring.SummarizeRatings(ctx, actor, ids)
	for _, rows := range groups {
		for i := range rows {
			rows[i].Average = averageText(summaries[rows[i].ID])
		}
	}

	return err
}

// discuss handles the forms of notes and ratings. It returns the name of the form, in which an error is shown, and the key
// of the notice about a success. The error for an unknown action is shown in the form for interviews, the first of the page.
func (s *Site) discuss(ctx context.Context, actor auth.Actor, id string, form pages.Form) (formName, notice string, err error) {
	switch form.Value("action") {
	case "write-note":
		// Browsers send two characters for a line break, but count it as one towards the maximum length of a note.
		text := strings.ReplaceAll(form.Value("note"), "\r\n", "\n")
		_, err = s.services.Hiring.WriteNote(ctx, actor, id, hiring.NoteInput{Note: text})
		return noteForm, "note-written", err
	case "delete-note":
		return noteForm, "note-deleted", s.services.Hiring.DeleteNote(ctx, actor, id, form.Value("id"))
	case "rate":
		stars, _ := strconv.Atoi(form.Value("rating")) // 0 for a text that is not a number, which Rate rejects
		return ratingForm, "rated", s.services.Hiring.Rate(ctx, actor, id, hiring.RatingInput{Rating: stars})
	case "remove-rating":
		return ratingForm, "rating-removed", s.services.Hiring.RemoveRating(ctx, actor, id)
	}

	return interviewForm, "", fault.New(fault.Invalid, "no_action_selected", "Select what to do with the application")
}

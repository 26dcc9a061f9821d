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

// discussion are the notes and ratings of an application, for the colleagues of an
// organization.
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

// discussionOf returns the notes after the cursor and the ratings of an application, and the
// input of the form that has a problem.
func (s *Site) discussionOf(ctx context.Context, actor auth.Actor, id, cursor string, sent pages.Form) (d discussion, err error) {
	notes, err := s.services.Hiring.ListNotes(ctx, actor, id, page.After(cursor, notesPageSize))
	if err != nil {
		return d, err
	}

	d.Notes = list.Map(notes.Items, func(n hiring.NoteView) noteRow { return noteRow{n, n.AuthorID == actor.UserID} })

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
	d.Note.Values = url.Values{}

	d.Rate.Values = url.Values{}
	for _, r := range d.Ratings {
		if r.AuthorID == actor.UserID {
			d.HasRated = true
			d.Rate.Values.Set("rating", strconv.Itoa(r.Stars))
		}
	}

	if sent.Problem == nil { // nothing was sent, or it is stored
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
func averageText(r hiring.RatingSummary) string {
	switch r.Count {
	case 0:
		return ""
	case 1:
		return strconv.FormatFloat(r.Average(), 'f', -1, 64) + " of 5 (1 rating)"
	}

	return strconv.FormatFloat(r.Average(), 'f', -1, 64) + " of 5 (" + strconv.Itoa(r.Count) + " ratings)"
}

// addAverages sets the averages of the ratings of the applications.
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

// discuss handles the forms of notes and ratings. It returns the name of the form and the key
// of the notice about the result. A request without a known action gets an error in the form at the
// top of the page, which is that of interviews.
func (s *Site) discuss(ctx context.Context, actor auth.Actor, id string, form pages.Form) (formName, notice string, err error) {
	switch form.Value("action") {
	case "write-note":
		text := strings.ReplaceAll(form.Value("note"), "\r\n", "\n") // browsers count a line break as one character
		_, err = s.services.Hiring.WriteNote(ctx, actor, id, hiring.NoteInput{Note: text})
		return noteForm, "note-written", err
	case "delete-note":
		return noteForm, "note-deleted", s.services.Hiring.DeleteNote(ctx, actor, id, form.Value("id"))
	case "rate":
		stars, _ := strconv.Atoi(form.Value("rating")) // 0 is not valid
		return ratingForm, "rated", s.services.Hiring.Rate(ctx, actor, id, hiring.RatingInput{Rating: stars})
	case "remove-rating":
		return ratingForm, "rating-removed", s.services.Hiring.RemoveRating(ctx, actor, id)
	}

	return interviewForm, "", fault.New(fault.Invalid, "no_action_selected", "Select what to do with the application")
}

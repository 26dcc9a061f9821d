package gomail

import (
	"strings"

	ics "github.com/arran4/golang-ical"

	"github.com/locumhq/locum/core/mail"
)

// calendar is an appointment as calendars exchange it (RFC 5546). All moments
// are in UTC, so that no daylight-saving rule can move them.
func (w writer) calendar(i mail.Invite) (method, text string) {
	cal := ics.NewCalendarFor("locum")
	cal.SetMethod(ics.MethodRequest)
	event := cal.AddEvent(plainID(i.UID) + "@" + w.host)
	event.SetStatus(ics.ObjectStatusConfirmed)
	if i.Cancelled {
		cal.SetMethod(ics.MethodCancel)
		event.SetStatus(ics.ObjectStatusCancelled)
	}
	event.SetSequence(i.Sequence)
	event.SetDtStampTime(i.Stamp.UTC())
	event.SetStartAt(i.Start.UTC())
	event.SetEndAt(i.End.UTC())
	event.SetSummary(oneLine(i.Summary))
	event.SetLocation(oneLine(i.Location))
	if i.Description != "" {
		event.SetDescription(strings.ReplaceAll(crlf(i.Description), "\r\n", "\n"))
	}
	organizer := i.Organizer
	if organizer.Email == "" {
		organizer.Email = w.from.Address
	}
	event.SetOrganizer("mailto:"+oneLine(organizer.Email), ics.WithCN(parameter(organizer.Name)))
	event.AddAttendee("mailto:"+oneLine(i.Attendee.Email), ics.WithCN(parameter(i.Attendee.Name)),
		ics.ParticipationRoleReqParticipant, ics.ParticipationStatusNeedsAction, ics.WithRSVP(!i.Cancelled))
	method = "REQUEST"
	if i.Cancelled {
		method = "CANCEL"
	}
	return method, cal.Serialize()
}

// parameter is text as every calendar program reads it in a parameter: RFC 5545
// §3.2 has no way to write a quotation mark there, and the library marks the
// others with backslashes, which it has not either.
func parameter(s string) string {
	return strings.Join(strings.Fields(inParameters.Replace(oneLine(s))), " ")
}

var inParameters = strings.NewReplacer(`"`, "’", "'", "’", ",", " ", ";", " ", ":", " ", `\`, " ")

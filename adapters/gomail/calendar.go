package gomail

import (
	"strings"

	ics "github.com/arran4/golang-ical"

	"github.com/locumhq/locum/core/mail"
)

// calendar returns the iCalendar object of an appointment (RFC 5546), and its method: a request to
// attend, or a cancellation. All times are in UTC, so that no daylight-saving rule can change them.
func (w writer) calendar(invite mail.Invite) (method, text string) {
	cal := ics.NewCalendarFor("locum")

	calMethod, status := ics.MethodRequest, ics.ObjectStatusConfirmed
	if invite.Cancelled {
		calMethod, status = ics.MethodCancel, ics.ObjectStatusCancelled
	}

	cal.SetMethod(calMethod)

	event := cal.AddEvent(plainID(invite.UID) + "@" + w.host)
	event.SetStatus(status)
	event.SetSequence(invite.Sequence)
	event.SetDtStampTime(invite.Stamp.UTC())
	event.SetStartAt(invite.Start.UTC())
	event.SetEndAt(invite.End.UTC())
	event.SetSummary(oneLine(invite.Summary))

	if location := oneLine(invite.Location); location != "" {
		event.SetLocation(location)
	}

	if invite.Description != "" {
		lines := strings.Split(toCRLF(invite.Description), "\r\n")
		for n, line := range lines {
			lines[n] = oneLine(line)
		}

		event.SetDescription(strings.Join(lines, "\n"))
	}

	organizer := invite.Organizer
	if organizer.Email == "" {
		organizer.Email = w.from.Address // the event needs an organizer (RFC 5546 §3.2.2)
	}

	event.SetOrganizer(mailtoURI(organizer.Email), commonName(organizer.Name)...)

	wantsReply := !invite.Cancelled
	attendee := append(commonName(invite.Attendee.Name),
		ics.ParticipationRoleReqParticipant, ics.ParticipationStatusNeedsAction, ics.WithRSVP(wantsReply))
	event.AddAttendee(mailtoURI(invite.Attendee.Email), attendee...)

	return string(calMethod), cal.Serialize(ics.WithNewLine("\r\n"))
}

// mailtoURI returns the URI of the address in the form of the message's recipient, so that calendar
// programs recognize it.
func mailtoURI(email string) string {
	if a, err := address(mail.Address{Email: email}); err == nil {
		return "mailto:" + a.Address
	}

	return "mailto:" + oneLine(email)
}

// commonName returns the parameter CN with the name of a person, or none for an empty name.
func commonName(name string) []ics.PropertyParameter {
	name = parameterText(name)
	if name == "" {
		return nil
	}

	return []ics.PropertyParameter{ics.WithCN(name)}
}

// parameterText returns text that is valid in a parameter for every calendar program: RFC
// 5545 §3.2 has no escape for a quotation mark, and the library escapes the others with
// backslashes, which it does not define either.
func parameterText(s string) string {
	return strings.Join(strings.Fields(parameterReplacer.Replace(oneLine(s))), " ")
}

// parameterReplacer replaces the characters that need quotation marks or escapes.
var parameterReplacer = strings.NewReplacer(`"`, "’", "'", "’", ",", " ", ";", " ", ":", " ", `\`, " ")

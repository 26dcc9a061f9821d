package gomail

import (
	"strings"

	ics "github.com/arran4/golang-ical"

	"github.com/locumhq/locum/core/mail"
)

// calendar returns the iCalendar object of an appointment (RFC 5546). All times are in
// UTC, so that no daylight-saving rule can change them.
func (w writer) calendar(i mail.Invite) (method, text string) {
	cal := ics.NewCalendarFor("locum")

	kind, status := ics.MethodRequest, ics.ObjectStatusConfirmed
	if i.Cancelled {
		kind, status = ics.MethodCancel, ics.ObjectStatusCancelled
	}

	cal.SetMethod(kind)

	event := cal.AddEvent(plainID(i.UID) + "@" + w.host)
	event.SetStatus(status)
	event.SetSequence(i.Sequence)
	event.SetDtStampTime(i.Stamp.UTC())
	event.SetStartAt(i.Start.UTC())
	event.SetEndAt(i.End.UTC())
	event.SetSummary(oneLine(i.Summary))

	if location := oneLine(i.Location); location != "" {
		event.SetLocation(location)
	}

	if i.Description != "" {
		lines := strings.Split(toCRLF(i.Description), "\r\n")
		for n, line := range lines {
			lines[n] = oneLine(line)
		}

		event.SetDescription(strings.Join(lines, "\n"))
	}

	organizer := i.Organizer
	if organizer.Email == "" {
		organizer.Email = w.from.Address // the event needs an organizer (RFC 5546 §3.2.2)
	}

	event.SetOrganizer("mailto:"+mailboxURI(organizer.Email), commonName(organizer.Name)...)
	event.AddAttendee("mailto:"+mailboxURI(i.Attendee.Email), append(commonName(i.Attendee.Name),
		ics.ParticipationRoleReqParticipant, ics.ParticipationStatusNeedsAction, ics.WithRSVP(!i.Cancelled))...)

	return string(kind), cal.Serialize(ics.WithNewLine("\r\n"))
}

// mailboxURI returns the address in the form of the message's recipient, so that calendar
// programs recognize it.
func mailboxURI(email string) string {
	if a, err := address(mail.Address{Email: email}); err == nil {
		return a.Address
	}

	return oneLine(email)
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

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
	if location := oneLine(i.Location); location != "" {
		event.SetLocation(location)
	}
	if i.Description != "" {
		lines := strings.Split(crlf(i.Description), "\r\n")
		for n, line := range lines {
			lines[n] = oneLine(line)
		}
		event.SetDescription(strings.Join(lines, "\n"))
	}
	organizer := i.Organizer
	if organizer.Email == "" {
		organizer.Email = w.from.Address
	}
	event.SetOrganizer("mailto:"+mailbox(organizer.Email), named(organizer.Name)...)
	event.AddAttendee("mailto:"+mailbox(i.Attendee.Email), append(named(i.Attendee.Name),
		ics.ParticipationRoleReqParticipant, ics.ParticipationStatusNeedsAction, ics.WithRSVP(!i.Cancelled))...)
	method = "REQUEST"
	if i.Cancelled {
		method = "CANCEL"
	}
	return method, cal.Serialize(ics.WithNewLine("\r\n"))
}

// mailbox is the address as the message is sent to it, so that programs see that
// it is the same.
func mailbox(email string) string {
	if a, err := address(mail.Address{Email: email}); err == nil {
		return a.Address
	}
	return oneLine(email)
}

func named(name string) []ics.PropertyParameter {
	if name = parameter(name); name == "" {
		return nil
	}
	return []ics.PropertyParameter{ics.WithCN(name)}
}

// parameter is text as every calendar program reads it in a parameter: RFC 5545
// §3.2 has no way to write a quotation mark there, and the library marks the
// others with backslashes, which it has not either.
func parameter(s string) string {
	return strings.Join(strings.Fields(inParameters.Replace(oneLine(s))), " ")
}

var inParameters = strings.NewReplacer(`"`, "’", "'", "’", ",", " ", ";", " ", ":", " ", `\`, " ")
